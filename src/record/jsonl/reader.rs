//! Reading a file, line by line.

use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::line::ExchangeLine;
use super::{Header, Line};
use crate::record::query::QueryError;

/// A longer line is no part of a recording: it would have bodies of many times the largest limit.
const LINE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How a zstd frame begins.
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The lines of a file after its first.
pub struct Lines<'a> {
    from: Box<dyn BufRead + 'a>,
    path: String,
    number: usize,
    header: Header,
    line: Vec<u8>,
}

#[derive(Deserialize)]
struct Type {
    #[serde(rename = "type", default)]
    name: String,
}

impl<'a> Lines<'a> {
    /// Reads the first line. Whether the file is compressed its first octets tell, not its name. `path`
    /// is for error messages.
    pub fn open(path: &str, from: impl Read + 'a) -> Result<Self, QueryError> {
        let mut from = BufReader::new(from);
        let is_compressed = from.fill_buf().is_ok_and(|octets| octets.starts_with(ZSTD_MAGIC));
        let from: Box<dyn BufRead + 'a> = if is_compressed {
            let decoder = zstd::stream::read::Decoder::with_buffer(from);
            Box::new(BufReader::new(decoder.map_err(|error| unreadable(path, 1, &error))?))
        } else {
            Box::new(from)
        };
        let header =
            Header { a2a_recording: 0, tool: String::new(), instance: None, created: None };
        let mut lines = Self { from, path: path.to_owned(), number: 0, header, line: Vec::new() };
        lines.read_header()?;
        Ok(lines)
    }

    /// The first line.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    fn read_header(&mut self) -> Result<(), QueryError> {
        let why = "not a recording: the first line must be {\"a2a_recording\": 1, ...}";
        if !self.read_line()? {
            return Err(self.wrong(why.to_owned()));
        }
        match serde_json::from_slice(&self.line) {
            Ok(header) => self.header = header,
            Err(_) => return Err(self.wrong(why.to_owned())),
        }
        Ok(())
    }

    /// Whether there was one.
    fn read_line(&mut self) -> Result<bool, QueryError> {
        self.line.clear();
        self.number += 1;
        let mut bounded = self.from.by_ref().take(LINE_BYTES_MAX);
        let read = bounded.read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => Ok(false),
            Ok(_) if self.line.len() as u64 >= LINE_BYTES_MAX => {
                Err(self.wrong(format!("longer than {LINE_BYTES_MAX} octets")))
            }
            Ok(_) => Ok(true),
            Err(error) => Err(unreadable(&self.path, self.number, &error)),
        }
    }

    fn parse(&self) -> Result<Line, QueryError> {
        let Type { name } = self.parse_as()?;
        Ok(match name.as_str() {
            "exchange" => {
                let line: ExchangeLine = self.parse_as()?;
                Line::Exchange(Box::new(line.into_exchange().map_err(|why| self.wrong(why))?))
            }
            "session" => Line::Session(self.parse_as()?),
            "event" => Line::Event(self.parse_as()?),
            "gap" => Line::Gap(self.parse_as()?),
            _ => Line::Other,
        })
    }

    fn parse_as<T: DeserializeOwned>(&self) -> Result<T, QueryError> {
        serde_json::from_slice(&self.line).map_err(|error| {
            let is_cut = error.is_eof() && !self.line.ends_with(b"\n");
            self.wrong(if is_cut {
                "the file ends in the middle of this line".to_owned()
            } else {
                error.to_string()
            })
        })
    }

    fn wrong(&self, why: String) -> QueryError {
        QueryError::Line { path: self.path.clone(), line: self.number, why }
    }
}

impl Iterator for Lines<'_> {
    type Item = Result<Line, QueryError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read_line() {
                Ok(false) => return None,
                Ok(true) if self.line.trim_ascii().is_empty() => {}
                Ok(true) => return Some(self.parse()),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lines({}:{})", self.path, self.number)
    }
}

fn unreadable(path: &str, line: usize, error: &io::Error) -> QueryError {
    QueryError::Line { path: path.to_owned(), line, why: format!("cannot be read: {error}") }
}
