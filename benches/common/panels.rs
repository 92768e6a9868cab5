//! Draws ratios of times: a page of panels with the same vertical axis, as SVG.

use std::fmt;

const COLUMNS: usize = 2;
const WIDTH: f64 = 450.0;
const HEIGHT: f64 = 300.0;
/// Space around the axes of a panel.
pub(crate) const LEFT: f64 = 54.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
/// Space above the panels.
const LEGEND: f64 = 84.0;
/// Position of the lines in the legend.
pub(crate) const LEGEND_LINE: f64 = 73.0;
/// Space between the vertical axis and the first point, and after the last point.
const INSET: f64 = 14.0;

/// The least and the greatest ratio of the axis.
const RATIOS: (f64, f64) = (0.02, 2.0);
const TICKS: [f64; 7] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0];

pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// Lines below the title.
    pub(crate) notes: [&'a str; 2],
    /// Made of [`legend_entry`].
    pub(crate) legend: String,
    /// The name of the horizontal axes.
    pub(crate) axis: &'a str,
    pub(crate) panels: Vec<Panel>,
}

pub(crate) struct Panel {
    pub(crate) title: String,
    /// Positions and labels on the horizontal axis.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Made of [`line`].
    pub(crate) curves: String,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = WIDTH * COLUMNS as f64;
        let height = LEGEND + HEIGHT * self.panels.len().div_ceil(COLUMNS) as f64;
        writeln!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">"
        )?;
        writeln!(
            f,
            "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>"
        )?;
        let title = self.title;
        writeln!(
            f,
            "<text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{title}</text>"
        )?;
        for (note, y) in self.notes.iter().zip([42, 57]) {
            writeln!(
                f,
                "<text x=\"{LEFT}\" y=\"{y}\" font-size=\"12\" fill=\"#444\">{note}</text>"
            )?;
        }
        f.write_str(&self.legend)?;
        for (i, panel) in self.panels.iter().enumerate() {
            let x = WIDTH * (i % COLUMNS) as f64;
            let y = LEGEND + HEIGHT * (i / COLUMNS) as f64;
            writeln!(f, "<g transform=\"translate({x} {y})\">")?;
            panel.write_axes(f, self.axis)?;
            writeln!(f, "{}</g>", panel.curves)?;
        }
        writeln!(f, "</svg>")
    }
}

impl Panel {
    fn write_axes(&self, f: &mut fmt::Formatter<'_>, axis: &str) -> fmt::Result {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let title = &self.title;
        writeln!(
            f,
            "<text x=\"{LEFT}\" y=\"20\" font-size=\"12\" font-weight=\"bold\">{title}</text>"
        )?;
        for tick in TICKS {
            let (y, x) = (y_of(tick), LEFT - 5.0);
            let style = if tick == 1.0 {
                "stroke=\"#444\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\""
            } else {
                "stroke=\"#e4e4e4\""
            };
            writeln!(f, "<path d=\"M{LEFT} {y:.1}H{right}\" {style}/>")?;
            writeln!(
                f,
                "<text x=\"{x}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
                y + 4.0
            )?;
        }
        for (x, label) in &self.ticks {
            let y = bottom + 15.0;
            writeln!(
                f,
                "<path d=\"M{x:.1} {bottom}v4\" stroke=\"#444\"/>\
                 <text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>"
            )?;
        }
        writeln!(
            f,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#444\"/>"
        )?;
        let (x, y) = ((LEFT + right) / 2.0, bottom + 32.0);
        writeln!(
            f,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#444\">{axis}</text>"
        )?;
        let y = (TOP + bottom) / 2.0;
        writeln!(
            f,
            "<text transform=\"translate(14 {y}) rotate(-90)\" text-anchor=\"middle\" \
             fill=\"#444\">ratio of times</text>"
        )
    }
}

/// Returns an entry of the legend: a line of this style, and its name.
pub(crate) fn legend_entry(x: f64, style: &str, name: &str) -> String {
    let (text_x, text_y) = (x + 30.0, LEGEND_LINE + 4.0);
    format!(
        "<path d=\"M{x} {LEGEND_LINE}h24\" {style}/>\n\
         <text x=\"{text_x}\" y=\"{text_y}\" font-size=\"12\">{name}</text>\n"
    )
}

/// Returns a line of this style through positions and ratios.
pub(crate) fn line(points: impl Iterator<Item = (f64, f64)>, style: &str) -> String {
    format!("<path d=\"M{}\" fill=\"none\" {style}/>\n", path(points))
}

/// Returns the coordinates of positions and ratios.
pub(crate) fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points
        .map(|(x, ratio)| format!("{x:.1} {:.1}", y_of(ratio)))
        .collect();
    points.join("L")
}

/// Returns a position on the horizontal axis: 0 is its first point, 1 its last point.
pub(crate) fn x_of(part: f64) -> f64 {
    let (from, to) = (LEFT + INSET, WIDTH - RIGHT - INSET);
    from + (to - from) * part
}

/// Returns the position of a ratio. Ratios outside of the axis are drawn at its ends.
fn y_of(ratio: f64) -> f64 {
    let (low, high) = RATIOS;
    let part = (ratio.clamp(low, high) / low).ln() / (high / low).ln();
    let (from, to) = (HEIGHT - BOTTOM, TOP);
    from + part * (to - from)
}
