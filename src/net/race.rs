//! Connecting to a name with several addresses: the next is tried when one has failed or is slow, and the
//! first that answers wins (after RFC 8305). A dead address costs a moment, not the whole bound.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// How long an address is waited for before the next is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);

type Attempt<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The first success, else the last failure; `None` without any address. Cancel safe: what was begun is
/// dropped.
pub(super) async fn first<'a, A, T, E, F>(
    addresses: impl IntoIterator<Item = A>,
    connect: impl Fn(A) -> F,
) -> Option<Result<T, E>>
where
    F: Future<Output = Result<T, E>> + Send + 'a,
{
    let mut waiting = addresses.into_iter();
    let mut running: Vec<Attempt<'a, T, E>> = Vec::new();
    let mut failure = None;
    loop {
        match waiting.next() {
            Some(address) => running.push(Box::pin(connect(address))),
            None if running.is_empty() => return failure.map(Err),
            None => {}
        }
        let is_last = waiting.size_hint().1 == Some(0);
        let next = async {
            if is_last {
                std::future::pending::<()>().await;
            } else {
                tokio::time::sleep(HEAD_START).await;
            }
        };
        // Cancel safe: the attempts live outside.
        tokio::select! {
            (index, outcome) = any(&mut running) => {
                drop(running.swap_remove(index));
                match outcome {
                    Ok(connected) => return Some(Ok(connected)),
                    Err(error) => failure = Some(error),
                }
            }
            () = next => {}
        }
    }
}

/// The first of them that is ready, and its place.
async fn any<T, E>(running: &mut [Attempt<'_, T, E>]) -> (usize, Result<T, E>) {
    poll_fn(|cx| {
        for (index, attempt) in running.iter_mut().enumerate() {
            if let Poll::Ready(outcome) = attempt.as_mut().poll(cx) {
                return Poll::Ready((index, outcome));
            }
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;

    /// What an address does: answer or fail after so many milliseconds, or never.
    async fn connect(after: Option<Result<u64, u64>>) -> Result<u64, u64> {
        match after {
            None => pending().await,
            Some(outcome) => {
                let (Ok(ms) | Err(ms)) = outcome;
                tokio::time::sleep(Duration::from_millis(ms)).await;
                outcome
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_address_costs_a_moment_and_a_refusing_one_nothing() {
        for (addresses, expected, took_ms) in [
            (vec![Some(Ok(10))], Some(Ok(10)), 10),
            (vec![None, Some(Ok(10))], Some(Ok(10)), 260),
            (vec![None, None, Some(Ok(10))], Some(Ok(10)), 510),
            (vec![Some(Err(5)), Some(Ok(10))], Some(Ok(10)), 15),
            (vec![Some(Ok(300)), Some(Ok(100))], Some(Ok(300)), 300),
            (vec![Some(Err(5)), Some(Err(7))], Some(Err(7)), 12),
            (vec![], None, 0),
        ] {
            let begun = Instant::now();
            let outcome = first(addresses.clone(), connect).await;
            assert_eq!(outcome, expected, "{addresses:?}");
            assert_eq!(begun.elapsed(), Duration::from_millis(took_ms), "{addresses:?}");
        }
    }
}
