//! Draws the ratios, with a panel for each table.

use crate::common::panels::{LEFT, Page, Panel, legend_entry, line, x_of};
use crate::{Access, Measurement, Order, PROFILES, Series};
use arrow_shard::write::Profile;
use std::iter::successors;

pub(crate) fn plot(measurements: &[Measurement]) -> String {
    let page = Page {
        title: "Time to take K rows at once, divided by the time of the cheaper alternative",
        notes: [
            "Below 1 it pays to take them at once. The alternatives are K takes of one row, and a \
             scan of all rows that picks the",
            "K rows afterwards. Random rows, one thread. Ratios outside of the axis are drawn at its \
             ends.",
        ],
        legend: legend(),
        axis: "K, number of taken rows",
        panels: measurements
            .chunk_by(|a, b| a.series.table.name == b.series.table.name)
            .map(panel)
            .collect(),
    };
    page.to_string()
}

fn color(profile: Profile) -> &'static str {
    match profile {
        Profile::Balanced => "#2456a6",
        Profile::Plain => "#2e7d32",
        Profile::HighCompression => "#c0392b",
        _ => "#6b6b6b",
    }
}

fn style(color: &str, access: Access, order: Order) -> String {
    let width = match access {
        Access::File => 2.0,
        Access::Memory => 0.8,
    };
    let dashes = match order {
        Order::Sorted => "",
        Order::Shuffled => " stroke-dasharray=\"6 3\"",
    };
    format!("stroke=\"{color}\" stroke-width=\"{width}\"{dashes}")
}

fn legend() -> String {
    let profiles = PROFILES.map(|profile| {
        let style = style(color(profile), Access::File, Order::Sorted);
        (style, format!("{profile:?}"))
    });
    let ways = [
        (Access::File, Order::Sorted, "file, sorted"),
        (Access::File, Order::Shuffled, "file, shuffled"),
        (Access::Memory, Order::Sorted, "from memory"),
    ];
    let ways = ways.map(|(access, order, name)| (style("#444", access, order), name.to_owned()));
    let entries = profiles.iter().chain(&ways).enumerate();
    entries
        .map(|(i, (style, name))| legend_entry(LEFT + 145.0 * i as f64, style, name))
        .collect()
}

/// Returns the panel of a table, with a logarithmic axis from one to all rows.
fn panel(measurements: &[Measurement]) -> Panel {
    let Measurement {
        series, rows: all, ..
    } = measurements[measurements.len() - 1];
    let x_of_rows = |rows: usize| x_of((rows as f64).ln() / (all as f64).ln());
    let tens = successors(Some(1_usize), |tick| Some(tick * 10)).take_while(|tick| *tick <= all);
    let curve = |measurements: &[Measurement]| {
        let Series {
            profile,
            access,
            order,
            ..
        } = measurements[0].series;
        let points = measurements.iter().map(|m| (x_of_rows(m.rows), m.ratio()));
        line(points, &style(color(profile), access, order))
    };
    Panel {
        title: format!(
            "{}: {}, {all} rows",
            series.table.name, series.table.contents
        ),
        ticks: tens
            .map(|tick| (x_of_rows(tick), tick.to_string()))
            .collect(),
        curves: measurements
            // Each line begins with one row.
            .chunk_by(|_, next| next.rows > 1)
            .map(curve)
            .collect(),
    }
}
