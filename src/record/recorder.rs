//! From observations to a recording: one thread that puts exchanges together, masks their secrets,
//! decodes them and gives them to the store.
//!
//! A thread of its own, because a store blocks and a decoder computes: neither may hold up the traffic.
//! It comes by every few milliseconds while there is traffic and sleeps when there is none. What the
//! store refuses is lost to the recording, counted, and written down as a gap; the traffic never notices.

mod assembly;
mod body;
mod coding;
mod keeper;
mod live;
mod pieces;
mod sessions;
mod worker;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use tracing::warn;

use self::keeper::{Counters, Keeper};
use self::live::Listeners;
use self::worker::Worker;
use crate::base::clock::WallClock;
use crate::base::id::InstanceId;
use crate::base::limits::Limits;
use crate::record::redact::{RedactConfig, RedactError, Redactor};
use crate::record::store::{Entry, EventRecord, SessionRecord, Store, StoreError};
use crate::record::tap::{Intake, Tap, WhenFull};

pub use self::live::{Listener, Live};

/// Requests to the recorder that wait at once.
const COMMANDS_MAX: usize = 10_000;

/// What a recorder needs to know.
#[derive(Clone, Debug)]
pub struct RecorderConfig {
    /// The bounds.
    pub limits: Limits,
    /// What exchanges do when the queue is full.
    pub when_full: WhenFull,
    /// What is secret.
    pub redact: RedactConfig,
    /// The values of `redact.env`, and the real credentials of agents: known before they are seen.
    pub secrets: Vec<String>,
    /// This run of the daemon.
    pub instance: InstanceId,
    /// The time.
    pub clock: WallClock,
}

/// Why recording could not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration of what is secret cannot be used.
    #[error(transparent)]
    Redact(#[from] RedactError),
    /// The store keeps no key for the digests of what is masked.
    #[error("the store cannot be recorded into: it was opened for reading")]
    NoKey,
    /// The system gives no thread.
    #[error("cannot start the recorder's thread")]
    Thread(#[source] std::io::Error),
}

/// Why a recording could not be flushed.
#[derive(Debug, thiserror::Error)]
pub enum FlushError {
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The recorder has stopped.
    #[error("the recorder has stopped")]
    Stopped,
}

/// A session cannot have this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session cannot be called `{0}`: 1 to 64 of A-Z a-z 0-9 . _ - are allowed")]
pub struct SessionNameError(pub String);

/// What the recorder has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    /// Exchanges that the store has taken.
    pub exchanges: u64,
    /// Octets that the queue had no room for.
    pub lost_bytes: u64,
    /// Exchanges that the queue had no room for at all.
    pub lost_exchanges: u64,
    /// Exchanges that the store did not take.
    pub unstored_exchanges: u64,
}

/// The running recorder. Cheap to clone; when the last handle is gone, recording ends.
#[derive(Clone)]
pub struct RecorderHandle(Arc<Inner>);

