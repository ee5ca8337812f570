//! A table of plain columns: aligned, without borders, the last one cut at the edge of the terminal.

use std::io::{self, Write};

use super::output::{Style, Tint, cut};

/// Rows under headings. What is written once is not written again, so a listing may go on.
pub(super) struct Columns {
    headings: Headings,
    rows: Vec<Vec<Cell>>,
    /// As wide as the widest cell so far.
    widths: Vec<usize>,
}

enum Headings {
    ToWrite(Vec<&'static str>),
    Written,
}

/// One cell. Widths are of the text; the tint takes no room.
pub(super) struct Cell {
    text: String,
    tint: Tint,
    align: Align,
}

#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
}

/// Room left for the last column, however narrow the terminal.
const LAST_MIN: usize = 12;
const GAP: &str = "  ";

impl Cell {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), tint: Tint::Plain, align: Align::Left }
    }

    pub(super) fn right(text: impl Into<String>) -> Self {
        Self { align: Align::Right, ..Self::new(text) }
    }

    pub(super) fn tinted(self, tint: Tint) -> Self {
        Self { tint, ..self }
    }
}

impl Columns {
    pub(super) fn new(headings: &[&'static str]) -> Self {
        let widths = headings.iter().map(|text| text.chars().count()).collect();
        Self { headings: Headings::ToWrite(headings.to_vec()), rows: Vec::new(), widths }
    }

    /// Adds a row; it has as many cells as there are headings.
    pub(super) fn push(&mut self, row: Vec<Cell>) {
        for (width, cell) in self.widths.iter_mut().zip(&row) {
            *width = (*width).max(cell.text.chars().count());
        }
        self.rows.push(row);
    }

    /// Writes the headings, unless they stand there already, and the rows since the last time.
    pub(super) fn write(&mut self, out: &mut dyn Write, style: Style) -> io::Result<()> {
        let before: usize = self.widths.iter().rev().skip(1).map(|width| width + GAP.len()).sum();
        let last = style.width().map(|width| width.saturating_sub(before).max(LAST_MIN));
        let rows = std::mem::take(&mut self.rows);
        if let Headings::ToWrite(headings) =
            std::mem::replace(&mut self.headings, Headings::Written)
        {
            let aligns = rows.first().map(|row| row.iter().map(|cell| cell.align).collect());
            let aligns: Vec<Align> = aligns.unwrap_or_default();
            let cell = |(index, text): (usize, &str)| Cell {
                align: aligns.get(index).copied().unwrap_or(Align::Left),
                ..Cell::new(text).tinted(Tint::Faint)
            };
            let row: Vec<Cell> = headings.into_iter().enumerate().map(cell).collect();
            write_row(out, style, &row, &self.widths, last)?;
        }
        rows.iter().try_for_each(|row| write_row(out, style, row, &self.widths, last))
    }
}

fn write_row(
    out: &mut dyn Write,
    style: Style,
    row: &[Cell],
    widths: &[usize],
    last: Option<usize>,
) -> io::Result<()> {
    let mut line = String::new();
    for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
        if index > 0 {
            line.push_str(GAP);
        }
        if index + 1 == row.len() {
            let text = last.map_or_else(|| cell.text.clone(), |width| cut(&cell.text, width));
            line.push_str(&style.tint(cell.tint, &text));
            continue;
        }
        let padding = " ".repeat(width.saturating_sub(cell.text.chars().count()));
        let text = style.tint(cell.tint, &cell.text);
        match cell.align {
            Align::Left => line.extend([text, padding]),
            Align::Right => line.extend([padding, text]),
        }
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::super::output::Talk;
    use super::*;

    fn row(name: &str, ms: &str, text: &str) -> Vec<Cell> {
        vec![Cell::new(name), Cell::right(ms), Cell::new(text)]
    }

    #[track_caller]
    fn check(columns: &mut Columns, width: Option<&str>, expected: &str) {
        let mut out = Vec::new();
        let style = Style::detect(Some("1"), Talk::On, width);
        columns.write(&mut out, style).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut columns = Columns::new(&["AGENT", "MS", "TEXT"]);
        columns.push(row("billing", "12.5", "a"));
        columns.push(row("b", "7.0", ""));
        check(&mut columns, None, "AGENT      MS  TEXT\nbilling  12.5  a\nb         7.0\n");
    }

    #[test]
    fn a_listing_goes_on_below_its_headings() {
        let mut columns = Columns::new(&["AGENT", "MS", "TEXT"]);
        columns.push(row("a", "1.0", "x"));
        check(&mut columns, None, "AGENT   MS  TEXT\na      1.0  x\n");
        columns.push(row("b", "2.0", "y"));
        check(&mut columns, None, "b      2.0  y\n");
    }

    #[test]
    fn the_last_column_is_cut_at_the_edge() {
        let mut columns = Columns::new(&["AGENT", "MS", "TEXT"]);
        columns.push(row("billing", "12.5", "a text that is much too long"));
        check(&mut columns, Some("31"), "AGENT      MS  TEXT\nbilling  12.5  a text that is …\n");
    }
}
