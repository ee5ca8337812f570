//! The method and the id of a JSON-RPC body that has not arrived whole.
//!
//! A scanner by hand, because no JSON parser reads half a text: it looks for the first such member at the
//! top level and goes past everything else without looking into it. It may be asked anew for each
//! longer prefix; its answer never changes once it has one.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::a2a::binding::ProtocolVersion;
use crate::a2a::model::Operation;

/// The operation, once the top-level `method` has gone by whole. `None` until then, and for a body that
/// has none.
pub(crate) fn peek_method(body: &[u8]) -> Option<(Operation, Option<ProtocolVersion>)> {
    Scanner::at("method", body)?.string().map(|method| super::operation_of(&method))
}

/// The text of the id, once it has gone by whole. `None` until then, and for a body that has none.
pub(crate) fn peek_rpc_id(body: &[u8]) -> Option<Box<RawValue>> {
    let mut scanner = Scanner::at("id", body)?;
    scanner.skip_space();
    let value = scanner.rest;
    scanner.skip_value()?;
    let (value, _) = value.split_at_checked(value.len() - scanner.rest.len())?;
    RawValue::from_string(String::from_utf8(value.trim_ascii().to_vec()).ok()?).ok()
}

/// What is left of the text. `None` from any of its functions: the text ends, or is no JSON.
struct Scanner<'b> {
    rest: &'b [u8],
}

impl<'b> Scanner<'b> {
    /// Before the value of the first top-level member of this name.
    fn at(name: &str, body: &'b [u8]) -> Option<Self> {
        let mut scanner = Self { rest: body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body) };
        scanner.expect(b'{')?;
        loop {
            let key = scanner.string()?;
            scanner.expect(b':')?;
            if key == name {
                return Some(scanner);
            }
            scanner.skip_value()?;
            scanner.expect(b',')?;
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn expect(&mut self, octet: u8) -> Option<()> {
        self.skip_space();
        self.rest = self.rest.strip_prefix(&[octet])?;
        Some(())
    }

    /// A string, whole and decoded.
    fn string(&mut self) -> Option<Cow<'b, str>> {
        self.skip_space();
        let len = self.string_len()?;
        let (string, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        let inner = string.get(1..len - 1)?;
        // Names and methods have no escapes, unless somebody plays tricks.
        let is_plain = inner.iter().all(|octet| matches!(octet, b' '..=b'~') && *octet != b'\\');
        if is_plain {
            return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
        }
        serde_json::from_slice(string).ok().map(Cow::Owned)
    }

    /// How long the string is that begins here, quotes included.
    fn string_len(&self) -> Option<usize> {
        if self.rest.first() != Some(&b'"') {
            return None;
        }
        let mut at = 1;
        loop {
            at += memchr::memchr2(b'"', b'\\', self.rest.get(at..)?)?;
            if self.rest.get(at) == Some(&b'"') {
                return Some(at + 1);
            }
            at += 2;
        }
    }

    /// Any value, whole. A number, `true`, `false` or `null` is whole when something follows it.
    fn skip_value(&mut self) -> Option<()> {
        self.skip_space();
        let mut depth = 0_usize;
        loop {
            let len = match self.rest.first()? {
                b'"' => self.string_len()?,
                b'{' | b'[' => {
                    depth += 1;
                    1
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    1
                }
                _ if depth == 0 => {
                    self.rest.iter().position(|octet| matches!(octet, b',' | b'}' | b']'))?
                }
                _ => 1,
            };
            self.rest = self.rest.get(len..)?;
            if depth == 0 {
                return Some(());
            }
        }
    }
}
