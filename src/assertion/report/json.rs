//! For programs: the whole report as one JSON object. Additions only.

use std::io;

use super::{Format, Report, Style};

pub(super) struct Json;

impl Format for Json {
    const NAME: &'static str = "json";
    const SUMMARY: &'static str = "the whole report as one JSON object";
    const EXTENSION: &'static str = "json";

    fn write(report: &Report, _: Style, to: &mut dyn io::Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *to, report)?;
        writeln!(to)
    }
}
