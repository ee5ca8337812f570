//! Where hyper spawns: on the process's own tasks, so that nothing is detached.

use std::future::Future;

use hyper::rt::Executor;

use crate::base::shutdown::Tasks;

/// An executor whose tasks a stop waits for.
#[derive(Clone, Debug)]
pub struct OnTasks(pub Tasks);

impl<F> Executor<F> for OnTasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.0.spawn(future));
    }
}
