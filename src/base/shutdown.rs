//! How the daemon stops: stop accepting, drain, cut, flush.
//!
//! Every task is spawned on a [`Tasks`], so that nothing is detached and stopping can wait for all.
//! Two signals: `draining` (finish what you have, take nothing new) and `cut` (end now). Stopping is
//! `drain`, wait for the grace period, `cut`, wait again.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks of the process and the two signals that end them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    draining: CancellationToken,
    cut: CancellationToken,
}

/// How a [`Tasks::stop`] went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// All tasks ended within the grace period.
    Drained,
    /// This many were still running and were told to end at once.
    Cut(usize),
}

impl Tasks {
    /// No tasks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a task that [`stop`](Self::stop) will wait for.
    #[expect(clippy::disallowed_methods, reason = "this is the place that spawns for all others")]
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tokio::spawn(self.tracker.track_future(task))
    }

    /// Resolves when nothing new should be begun. Cancel safe.
    pub async fn draining(&self) {
        self.draining.cancelled().await;
    }

    /// Resolves when everything must end at once. Cancel safe.
    pub async fn cut(&self) {
        self.cut.cancelled().await;
    }

    /// Whether stopping has begun.
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Begins to stop, without waiting.
    pub fn drain(&self) {
        self.draining.cancel();
        self.tracker.close();
    }

    /// Stops: drains for at most `grace`, then cuts and waits until every task has ended.
    ///
    /// `hurry` skips what is left of the grace period: the second Ctrl-C.
    pub async fn stop(&self, grace: Duration, hurry: impl Future<Output = ()>) -> Stopped {
        self.drain();
        tokio::select! {
            () = self.tracker.wait() => return Stopped::Drained,
            () = tokio::time::sleep(grace) => {}
            () = hurry => {}
        }
        let left = self.tracker.len();
        self.cut.cancel();
        self.tracker.wait().await;
        Stopped::Cut(left)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ends_in_time_is_waited_for() {
        let tasks = Tasks::new();
        let inner = tasks.clone();
        tasks.spawn(async move {
            inner.draining().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        });
        assert_eq!(tasks.stop(Duration::from_secs(5), pending()).await, Stopped::Drained);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_lingers_is_cut_and_counted() {
        let tasks = Tasks::new();
        let inner = tasks.clone();
        tasks.spawn(async move { inner.cut().await });
        assert_eq!(tasks.stop(Duration::from_secs(5), pending()).await, Stopped::Cut(1));
    }
}
