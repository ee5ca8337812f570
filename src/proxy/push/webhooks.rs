//! The webhooks that are registered: in memory to be found, in the daemon's state to outlive it.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::a2a::webhook::Known;
use crate::base::clock::WallClock;
use crate::base::limits::Limits;
use crate::proxy::push::config::PushConfig;
use crate::proxy::push::token::{Token, TokenDigest};
use crate::record::recorder::RecorderHandle;
use crate::record::store::{EventRecord, Store, StoreError};

/// Where they are in the daemon's state.
const SPACE: &str = "webhooks";

/// How much older than its last use a webhook may seem after a restart: being used is not written down
/// each time.
const TOUCH_EVERY: Duration = Duration::from_hours(24);

/// The registered webhooks. Cheap to clone; all clones hold the same.
#[derive(Clone)]
pub struct Webhooks(Arc<Inner>);

struct Inner {
    config: PushConfig,
    max: usize,
    age: Duration,
    wait: Duration,
    clock: WallClock,
    kept: Option<(Arc<dyn Store>, RecorderHandle)>,
    table: RwLock<Table>,
}

#[derive(Default)]
struct Table {
    rows: HashMap<TokenDigest, Row>,
    /// Rows by their last use.
    ages: BTreeSet<(Timestamp, TokenDigest)>,
    /// How many each agent has.
    agents: HashMap<String, usize>,
}

/// A row of the table, as it is kept: nothing in it is a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    /// The agent that got the address.
    agent: String,
    /// The addresses, encrypted with the token, in base64.
    sealed: String,
    /// The task, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// What stands for the notification token of the config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    /// When it was last used.
    used: Timestamp,
}

/// What is sealed in a row.
#[derive(Serialize, Deserialize)]
struct Addresses {
    /// Ours.
    given: String,
    /// What the orchestrator registered.
    own: String,
    /// Where deliveries go, when that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

/// A webhook that is to be registered.
pub(super) struct Registering<'a> {
    pub(super) agent: &'a str,
    pub(super) token: Token,
    pub(super) given: String,
    pub(super) own: String,
    /// Where deliveries go, when `own` is an address of ours that stands for another.
    pub(super) target: Option<String>,
    pub(super) task: Option<String>,
    pub(super) notification_token: Option<&'a str>,
}

/// A webhook that is registered.
#[derive(Debug)]
pub(super) struct Registered {
    /// Ours and the orchestrator's.
    pub(super) known: Known,
    /// Where deliveries go.
    pub(super) target: String,
    pub(super) task: Option<String>,
    /// What stands for the notification token of its config, which had one.
    tag: Option<String>,
}

/// How a delivery's notification token compares with the one of the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// The same, or none was asked for.
    Fine,
    /// It has none.
    Missing,
    /// It has another.
    Different,
}

