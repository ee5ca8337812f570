//! The head of a record: what filters ask about, uncompressed, so that no body is read for a "no".

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::Operation;
use crate::base::id::{ExchangeId, InstanceId};
use crate::record::exchange::{Exchange, FaultVerdict, Outcome};
use crate::record::format::codes;
use crate::record::format::fields::Fields;

/// Texts of more octets than this stand shortened in a head.
const TEXT_MAX: usize = 255;
/// Texts that every head has.
const TEXTS: u8 = 6;
const UNKNOWN_DURATION: u64 = u64::MAX;

/// What is known of an exchange without reading its body.
///
/// Texts of more than 255 octets stand shortened here, with the digest of the whole at the end: compare
/// them with [`Head::text`] of what is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The exchange.
    pub id: ExchangeId,
    /// When it began, to the microsecond.
    pub started: Timestamp,
    /// The run of the daemon that recorded it.
    pub instance: InstanceId,
    /// From its start to the end of the answer.
    pub took: Option<Duration>,
    /// The HTTP status of the answer.
    pub status: Option<u16>,
    /// What was asked.
    pub operation: Operation,
    /// How it ended; `None` for an outcome that a later program invented.
    pub outcome: Option<Outcome>,
    /// `None`: not A2A.
    pub binding: Option<Binding>,
    /// The version that was spoken.
    pub version: Option<ProtocolVersion>,
    /// What else can be told without the body.
    pub marks: Marks,
    /// The session.
    pub session: Cow<'a, str>,
    /// The remote agent.
    pub agent: Cow<'a, str>,
    /// Who called.
    pub orchestrator: Cow<'a, str>,
    /// The orchestrator's message.
    pub message_id: Option<Cow<'a, str>>,
    /// The conversation.
    pub context_id: Option<Cow<'a, str>>,
    /// The task.
    pub task_id: Option<Cow<'a, str>>,
    /// The rules that fired.
    pub faults: Vec<Cow<'a, str>>,
}

/// Facts that are true or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(pub(in crate::record) u8);

impl Marks {
    /// Something is wrong with request or answer.
    pub const PROBLEMS: Self = Self(1);
    /// A body is not whole: too long, or octets were lost.
    pub const LOSS: Self = Self(2);
    /// The answer was a stream with at least one event.
    pub const STREAM: Self = Self(4);

    /// Whether all of these are true.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl<'a> Head<'a> {
    /// The head of this exchange.
    pub fn of(exchange: &'a Exchange) -> Self {
        let optional = |text: &'a Option<String>| {
            text.as_deref().filter(|text| !text.is_empty()).map(Self::text)
        };
        let fired =
            exchange.faults.iter().filter(|fault| fault.verdict == FaultVerdict::Fired).take(32);
        Self {
            id: exchange.id,
            started: exchange.started,
            instance: exchange.instance,
            took: exchange.timings.end_us.map(Duration::from_micros),
            status: exchange.response.as_ref().map(|response| response.status),
            operation: exchange.operation,
            outcome: Some(exchange.outcome),
            binding: exchange.binding,
            version: exchange.version,
            marks: marks(exchange),
            session: Self::text(&exchange.session),
            agent: Self::text(&exchange.agent),
            orchestrator: Self::text(&exchange.orchestrator),
            message_id: optional(&exchange.ids.message_id),
            context_id: optional(&exchange.ids.context_id),
            task_id: optional(&exchange.ids.task_id),
            faults: fired.map(|fault| Self::text(&fault.rule)).collect(),
        }
    }

    /// The head of something that is no exchange.
    pub(in crate::record) fn of_note(time: Timestamp, session: &'a str, agent: &'a str) -> Self {
        Self {
            id: ExchangeId::from_bytes([0; 16]),
            started: time,
            instance: InstanceId::from_bytes([0; 16]),
            took: None,
            status: None,
            operation: Operation::Unknown,
            outcome: None,
            binding: None,
            version: None,
            marks: Marks::default(),
            session: Self::text(session),
            agent: Self::text(agent),
            orchestrator: Cow::Borrowed(""),
            message_id: None,
            context_id: None,
            task_id: None,
            faults: Vec::new(),
        }
    }

    /// A text as it stands in a head.
    pub fn text(whole: &str) -> Cow<'_, str> {
        if whole.len() <= TEXT_MAX {
            return Cow::Borrowed(whole);
        }
        let digest = Sha256::digest(whole);
        let mut end = TEXT_MAX - '…'.len_utf8() - 2 * digest.len() - 1;
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        let mut short = whole.get(..end).unwrap_or_default().to_owned();
        short.push('…');
        for octet in digest {
            for nibble in [octet >> 4, octet & 15] {
                short.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
        Cow::Owned(short)
    }

    /// Appends the octets of a head.
    pub(in crate::record) fn write(&self, out: &mut Vec<u8>) {
        let took = self.took.and_then(|took| u64::try_from(took.as_micros()).ok());
        out.extend_from_slice(&self.started.as_microsecond().to_le_bytes());
        out.extend_from_slice(self.instance.as_bytes());
        out.extend_from_slice(&took.unwrap_or(UNKNOWN_DURATION).to_le_bytes());
        out.extend_from_slice(&self.status.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&[
            codes::of_operation(self.operation),
            self.outcome.map_or(0, codes::of_outcome),
            codes::of_binding(self.binding),
            codes::of_version(self.version),
            self.marks.0,
            u8::try_from(self.faults.len()).unwrap_or(0).saturating_add(TEXTS),
        ]);
        for text in [&self.session, &self.agent, &self.orchestrator] {
            write_text(out, text);
        }
        for text in [&self.message_id, &self.context_id, &self.task_id] {
            write_text(out, text.as_deref().unwrap_or_default());
        }
        for rule in &self.faults {
            write_text(out, rule);
        }
    }

    /// Reads a head; `None` when it is shorter than any head is.
    pub(in crate::record) fn parse(id: [u8; 16], octets: &'a [u8]) -> Option<Self> {
        let mut fields = Fields::new(octets);
        let started = Timestamp::from_microsecond(fields.i64()?).unwrap_or(Timestamp::UNIX_EPOCH);
        let instance = InstanceId::from_bytes(fields.array()?);
        let took = Some(fields.u64()?).filter(|took| *took != UNKNOWN_DURATION);
        let status = Some(fields.u16()?).filter(|status| *status != 0);
        let operation = codes::operation(fields.u8()?);
        let outcome = codes::outcome(fields.u8()?);
        let binding = codes::binding(fields.u8()?);
        let version = codes::version(fields.u8()?);
        let marks = Marks(fields.u8()?);
        let texts = fields.u8()?;
        let session = Cow::Borrowed(fields.text()?);
        let agent = Cow::Borrowed(fields.text()?);
        let orchestrator = Cow::Borrowed(fields.text()?);
        let message_id = optional(fields.text()?);
        let context_id = optional(fields.text()?);
        let task_id = optional(fields.text()?);
        let mut faults = Vec::new();
        for _ in TEXTS..texts {
            faults.push(Cow::Borrowed(fields.text()?));
        }
        Some(Self {
            id: ExchangeId::from_bytes(id),
            started,
            instance,
            took: took.map(Duration::from_micros),
            status,
            operation,
            outcome,
            binding,
            version,
            marks,
            session,
            agent,
            orchestrator,
            message_id,
            context_id,
            task_id,
            faults,
        })
    }
}

