//! What can be wrong with an upstream, by the words of `meddler-error`.
//!
//! The words are a contract with users and suites; the sentence beside them is for people and names
//! no library of ours.

use std::error::Error;
use std::{fmt, io};

/// The kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// The name does not resolve.
    Dns,
    /// Nobody listens there.
    ConnectRefused,
    /// No connection in time.
    ConnectTimeout,
    /// No trust, or no TLS.
    Tls,
    /// The connection or stream was reset.
    Reset,
    /// The connection was closed before the answer.
    Closed,
    /// No answer in time.
    FirstByteTimeout,
    /// The answer fell silent.
    IdleTimeout,
    /// What came is no HTTP.
    Protocol,
    /// The agent's address leads back to Meddler.
    Loop,
}

impl Word {
    /// As it is written in `meddler-error` and in recordings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::ConnectRefused => "connect_refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::FirstByteTimeout => "first_byte_timeout",
            Self::IdleTimeout => "idle_timeout",
            Self::Protocol => "protocol",
            Self::Loop => "loop",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Trouble with an upstream: the word and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Trouble {
    /// The kind.
    pub word: Word,
    /// What happened, to whom, and what to look at.
    pub text: String,
}

impl Trouble {
    /// Trouble of this kind.
    pub fn new(word: Word, text: impl Into<String>) -> Self {
        Self { word, text: text.into() }
    }

    /// What an error of an HTTP connection to `upstream` means.
    pub fn of_http(error: &hyper::Error, upstream: &dyn fmt::Display) -> Self {
        if let Some(reason) = find::<h2::Error>(error) {
            return Self::of_h2(reason, upstream);
        }
        if let Some(io) = find::<io::Error>(error) {
            return Self::of_io(io, upstream);
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return Self::new(
                Word::Closed,
                format!("{upstream} closed the connection before its answer was complete"),
            );
        }
        if error.is_parse() {
            return Self::new(
                Word::Protocol,
                format!("what {upstream} answered is no HTTP: {error}"),
            );
        }
        Self::new(Word::Protocol, format!("the exchange with {upstream} failed: {error}"))
    }

    fn of_h2(error: &h2::Error, upstream: &dyn fmt::Display) -> Self {
        if let Some(io) = error.get_io() {
            return Self::of_io(io, upstream);
        }
        let reason = error.reason().map_or_else(|| "no reason".to_owned(), |it| it.to_string());
        if error.is_reset() {
            return Self::new(Word::Reset, format!("{upstream} reset the stream: {reason}"));
        }
        if error.is_go_away() && error.is_remote() {
            return Self::new(
                Word::Closed,
                format!("{upstream} closed the HTTP/2 connection: {reason}"),
            );
        }
        Self::new(Word::Protocol, format!("{upstream} broke the rules of HTTP/2: {reason}"))
    }

    /// What an error of a socket connected to `upstream` means.
    pub fn of_io(error: &io::Error, upstream: &dyn fmt::Display) -> Self {
        if let Some(tls) = tls_cause(error) {
            return Self::new(Word::Tls, format!("the TLS connection to {upstream} broke: {tls}"));
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of I/O errors are open")]
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                Self::new(Word::Reset, format!("{upstream} reset the connection"))
            }
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof => Self::new(
                Word::Closed,
                format!("{upstream} closed the connection before its answer was complete"),
            ),
            _ => Self::new(Word::Reset, format!("the connection to {upstream} broke: {error}")),
        }
    }
}

/// The TLS error inside an I/O error. A missing `close_notify` is an early end, not bad TLS.
fn tls_cause(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref::<rustls::Error>()
}

/// The first error of type `E` among the causes.
pub fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
