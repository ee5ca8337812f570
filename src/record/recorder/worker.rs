//! The recorder's thread.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{debug, error, warn};

use super::assembly::{Assembled, Assembly};
use super::body::{Arrival, Budget};
use super::coding::arrived_us;
use super::keeper::Keeper;
use super::sessions::Sessions;
use super::{Command, Commands, locked};
use crate::a2a::problem::Problem;
use crate::base::id::ExchangeId;
use crate::base::limits::Limits;
use crate::record::decode;
use crate::record::exchange::{Exchange, Outcome};
use crate::record::redact::Redactor;
use crate::record::store::{Entry, GapRecord, SessionRecord, StoreError};
use crate::record::tap::{Intake, Lost, Open};

/// How long an exchange whose tap is still held is waited for after its last end.
const SETTLING: Duration = Duration::from_millis(10);
/// Exchanges that are taken in before those of them that have ended are written. Small, so that what was
/// just copied is still near when it is masked and decoded, and a backlog stays in the bounded queue.
const GROUP: usize = 64;
/// Rounds without news before the thread sleeps.
const IDLE_ROUNDS: u32 = 10;

pub(super) struct Worker {
    intake: Intake,
    commands: Commands,
    redactor: Redactor,
    keeper: Keeper,
    limits: Limits,
    sessions: Sessions,
    budget: Budget,
    open: HashMap<ExchangeId, Assembly>,
    /// Those of the open ones that have ended but whose taps are still held.
    settling: BTreeSet<ExchangeId>,
    lost: Lost,
    /// Whether the first lost octets have been spoken of.
    has_warned: bool,
    flushes: Vec<(Instant, Reply)>,
}

type Reply = oneshot::Sender<Result<(), StoreError>>;

impl Worker {
    pub(super) fn new(
        intake: Intake,
        commands: Commands,
        redactor: Redactor,
        keeper: Keeper,
        limits: Limits,
    ) -> Self {
        Self {
            intake,
            commands,
            redactor,
            keeper,
            budget: Budget::new(&limits),
            limits,
            sessions: Sessions::default(),
            open: HashMap::new(),
            settling: BTreeSet::new(),
            lost: Lost::default(),
            has_warned: false,
            flushes: Vec::new(),
        }
    }

    pub(super) fn run(mut self) {
        self.intake.attend();
        let mut idle_rounds = 0;
        loop {
            // Taken before the news, so that a flush covers what had ended when it was asked for.
            let commands = mem::take(&mut locked(&self.commands).waiting);
            let mut stop = None;
            let mut notes = Vec::new();
            for command in commands {
                match command {
                    Command::Write(entry @ Entry::Session(_)) => self.write(entry),
                    Command::Write(entry) => notes.push(entry),
                    Command::Flush(reply) => {
                        self.flushes.push((Instant::now() + SETTLING * 2, reply));
                    }
                    Command::Stop(reply) => stop = Some(reply),
                }
            }
            let has_news = self.round();
            // After the exchanges, whose secrets they may quote.
            for note in notes {
                self.write(note);
            }
            if let Some(reply) = stop {
                self.stop(reply);
                return;
            }
            // The failure is counted, told once, and written down later.
            drop(self.keeper.append());
            self.answer_flushes();
            let is_busy = has_news || !self.settling.is_empty() || !self.flushes.is_empty();
            idle_rounds = if is_busy { 0 } else { idle_rounds + 1 };
            let is_idle = idle_rounds > IDLE_ROUNDS && locked(&self.commands).waiting.is_empty();
            self.intake.sleep((!is_idle).then_some(self.limits.handover_age));
        }
    }

    /// Takes in what has been gathered, and writes what has ended. Returns whether there was anything.
    fn round(&mut self) -> bool {
        let mut news = self.intake.take().into_iter().peekable();
        let has_news = news.peek().is_some();
        while news.peek().is_some() {
            let held = news.by_ref().take(GROUP).map(|open| self.take_in(open)).sum();
            self.finish_settled();
            // Only now: what waits to be written takes room as well.
            self.intake.release(held);
        }
        self.finish_settled();
        self.note_lost();
        has_news
    }

    /// Returns the room that the news had held.
    fn take_in(&mut self, open: Arc<Open>) -> usize {
        let id = open.start.id;
        let taken = open.take();
        let held = taken.held;
        let assembly = self.open.entry(id).or_insert_with(|| Assembly::new(open));
        assembly.take_in(taken, &mut self.budget);
        if assembly.has_ended() {
            assembly.settle(Instant::now() + SETTLING);
            self.settling.insert(id);
        } else {
            self.settling.remove(&id);
            self.look_into(id);
        }
        held
    }

    fn finish_settled(&mut self) {
        if self.settling.is_empty() {
            return;
        }
        let now = Instant::now();
        let settled = |id: &ExchangeId| self.open.get(id).is_none_or(|it| it.is_over(now));
        let over: Vec<ExchangeId> = self.settling.iter().copied().filter(settled).collect();
        for id in over {
            self.finish(id);
        }
    }

    /// While an exchange goes on, others may already repeat its secrets or continue its task.
    fn look_into(&mut self, id: ExchangeId) {
        let Some(assembly) = self.open.get_mut(&id) else { return };
        let instance = self.keeper.instance();
        if assembly.has_request() && !mem::replace(&mut assembly.is_learned, true) {
            let so_far = assembly.so_far(instance, &self.limits).exchange;
            let redactor = &mut self.redactor;
            guarded("learn secrets", || redactor.learn_from(so_far));
        }
        let Some(session) = assembly.open.start.session.clone() else { return };
        if assembly.has_answer_octets() && !mem::replace(&mut assembly.is_peeked, true) {
            let so_far = assembly.so_far(instance, &self.limits).exchange;
            let ids = guarded("read ids", || decode::ids(&so_far)).unwrap_or_default();
            self.sessions.assign(&so_far.agent, &ids, Some(&session), &assembly.open.session);
        }
    }

