//! Draws the ratios, with a panel for each number of returned columns.

use crate::table::Arrangement;
use crate::{ARRANGEMENTS, Measurement, OUTPUTS, SHARES, median};
use std::fmt::{Result, Write};

const COLUMNS: usize = 2;
const WIDTH: f64 = 450.0;
const HEIGHT: f64 = 300.0;
/// Space around the axes of a panel.
const LEFT: f64 = 54.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
/// Space above the panels.
const LEGEND: f64 = 84.0;
/// Space between the axes and the first and the last share.
const INSET: f64 = 14.0;

/// The least and the greatest ratio of the axis.
const RATIOS: (f64, f64) = (0.02, 2.0);
const TICKS: [f64; 7] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0];

/// The ratios at a share of the rows, over all types and profiles.
struct Ratios {
    x: f64,
    min: f64,
    median: f64,
    max: f64,
}

pub(crate) fn plot(measurements: &[Measurement], rows: usize) -> String {
    let mut svg = String::new();
    draw(&mut svg, measurements, rows).expect("text");
    svg
}

fn draw(svg: &mut String, measurements: &[Measurement], rows: usize) -> Result {
    let width = WIDTH * COLUMNS as f64;
    let height = LEGEND + HEIGHT * OUTPUTS.len().div_ceil(COLUMNS) as f64;
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">"
    )?;
    writeln!(
        svg,
        "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>"
    )?;
    legend(svg, rows)?;
    for (i, (outputs, _)) in OUTPUTS.iter().enumerate() {
        let x = WIDTH * (i % COLUMNS) as f64;
        let y = LEGEND + HEIGHT * (i / COLUMNS) as f64;
        writeln!(svg, "<g transform=\"translate({x} {y})\">")?;
        axes(svg, *outputs)?;
        for arrangement in ARRANGEMENTS {
            let of_panel = |m: &&Measurement| {
                m.point.outputs == *outputs && m.point.column.arrangement == arrangement
            };
            curve(svg, arrangement, measurements.iter().filter(of_panel))?;
        }
        writeln!(svg, "</g>")?;
    }
    writeln!(svg, "</svg>")
}

fn color(arrangement: Arrangement) -> &'static str {
    match arrangement {
        Arrangement::Clustered => "#2456a6",
        Arrangement::Runs => "#2e7d32",
        Arrangement::Random => "#c0392b",
        Arrangement::Constant => "#6b6b6b",
    }
}

fn legend(svg: &mut String, rows: usize) -> Result {
    writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">Time of a scan with a \
         filter, divided by the time to scan and filter afterwards</text>"
    )?;
    writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"42\" font-size=\"12\" fill=\"#444\">Below 1 the filter saves time. \
         Lines are medians, and bands reach from the least to the greatest ratio,</text>"
    )?;
    writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"57\" font-size=\"12\" fill=\"#444\">over the types of the tested \
         column and the profiles of the shard. {rows} rows in memory, one thread.</text>"
    )?;
    let mut x = LEFT;
    for arrangement in ARRANGEMENTS {
        let color = color(arrangement);
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"67\" width=\"24\" height=\"12\" fill=\"{color}\" opacity=\"0.18\"/>"
        )?;
        writeln!(
            svg,
            "<path d=\"M{x} 73h24\" stroke=\"{color}\" stroke-width=\"2\"/>"
        )?;
        let name = match arrangement {
            Arrangement::Clustered => "matches in one range",
            Arrangement::Runs => "in runs of 100 rows",
            Arrangement::Random => "anywhere",
            Arrangement::Constant => "all rows or none",
        };
        writeln!(
            svg,
            "<text x=\"{}\" y=\"77\" font-size=\"12\">{name}</text>",
            x + 30.0
        )?;
        x += 180.0;
    }
    Ok(())
}

fn axes(svg: &mut String, outputs: usize) -> Result {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let columns = if outputs == 1 { "column" } else { "columns" };
    writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"20\" font-size=\"12\" font-weight=\"bold\">{outputs} returned \
         {columns}</text>"
    )?;
    for tick in TICKS {
        let (y, x) = (y_of(tick), LEFT - 5.0);
        let style = if tick == 1.0 {
            "stroke=\"#444\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\""
        } else {
            "stroke=\"#e4e4e4\""
        };
        writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{right}\" {style}/>")?;
        writeln!(
            svg,
            "<text x=\"{x}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            y + 4.0
        )?;
    }
    for (i, share) in SHARES.iter().enumerate() {
        let (x, y) = (x_of(i), bottom + 15.0);
        writeln!(
            svg,
            "<path d=\"M{x:.1} {bottom}v4\" stroke=\"#444\"/>\
             <text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{share}</text>"
        )?;
    }
    writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#444\"/>"
    )?;
    let (x, y) = ((LEFT + right) / 2.0, bottom + 32.0);
    writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#444\">matching rows</text>"
    )?;
    let y = (TOP + bottom) / 2.0;
    writeln!(
        svg,
        "<text transform=\"translate(14 {y}) rotate(-90)\" text-anchor=\"middle\" \
         fill=\"#444\">ratio of times</text>"
    )
}

/// Draws the band and the line of an arrangement.
fn curve<'a>(
    svg: &mut String,
    arrangement: Arrangement,
    measurements: impl Iterator<Item = &'a Measurement> + Clone,
) -> Result {
    let color = color(arrangement);
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
                x: x_of(i),
                min: *ratios.first()?,
                max: *ratios.last()?,
                median: median(ratios),
            })
        })
        .collect();
    let above = path(&mut ratios.iter().map(|r| (r.x, r.max)));
    let below = path(&mut ratios.iter().rev().map(|r| (r.x, r.min)));
    let line = path(&mut ratios.iter().map(|r| (r.x, r.median)));
    if line.is_empty() {
        return Ok(());
    }
    writeln!(
        svg,
        "<path d=\"M{above}L{below}Z\" fill=\"{color}\" opacity=\"0.18\"/>"
    )?;
    writeln!(
        svg,
        "<path d=\"M{line}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>"
    )
}

fn path(points: &mut dyn Iterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points
        .map(|(x, ratio)| format!("{x:.1} {:.1}", y_of(ratio)))
        .collect();
    points.join("L")
}

/// Returns the position of a share; shares have equal distances.
fn x_of(share: usize) -> f64 {
    let (from, to) = (LEFT + INSET, WIDTH - RIGHT - INSET);
    from + (to - from) * share as f64 / (SHARES.len() - 1) as f64
}

/// Returns the position of a ratio. Ratios outside of the axis are drawn at its ends.
fn y_of(ratio: f64) -> f64 {
    let (low, high) = RATIOS;
    let part = (ratio.clamp(low, high) / low).ln() / (high / low).ln();
    let (from, to) = (HEIGHT - BOTTOM, TOP);
    from + part * (to - from)
}
