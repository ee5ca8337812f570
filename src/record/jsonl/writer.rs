//! Writing a file, line by line.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::Header;
use super::line::{ExchangeLine, Typed};
use crate::a2a::model::{Operation, Reply};
use crate::base::id::{ExchangeId, InstanceId};
use crate::record::decode;
use crate::record::delegation::{Delegation, Grouper};
use crate::record::exchange::Exchange;
use crate::record::query::{Filter, Recording};
use crate::record::store::{EventRecord, GapRecord, SessionRecord};

/// Compression of `.zst` files: they are read more often than written.
const ZSTD_LEVEL: i32 = 3;

/// What an export has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Exchanges.
    pub exchanges: u64,
    /// Delegations.
    pub delegations: u64,
}

/// Writes lines as they come; [`finish`](Self::finish) adds what is derived.
pub struct Writer<W: Write> {
    to: W,
    grouper: Grouper,
    cards: HashSet<(String, String)>,
    exported: Exported,
}

impl<W: Write> Writer<W> {
    /// Writes the first line.
    pub fn new(to: W, header: &Header) -> io::Result<Self> {
        let mut writer = Self {
            to,
            grouper: Grouper::default(),
            cards: HashSet::new(),
            exported: Exported::default(),
        };
        writer.line(header)?;
        Ok(writer)
    }

    /// Writes a session.
    pub fn session(&mut self, session: &SessionRecord) -> io::Result<()> {
        let SessionRecord { name, instance, started } = session;
        self.line(&Typed {
            kind: "session",
            line: SessionLine { name, instance: *instance, started: *started },
        })
    }

    /// Writes something that is no exchange.
    pub fn event(&mut self, event: &EventRecord) -> io::Result<()> {
        self.line(&Typed { kind: "event", line: At { at: event.at, record: event } })
    }

    /// Writes what was not recorded.
    pub fn gap(&mut self, gap: &GapRecord) -> io::Result<()> {
        self.line(&Typed { kind: "gap", line: At { at: gap.at, record: gap } })
    }

    /// Writes an exchange, and its card if it brought one that was not written before.
    pub fn exchange(&mut self, exchange: &Exchange) -> io::Result<()> {
        self.exported.exchanges += 1;
        self.grouper.push(exchange);
        self.line(&Typed { kind: "exchange", line: ExchangeLine::of(exchange) })?;
        let Some(card) = card(exchange) else { return Ok(()) };
        if self.cards.insert((exchange.agent.clone(), card.to_string())) {
            let line = CardLine { agent: &exchange.agent, exchange: exchange.id, card: &card };
            self.line(&Typed { kind: "card", line })?;
        }
        Ok(())
    }

    /// Writes the delegations, and what the writer below still holds.
    pub fn finish(mut self) -> io::Result<(Exported, W)> {
        for delegation in self.grouper.delegations() {
            self.exported.delegations += 1;
            let line = DelegationLine::of(&delegation)?;
            self.line(&Typed { kind: "delegation", line })?;
        }
        self.to.flush()?;
        Ok((self.exported, self.to))
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, line)?;
        self.to.write_all(b"\n")
    }
}

/// Writes the part of a recording that matches: the exchanges that do, whole delegations that do, and
/// what belongs to their sessions.
pub fn export(
    recording: &Recording,
    filter: &Filter,
    header: &Header,
    to: &mut dyn Write,
) -> io::Result<Exported> {
    let mut ids: BTreeSet<ExchangeId> =
        recording.exchanges(filter).iter().map(|exchange| exchange.id).collect();
    for delegation in recording.delegations(filter) {
        ids.extend(&delegation.exchanges);
    }
    let all = recording.exchanges(&Filter::default());
    let chosen: Vec<_> = all.iter().filter(|exchange| ids.contains(&exchange.id)).collect();
    let sessions: HashSet<&str> = chosen.iter().map(|exchange| exchange.session.as_str()).collect();
    let is_whole = chosen.len() == all.len();
    let mut writer = Writer::new(to, header)?;
    for session in recording.sessions() {
        if is_whole || sessions.contains(session.name.as_str()) {
            writer.session(session)?;
        }
    }
    for event in recording.events() {
        if is_whole || sessions.contains(event.session.as_str()) {
            writer.event(event)?;
        }
    }
    for gap in recording.gaps() {
        // A gap of nobody in particular concerns every part of the recording.
        if gap.exchange.is_none_or(|id| ids.contains(&id)) {
            writer.gap(gap)?;
        }
    }
    for exchange in chosen {
        writer.exchange(exchange)?;
    }
    writer.finish().map(|(exported, _)| exported)
}

/// Exports into a file, compressed when its name ends in `.zst`. The file appears when it is whole.
pub fn save(
    recording: &Recording,
    filter: &Filter,
    header: &Header,
    path: &Path,
) -> io::Result<Exported> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let file = BufWriter::new(File::create(&part)?);
    let saved = write_to(recording, filter, header, path, file)
        .and_then(|exported| std::fs::rename(&part, path).map(|()| exported));
    if saved.is_err() {
        // What is half written helps nobody; if it cannot be removed either, the first error counts.
        drop(std::fs::remove_file(&part));
    }
    saved
}

fn write_to(
    recording: &Recording,
    filter: &Filter,
    header: &Header,
    path: &Path,
    mut file: BufWriter<File>,
) -> io::Result<Exported> {
    let is_compressed = path.extension().is_some_and(|ending| ending == "zst");
    let exported = if is_compressed {
        let mut encoder = zstd::stream::write::Encoder::new(&mut file, ZSTD_LEVEL)?;
        let exported = export(recording, filter, header, &mut encoder)?;
        encoder.finish()?;
        exported
    } else {
        export(recording, filter, header, &mut file)?
    };
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(exported)
}

#[derive(Serialize)]
struct SessionLine<'a> {
    name: &'a str,
    instance: InstanceId,
    #[serde(serialize_with = "super::line::time")]
    started: Timestamp,
}

/// A record with a time, which is written as all times in a file are.
struct At<'a, T> {
    at: Timestamp,
    record: &'a T,
}

#[derive(Serialize)]
struct CardLine<'a> {
    agent: &'a str,
    exchange: ExchangeId,
    card: &'a Value,
}

#[derive(Serialize)]
#[serde(transparent)]
struct DelegationLine(Value);

impl DelegationLine {
    fn of(delegation: &Delegation) -> io::Result<Self> {
        let mut line = serde_json::to_value(delegation)?;
        if let Some(started) = line.get_mut("started") {
            *started = format!("{:.6}", delegation.started).into();
        }
        Ok(Self(line))
    }
}

impl<T: Serialize> Serialize for At<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serde_json::to_value(self.record).map_err(serde::ser::Error::custom)?;
        if let Some(at) = line.get_mut("at") {
            *at = format!("{:.6}", self.at).into();
        }
        line.serialize(serializer)
    }
}

/// The card that an exchange brought, as the agent sent it.
fn card(exchange: &Exchange) -> Option<Value> {
    match exchange.operation {
        Operation::AgentCard | Operation::GetExtendedAgentCard => {}
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::PushNotification
        | Operation::Unknown => return None,
    }
    match decode::understand(exchange).answer?.reply? {
        Reply::Card(card) => Some(card.raw),
        Reply::Task(_)
        | Reply::Message(_)
        | Reply::Tasks(_)
        | Reply::PushConfig(_)
        | Reply::PushConfigs { .. }
        | Reply::Empty
        | Reply::Error(_) => None,
    }
}