struct Inner {
    intake: Intake,
    commands: Commands,
    listeners: Arc<Listeners>,
    counters: Arc<Counters>,
    instance: InstanceId,
    clock: WallClock,
    first_session: String,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct CommandQueue {
    waiting: Vec<Command>,
    /// Nobody will look any more.
    is_closed: bool,
}

/// What is asked of the recorder's thread.
enum Command {
    Write(Entry),
    Flush(oneshot::Sender<Result<(), StoreError>>),
    Stop(oneshot::Sender<Result<(), StoreError>>),
}

type Commands = Arc<Mutex<CommandQueue>>;

/// Begins to record into a store, in a session called after the time.
pub fn start(
    config: RecorderConfig,
    store: Arc<dyn Store>,
) -> Result<(Tap, RecorderHandle), StartError> {
    let RecorderConfig { limits, when_full, redact, secrets, instance, clock } = config;
    let key = store.digest_key().ok_or(StartError::NoKey)?;
    let mut redactor = Redactor::new(&redact, key, limits.learned_secrets)?;
    for secret in &secrets {
        redactor.learn(secret);
    }
    let (tap, intake) = Tap::new(&limits, when_full);
    let listeners = Arc::new(Listeners::default());
    let counters = Arc::new(Counters::default());
    let commands = Commands::default();
    let keeper =
        Keeper::new(store, instance, clock.clone(), Arc::clone(&listeners), Arc::clone(&counters));
    let first_session = clock.now().strftime("run-%Y%m%dT%H%M%S.%3fZ").to_string();
    let worker = Worker::new(intake.clone(), Arc::clone(&commands), redactor, keeper, limits);
    let inner = Inner {
        intake,
        commands,
        listeners,
        counters,
        instance,
        clock,
        first_session: first_session.clone(),
        thread: Mutex::new(None),
    };
    let handle = RecorderHandle(Arc::new(inner));
    handle.open_session(first_session);
    let thread = std::thread::Builder::new()
        .name("recorder".to_owned())
        .spawn(move || worker.run())
        .map_err(StartError::Thread)?;
    *locked(&handle.0.thread) = Some(thread);
    Ok((tap, handle))
}

impl RecorderHandle {
    /// Returns when every exchange that had ended is stored, durable and visible to readers.
    pub async fn flush(&self) -> Result<(), FlushError> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Command::Flush(reply));
        answer.await.map_err(|_| FlushError::Stopped)?.map_err(FlushError::Store)
    }

    /// Ends the recording: what is open is recorded as open at the stop, everything is flushed. Taps
    /// record nothing afterwards. A second stop finds nothing to do.
    pub async fn stop(&self) -> Result<(), FlushError> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Command::Stop(reply));
        let Ok(flushed) = answer.await else { return Ok(()) };
        if let Some(thread) = locked(&self.0.thread).take() {
            // The answer was the last thing it did.
            drop(thread.join());
        }
        flushed.map_err(FlushError::Store)
    }

    /// Makes this the session of exchanges that begin from now on. An existing one goes on.
    pub fn session_start(&self, name: &str) -> Result<SessionRecord, SessionNameError> {
        if !sessions::is_name(name) {
            return Err(SessionNameError(name.to_owned()));
        }
        Ok(self.open_session(name.to_owned()))
    }

    /// Returns to the session that was opened at the start, and names it.
    pub fn session_stop(&self) -> String {
        self.0.intake.set_session(self.0.first_session.clone());
        self.0.first_session.clone()
    }

    /// The session of exchanges that begin now.
    pub fn session(&self) -> String {
        self.0.intake.session().to_string()
    }

    /// Records something that is no exchange.
    pub fn event(&self, event: EventRecord) {
        self.0.send(Command::Write(Entry::Event(event)));
    }

    /// Hears of exchanges as they end.
    pub fn subscribe(&self) -> Listener {
        self.0.listeners.subscribe()
    }

    /// What has been recorded and lost.
    pub fn counts(&self) -> RecorderCounts {
        let lost = self.0.intake.lost();
        RecorderCounts {
            exchanges: self.0.counters.stored.load(Ordering::Relaxed),
            lost_bytes: lost.bytes,
            lost_exchanges: lost.exchanges,
            unstored_exchanges: self.0.counters.unstored.load(Ordering::Relaxed),
        }
    }

    fn open_session(&self, name: String) -> SessionRecord {
        let Inner { instance, clock, .. } = &*self.0;
        let session = SessionRecord { name, instance: *instance, started: clock.now() };
        self.0.send(Command::Write(Entry::Session(session.clone())));
        self.0.intake.set_session(session.name.clone());
        session
    }
}

impl Inner {
    fn send(&self, command: Command) {
        let mut commands = locked(&self.commands);
        let is_entry = matches!(command, Command::Write(_));
        if commands.is_closed {
            return;
        }
        if is_entry && commands.waiting.len() >= COMMANDS_MAX {
            warn!("the recorder is behind; an event is not recorded");
            return;
        }
        commands.waiting.push(command);
        drop(commands);
        self.intake.wake();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody waits for the answer: the thread writes what it has and ends.
        let (reply, _) = oneshot::channel();
        self.send(Command::Stop(reply));
    }
}

impl fmt::Debug for RecorderHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecorderHandle").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