impl Webhooks {
    /// Webhooks that are kept in a store's state, with those that it has, and told of to its recorder.
    pub fn kept_in(
        store: Arc<dyn Store>,
        recorder: RecorderHandle,
        config: PushConfig,
        limits: &Limits,
        clock: WallClock,
    ) -> Result<Self, StoreError> {
        let mut table = Table::default();
        if let Some(state) = store.state() {
            state.scan(SPACE, &mut |key, value| {
                let digest = TokenDigest::try_from(key);
                if let (Ok(digest), Ok(row)) = (digest, serde_json::from_slice::<Row>(value)) {
                    table.insert(digest, row);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(Self::with(Some((store, recorder)), table, config, limits, clock))
    }

    /// Webhooks that are forgotten with the process.
    pub fn in_memory(config: PushConfig, limits: &Limits, clock: WallClock) -> Self {
        Self::with(None, Table::default(), config, limits, clock)
    }

    fn with(
        kept: Option<(Arc<dyn Store>, RecorderHandle)>,
        table: Table,
        config: PushConfig,
        limits: &Limits,
        clock: WallClock,
    ) -> Self {
        let Limits { webhooks: max, webhook_age: age, webhook_wait: wait, .. } = *limits;
        Self(Arc::new(Inner { config, max, age, wait, clock, kept, table: RwLock::new(table) }))
    }

    /// What the configuration says.
    pub(in crate::proxy) fn config(&self) -> &PushConfig {
        &self.0.config
    }

    /// Whether any were registered with this agent.
    pub(super) fn has_any(&self, agent: &str) -> bool {
        self.read(|table| table.agents.contains_key(agent))
    }

    /// Registers all of them, or (on an error) none. Returns when they will outlive the process.
    pub(super) async fn register(&self, all: Vec<Registering<'_>>) -> Result<(), String> {
        let now = self.0.clock.now();
        let rows: Vec<_> = all.iter().map(|one| (one.token.digest(), one.row(now))).collect();
        let mut gone = Vec::new();
        {
            let mut table = self.table();
            for (digest, row) in rows.clone() {
                table.insert(digest, row);
            }
            table.drop_old(now, self.0.age, self.0.max, &mut gone);
        }
        let digests: Vec<_> = rows.iter().map(|(digest, _)| *digest).collect();
        let changes = rows.into_iter().map(|(digest, row)| (digest, Some(row)));
        let changes = changes.chain(gone.into_iter().map(|digest| (digest, None))).collect();
        let kept = tokio::time::timeout(self.0.wait, self.keep(changes, Durable::Yes)).await;
        let outcome = kept.unwrap_or_else(|_| {
            Err(format!("the store did not keep it within {} ms", self.0.wait.as_millis()))
        });
        if outcome.is_err() {
            let mut table = self.table();
            for digest in &digests {
                table.remove(digest);
            }
        }
        outcome
    }

    /// The webhook of a token.
    pub(super) fn find(&self, token: &Token) -> Option<Registered> {
        self.read(|table| table.rows.get(&token.digest()).cloned())?.open(token)
    }

    /// Notes that a delivery has come, so that the webhook is young again. `Some`: a change to be kept.
    pub(super) fn touch(&self, token: &Token) -> Option<Change> {
        let (digest, now) = (token.digest(), self.0.clock.now());
        self.change(digest, |row| {
            let age = Duration::try_from(now.duration_since(row.used)).unwrap_or_default();
            let is_due = age >= TOUCH_EVERY;
            if is_due {
                row.used = now;
            }
            is_due
        })
    }

    /// Notes the task of a webhook that was registered before there was one.
    pub(super) fn bind(&self, token: &Token, task: &str) -> Option<Change> {
        self.change(token.digest(), |row| row.task.get_or_insert_with(|| task.to_owned()) == task)
    }

    fn change(&self, digest: TokenDigest, edit: impl FnOnce(&mut Row) -> bool) -> Option<Change> {
        let mut table = self.table();
        let mut row = table.rows.get(&digest)?.clone();
        edit(&mut row).then(|| {
            table.insert(digest, row.clone());
            (digest, Some(row))
        })
    }

    /// Writes a change down, when there is time.
    pub(super) async fn keep_later(self, change: Change) {
        if let Err(error) = self.keep(vec![change], Durable::InTime).await {
            warn!(error, "a change to a webhook is kept in memory only");
        }
    }

    /// Tells the recording that a webhook was not rewritten.
    pub(super) fn tell_not_intercepted(&self, agent: &str, session: &str, text: &str) {
        if let Some((_, recorder)) = &self.0.kept {
            recorder.event(EventRecord {
                name: "webhook_not_intercepted".to_owned(),
                at: self.0.clock.now(),
                session: session.to_owned(),
                agent: agent.to_owned(),
                text: text.to_owned(),
            });
        }
    }

    /// A store blocks, so it is asked on a thread that may wait.
    async fn keep(&self, changes: Vec<Change>, durable: Durable) -> Result<(), String> {
        let Some((store, _)) = &self.0.kept else { return Ok(()) };
        let store = Arc::clone(store);
        let work = move || -> Result<(), StoreError> {
            let Some(state) = store.state() else { return Ok(()) };
            for (digest, row) in changes {
                match row {
                    // A row of texts and numbers always becomes JSON.
                    Some(row) => {
                        let json = serde_json::to_vec(&row).unwrap_or_default();
                        state.put(SPACE, &digest, &json)?;
                    }
                    None => state.delete(SPACE, &digest)?,
                }
            }
            match durable {
                Durable::Yes => store.flush(),
                Durable::InTime => Ok(()),
            }
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done.map_err(|error| format!("the store did not keep it: {error}")),
            Err(_) => Err("the store broke while it kept it".to_owned()),
        }
    }

    fn read<T>(&self, look: impl FnOnce(&Table) -> T) -> T {
        look(&self.0.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn table(&self) -> RwLockWriteGuard<'_, Table> {
        self.0.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is to be written down: a row, or that there is none any more.
pub(super) type Change = (TokenDigest, Option<Row>);

/// Whether a change must be on the disk before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durable {
    Yes,
    /// With whatever is written next.
    InTime,
}

impl Registering<'_> {
    fn row(&self, now: Timestamp) -> Row {
        let Self { given, own, target, .. } = self;
        let addresses =
            Addresses { given: given.clone(), own: own.clone(), target: target.clone() };
        let plain = serde_json::to_vec(&addresses).unwrap_or_default();
        Row {
            agent: self.agent.to_owned(),
            sealed: STANDARD.encode(self.token.seal(&plain)),
            task: self.task.clone(),
            tag: self.notification_token.map(|it| self.token.tag(it.as_bytes())),
            used: now,
        }
    }
}

impl Row {
    fn open(self, token: &Token) -> Option<Registered> {
        let plain = token.seal(&STANDARD.decode(self.sealed).ok()?);
        let Addresses { given, own, target } = serde_json::from_slice(&plain).ok()?;
        let target = target.unwrap_or_else(|| own.clone());
        Some(Registered { known: Known { given, own }, target, task: self.task, tag: self.tag })
    }
}

impl Registered {
    /// Compares what a delivery has with what the config asked for.
    pub(super) fn compare(&self, token: &Token, sent: Option<&[u8]>) -> Compared {
        match (&self.tag, sent) {
            (None, _) => Compared::Fine,
            (Some(_), None) => Compared::Missing,
            (Some(tag), Some(sent)) if token.tag(sent) == *tag => Compared::Fine,
            (Some(_), Some(_)) => Compared::Different,
        }
    }
}

impl Table {
    fn insert(&mut self, digest: TokenDigest, row: Row) {
        self.remove(&digest);
        *self.agents.entry(row.agent.clone()).or_default() += 1;
        self.ages.insert((row.used, digest));
        self.rows.insert(digest, row);
    }

    fn remove(&mut self, digest: &TokenDigest) {
        let Some(row) = self.rows.remove(digest) else { return };
        self.ages.remove(&(row.used, *digest));
        if let Some(count) = self.agents.get_mut(&row.agent) {
            *count -= 1;
            if *count == 0 {
                self.agents.remove(&row.agent);
            }
        }
    }

    /// Drops what was not used for too long, and the oldest of too many.
    fn drop_old(&mut self, now: Timestamp, age: Duration, max: usize, gone: &mut Vec<TokenDigest>) {
        while let Some((used, digest)) = self.ages.first().copied() {
            let is_old = Duration::try_from(now.duration_since(used)).is_ok_and(|it| it > age);
            if !is_old && self.rows.len() <= max {
                return;
            }
            self.remove(&digest);
            gone.push(digest);
        }
    }
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks")
            .field("count", &self.read(|table| table.rows.len()))
            .finish_non_exhaustive()
    }
}
