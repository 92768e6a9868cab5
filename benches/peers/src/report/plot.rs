//! Draws size against scan speed, with a panel for each table.

use super::answers::Answers;
use super::numbers::short;
use crate::peer::Format;
use crate::question::Question;
use anyhow::Result;
use std::fmt::Write;

const COLUMNS: usize = 3;
const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 250.0;
/// Space around the axes of a panel.
const LEFT: f64 = 48.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 40.0;
/// Space above the panels.
const LEGEND: f64 = 60.0;
/// Width of a letter and height of a line of a label.
const LETTER: f64 = 5.6;
const LINE: f64 = 11.0;

const FAMILIES: [(&str, &str, &str); 4] = [
    ("shard", "arrow-shard", "#c0392b"),
    ("parquet", "Parquet", "#2456a6"),
    ("vortex", "Vortex", "#2e7d32"),
    ("ipc", "Arrow IPC", "#6b6b6b"),
];

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    /// The positions of `low` and `high`.
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        // Room for the outermost points, and at least a factor of two and a half for ticks.
        let (low, high) = (low / 1.25, high * 1.25);
        Self {
            low: low.min(high / 2.5),
            high,
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + part * (self.to - self.from)
    }

    /// Returns round values on the axis: the fewer decades, the more values in each.
    fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] = match self.high / self.low {
            range if range > 200.0 => &[1.0],
            range if range > 5.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        };
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        decades
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

struct Point {
    format: Format,
    megabytes: f64,
    /// Millions of rows per second.
    speed: f64,
}

pub(super) fn plot(answers: &Answers) -> Result<String> {
    let panels: Vec<(&str, Vec<Point>)> = answers
        .tables
        .iter()
        .map(|table| (table.as_str(), points(answers, table)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let width = WIDTH * COLUMNS as f64;
    let height = LEGEND + HEIGHT * panels.len().div_ceil(COLUMNS) as f64;
    let mut svg = String::new();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"10\">"
    )?;
    writeln!(
        svg,
        "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>"
    )?;
    legend(&mut svg)?;
    for (i, (table, points)) in panels.iter().enumerate() {
        let x = WIDTH * (i % COLUMNS) as f64;
        let y = LEGEND + HEIGHT * (i / COLUMNS) as f64;
        writeln!(svg, "<g transform=\"translate({x} {y})\">")?;
        panel(&mut svg, table, points)?;
        writeln!(svg, "</g>")?;
    }
    writeln!(svg, "</svg>")?;
    Ok(svg)
}

fn points(answers: &Answers, table: &str) -> Vec<Point> {
    let formats = answers.formats().into_iter();
    formats
        .filter_map(|format| {
            let answer = answers.get(table, format, Question::Scan)?;
            Some(Point {
                format,
                megabytes: answer.file_bytes as f64 / 1e6,
                speed: answer.rows as f64 / (answer.wall as f64 / 1e9) / 1e6,
            })
        })
        .collect()
}

fn legend(svg: &mut String) -> Result<()> {
    writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">Size and scan speed: \
         smaller is further left, faster is higher</text>"
    )?;
    let mut x = LEFT;
    for (_, name, color) in FAMILIES {
        writeln!(
            svg,
            "<circle cx=\"{}\" cy=\"42\" r=\"4\" fill=\"{color}\"/>",
            x + 4.0
        )?;
        writeln!(
            svg,
            "<text x=\"{}\" y=\"46\" font-size=\"12\">{name}</text>",
            x + 12.0
        )?;
        x += 110.0;
    }
    Ok(())
}

fn panel(svg: &mut String, table: &str, points: &[Point]) -> Result<()> {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x_axis = Axis::new(points.iter().map(|p| p.megabytes), LEFT, right);
    let y_axis = Axis::new(points.iter().map(|p| p.speed), bottom, TOP);
    writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"20\" font-size=\"12\" font-weight=\"bold\">{table}</text>"
    )?;
    for tick in x_axis.ticks() {
        let x = x_axis.place(tick);
        writeln!(
            svg,
            "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#e4e4e4\"/>"
        )?;
        let y = bottom + 13.0;
        let label = plain(tick);
        writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>"
        )?;
    }
    for tick in y_axis.ticks() {
        let y = y_axis.place(tick);
        writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e4e4e4\"/>"
        )?;
        let (x, y) = (LEFT - 4.0, y + 3.0);
        let label = plain(tick);
        writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{label}</text>"
        )?;
    }
    writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#444\"/>"
    )?;
    let (x, y) = ((LEFT + right) / 2.0, bottom + 28.0);
    writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#444\">MB</text>"
    )?;
    let y = (TOP + bottom) / 2.0;
    writeln!(
        svg,
        "<text transform=\"translate(12 {y}) rotate(-90)\" text-anchor=\"middle\" \
         fill=\"#444\">million rows/s</text>"
    )?;
    let places: Vec<(f64, f64)> = points
        .iter()
        .map(|p| (x_axis.place(p.megabytes), y_axis.place(p.speed)))
        .collect();
    let mut taken: Vec<Area> = places.iter().map(|&place| Area::of_point(place)).collect();
    for (point, &(x, y)) in points.iter().zip(&places) {
        let (color, label) = style(point.format);
        let about = format!(
            "{}: {} MB, {} million rows/s",
            point.format.name(),
            short(point.megabytes),
            short(point.speed)
        );
        writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{color}\"><title>{about}</title></circle>"
        )?;
        let area = Area::free((x, y), &label, &taken);
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{label}</text>",
            area.x,
            area.y + LINE - 2.5
        )?;
        taken.push(area);
    }
    Ok(())
}

/// Returns the color of a format's family, and the format's variant within the family.
fn style(format: Format) -> (&'static str, String) {
    let name = format.name();
    let (family, variant) = name.split_once('-').unwrap_or((&name, ""));
    let color = FAMILIES
        .iter()
        .find(|f| f.0 == family)
        .map_or("#000", |f| f.2);
    (color, variant.to_owned())
}

/// Formats a number without trailing zeros.
fn plain(value: f64) -> String {
    // Ticks are short numbers, but powers of ten are not exact.
    format!("{}", (value * 1e6).round() / 1e6)
}

/// A rectangle of a point or a label.
#[derive(Clone, Copy)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Area {
    fn of_point((x, y): (f64, f64)) -> Self {
        Self {
            x: x - 4.0,
            y: y - 4.0,
            width: 8.0,
            height: 8.0,
        }
    }

    /// Returns the best free place for a label around its point: right, left, above or below.
    fn free((x, y): (f64, f64), label: &str, taken: &[Self]) -> Self {
        let (width, height) = (LETTER * label.len() as f64, LINE);
        let corners = [
            (x + 6.0, y - 6.0),
            (x - 6.0 - width, y - 6.0),
            (x - width / 2.0, y - 16.0),
            (x - width / 2.0, y + 5.0),
            (x + 6.0, y + 3.0),
            (x + 6.0, y - 15.0),
            (x - 6.0 - width, y + 3.0),
            (x - 6.0 - width, y - 15.0),
        ];
        let areas = corners.map(|(x, y)| Self {
            x,
            y,
            width,
            height,
        });
        let fits = |area: &&Self| {
            let inside = area.x > LEFT && area.x + width < WIDTH && area.y > TOP - LINE;
            inside && !taken.iter().any(|other| area.overlaps(other))
        };
        areas.iter().find(fits).copied().unwrap_or(areas[0])
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}