fn optional(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    // Texts come from `Head::text`, so they fit; anything else would be left out, not cut.
    let len = u8::try_from(text.len()).unwrap_or(0);
    out.push(len);
    out.extend_from_slice(text.as_bytes().get(..usize::from(len)).unwrap_or_default());
}

fn marks(exchange: &Exchange) -> Marks {
    let answers = || exchange.response.iter().chain(&exchange.delivered);
    let mut bodies = answers().map(|answer| &answer.body).chain([&exchange.request.body]);
    let mut marks = 0;
    if !exchange.problems.is_empty() {
        marks |= Marks::PROBLEMS.0;
    }
    if bodies.any(|body| body.truncated || body.gap > 0) {
        marks |= Marks::LOSS.0;
    }
    if answers().any(|answer| !answer.events.is_empty()) {
        marks |= Marks::STREAM.0;
    }
    Marks(marks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_is_shortened_to_something_that_still_tells_it_from_others() {
        let long = "ä".repeat(200);
        let other = format!("{}b", "ä".repeat(199));
        let short = Head::text(&long);
        assert!(short.len() <= TEXT_MAX, "{} octets", short.len());
        assert!(short.starts_with("ää") && short.contains('…'));
        assert_ne!(short, Head::text(&other));
        assert_eq!(Head::text("task-1"), "task-1");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_written_is_read(
            (session, agent, task) in ("[a-z]{0,64}", ".{0,300}", ".{0,40}"),
            (rules, status) in (proptest::collection::vec(".{0,20}", 0..4), 0_u16..600),
        ) {
            let mut head = Head::of_note("2026-11-30T12:00:00.123456Z".parse().unwrap(), &session, &agent);
            head.id = ExchangeId::from_bytes([9; 16]);
            head.task_id = (!task.is_empty()).then(|| Head::text(&task));
            head.status = (status > 0).then_some(status);
            head.operation = Operation::GetTask;
            head.outcome = Some(Outcome::CutByAgent);
            head.took = Some(Duration::from_micros(u64::from(status)));
            head.faults = rules.iter().map(|rule| Head::text(rule)).collect();
            let mut out = Vec::new();
            head.write(&mut out);
            prop_assert_eq!(Head::parse([9; 16], &out), Some(head));
        }

        #[test]
        fn no_octets_make_the_reader_panic(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Head::parse([0; 16], &octets);
        }
    }
}
