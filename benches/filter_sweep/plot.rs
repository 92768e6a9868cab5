//! Draws the ratios, with a panel for each number of returned columns.

use crate::common::clock::median;
use crate::common::panels::{LEFT, LEGEND_LINE, Page, Panel, legend_entry, line, path, x_of};
use crate::table::Arrangement;
use crate::{ARRANGEMENTS, Measurement, OUTPUTS, SHARES};

/// The ratios at a share of the rows, over all types and profiles.
struct Ratios {
    x: f64,
    min: f64,
    median: f64,
    max: f64,
}

pub(crate) fn plot(measurements: &[Measurement], rows: usize) -> String {
    let scope = format!(
        "over the types of the tested column and the profiles of the shard. {rows} rows in \
         memory, one thread."
    );
    let page = Page {
        title: "Time of a scan with a filter, divided by the time to scan and filter afterwards",
        notes: [
            "Below 1 the filter saves time. Lines are medians, and bands reach from the least to \
             the greatest ratio,",
            &scope,
        ],
        legend: legend(),
        axis: "matching rows",
        panels: OUTPUTS
            .iter()
            .map(|(outputs, _)| panel(measurements, *outputs))
            .collect(),
    };
    page.to_string()
}

/// Returns the color and the style of the lines of an arrangement.
fn color_and_style(arrangement: Arrangement) -> (&'static str, String) {
    let color = match arrangement {
        Arrangement::Clustered => "#2456a6",
        Arrangement::Runs => "#2e7d32",
        Arrangement::Random => "#c0392b",
        Arrangement::Constant => "#6b6b6b",
    };
    (color, format!("stroke=\"{color}\" stroke-width=\"2\""))
}

fn legend() -> String {
    let entry = |(i, arrangement): (usize, Arrangement)| {
        let (color, style) = color_and_style(arrangement);
        let (x, y) = (LEFT + 180.0 * i as f64, LEGEND_LINE - 6.0);
        let name = match arrangement {
            Arrangement::Clustered => "matches in one range",
            Arrangement::Runs => "in runs of 100 rows",
            Arrangement::Random => "anywhere",
            Arrangement::Constant => "all rows or none",
        };
        let named_line = legend_entry(x, &style, name);
        format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"24\" height=\"12\" fill=\"{color}\" \
             opacity=\"0.18\"/>\n{named_line}"
        )
    };
    ARRANGEMENTS.into_iter().enumerate().map(entry).collect()
}

fn panel(measurements: &[Measurement], outputs: usize) -> Panel {
    let columns = if outputs == 1 { "column" } else { "columns" };
    let shares = SHARES.iter().enumerate();
    let curve_of = |arrangement| {
        let of_curve = |m: &&Measurement| {
            m.point.outputs == outputs && m.point.column.arrangement == arrangement
        };
        curve(arrangement, measurements.iter().filter(of_curve))
    };
    Panel {
        title: format!("{outputs} returned {columns}"),
        ticks: shares
            .map(|(i, share)| (x_of_share(i), share.to_string()))
            .collect(),
        curves: ARRANGEMENTS.into_iter().map(curve_of).collect(),
    }
}

/// Returns the band and the line of an arrangement.
fn curve<'a>(
    arrangement: Arrangement,
    measurements: impl Iterator<Item = &'a Measurement> + Clone,
) -> String {
    let ratios: Vec<Ratios> = SHARES
        .iter()
        .enumerate()
        .filter_map(|(i, share)| {
            let of_share = measurements
                .clone()
                .filter(|m| m.point.column.share == *share);
            let mut ratios: Vec<f64> = of_share.map(Measurement::ratio).collect();
            ratios.sort_by(f64::total_cmp);
            Some(Ratios {
                x: x_of_share(i),
                min: *ratios.first()?,
                max: *ratios.last()?,
                median: median(ratios),
            })
        })
        .collect();
    if ratios.is_empty() {
        return String::new();
    }
    let (color, style) = color_and_style(arrangement);
    let above = path(ratios.iter().map(|r| (r.x, r.max)));
    let below = path(ratios.iter().rev().map(|r| (r.x, r.min)));
    let medians = line(ratios.iter().map(|r| (r.x, r.median)), &style);
    format!("<path d=\"M{above}L{below}Z\" fill=\"{color}\" opacity=\"0.18\"/>\n{medians}")
}

/// Returns the position of a share; shares have equal distances.
fn x_of_share(share: usize) -> f64 {
    x_of(share as f64 / (SHARES.len() - 1) as f64)
}
