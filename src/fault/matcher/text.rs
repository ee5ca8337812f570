//! `text: "(?i)refund"`: a regular expression over the text parts of the message that is sent.

use regex::Regex;
use serde_json::Value;

use super::{Match, Matcher, Operations};
use crate::a2a::model::{Message, Part, Request};
use crate::fault::facts::{Facts, Needs};
use crate::fault::settings;

#[derive(Debug)]
struct Text(Regex);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(Text(settings::regex(value)?)))
}

impl Matcher for Text {
    fn needs(&self) -> Needs {
        Needs { operation: true, body: true }
    }

    fn operations(&self) -> Operations {
        Operations::SENDS
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        match &facts.call.request {
            Some(Request::SendMessage(send)) => Match::of(self.is_match(&send.message)),
            Some(_) => Match::No,
            None if facts.body_is_read => Match::No,
            None => Match::NotKnownYet,
        }
    }
}

impl Text {
    /// Most messages have one text part: then nothing is joined.
    fn is_match(&self, message: &Message) -> bool {
        let mut texts = message.parts.iter().filter_map(Part::as_text);
        match (texts.next(), texts.next()) {
            (None, _) => self.0.is_match(""),
            (Some(text), None) => self.0.is_match(text),
            (Some(_), Some(_)) => self.0.is_match(&message.text()),
        }
    }
}