    /// Masks, decodes and writes an exchange.
    fn finish(&mut self, id: ExchangeId) {
        self.settling.remove(&id);
        let Some(assembly) = self.open.remove(&id) else { return };
        let kept = assembly.kept();
        self.budget.used = self.budget.used.saturating_sub(kept);
        let open = Arc::clone(&assembly.open);
        open.close();
        let instance = self.keeper.instance();
        let Self { redactor, sessions, limits, .. } = self;
        let redacted = guarded("record an exchange", || {
            let Assembled { exchange, ends, arrivals } = assembly.finish(instance, limits);
            redactor.redact(exchange, |exchange| {
                derive(exchange, &ends, &arrivals);
                let named = open.start.session.as_deref();
                exchange.session =
                    sessions.assign(&exchange.agent, &exchange.ids, named, &open.session);
            })
        });
        let Some(redacted) = redacted else {
            // Without masks nothing may be written.
            self.keeper.lose(1, kept as u64, "recorder_error");
            return;
        };
        self.write_exchange(Box::new(redacted));
    }

    fn write_exchange(&mut self, redacted: Box<crate::record::redact::Redacted<Exchange>>) {
        let exchange = redacted.get();
        debug!(exchange = %exchange.id, outcome = ?exchange.outcome, "exchange recorded");
        if self.sessions.is_new(&exchange.session) {
            let Exchange { session, instance, started, .. } = exchange;
            let record =
                SessionRecord { name: session.clone(), instance: *instance, started: *started };
            self.keeper.add(Entry::Session(record));
        }
        let answers = [&exchange.response, &exchange.delivered];
        let gaps = answers.into_iter().flatten().map(|answer| answer.body.gap);
        let bytes = exchange.request.body.gap + gaps.sum::<u64>();
        let gap = (bytes > 0).then(|| GapRecord {
            at: exchange.started,
            instance: exchange.instance,
            exchange: Some(exchange.id),
            bytes,
            exchanges: 0,
            reason: "queue_full".to_owned(),
        });
        self.keeper.add(Entry::Exchange(redacted));
        if let Some(gap) = gap {
            self.keeper.add(Entry::Gap(gap));
        }
    }

    fn write(&mut self, entry: Entry) {
        let entry = match entry {
            Entry::Event(mut event) => {
                self.redactor.mask_text(&mut event.text);
                Entry::Event(event)
            }
            Entry::Session(session) => {
                self.sessions.is_new(&session.name);
                Entry::Session(session)
            }
            Entry::Exchange(_) | Entry::Gap(_) => entry,
        };
        self.keeper.add(entry);
    }

    /// Exchanges that there was no room for at all.
    fn note_lost(&mut self) {
        let lost = self.intake.lost();
        if lost != self.lost && !mem::replace(&mut self.has_warned, true) {
            warn!("the recorder does not keep up; the recording has gaps");
        }
        let exchanges = lost.exchanges - self.lost.exchanges;
        if exchanges > 0 {
            self.keeper.gap(exchanges, "queue_full");
        }
        self.lost = lost;
    }

    fn answer_flushes(&mut self) {
        let now = Instant::now();
        let is_settled = self.settling.is_empty();
        let (due, waiting) = mem::take(&mut self.flushes)
            .into_iter()
            .partition(|(due, _)| is_settled || *due <= now);
        self.flushes = waiting;
        for (_, reply) in due {
            // Whoever asked may have left.
            drop(reply.send(self.keeper.flush()));
        }
    }

    fn stop(&mut self, reply: Reply) {
        self.intake.close();
        self.round();
        let open: Vec<ExchangeId> = self.open.keys().copied().collect();
        for id in open {
            if let Some(assembly) = self.open.get_mut(&id).filter(|it| !it.has_ended()) {
                assembly.stop();
            }
            self.finish(id);
        }
        let flushed = self.keeper.flush();
        if let Err(error) = &flushed {
            error!(error = error as &dyn std::error::Error, "the last of the recording is lost");
        }
        for (_, waiting) in mem::take(&mut self.flushes) {
            drop(waiting.send(Ok(())));
        }
        drop(reply.send(flushed));
    }
}

impl Drop for Worker {
    /// Also when the thread panics: whoever waits for an answer must not wait for ever.
    fn drop(&mut self) {
        self.intake.close();
        self.keeper.close();
        *locked(&self.commands) = super::CommandQueue { waiting: Vec::new(), is_closed: true };
    }
}

fn derive(exchange: &mut Exchange, ends: &decode::Ends, arrivals: &[Vec<Arrival>; 2]) {
    let [response, delivered] = arrivals;
    let response = |offset| arrived_us(response, offset);
    let delivered = |offset| arrived_us(delivered, offset);
    let filled = guarded("decode an exchange", || {
        decode::fill(exchange, ends, [&response, &delivered]);
    });
    if filled.is_none() {
        exchange.outcome = Outcome::Malformed;
        let text = "the decoder failed: this is a mistake of Meddler, please report it";
        exchange.problems.push(Problem::new("decoder_failed", "exchange", text));
    }
}

/// A panic over one exchange ends that exchange and no other.
fn guarded<T>(doing: &str, work: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    if done.is_none() {
        error!("cannot {doing}: a mistake of Meddler, please report it");
    }
    done
}
