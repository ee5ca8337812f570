//! The body of an answer to the client: passed on, made here, or worked on as it passes.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use crate::proxy::error::BodyError;
use crate::proxy::passing::Passing;

/// The body of an answer.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the common one: boxing it costs an allocation an exchange"
)]
pub(super) enum ResponseBody {
    /// The agent's, as it comes.
    Passing(Passing),
    /// Made here, whole.
    Made(MadeBody),
    /// Worked on by a future that gives out frames.
    Worked(WorkedBody),
}

/// Frames that are all there.
#[derive(Debug, Default)]
pub(super) struct MadeBody {
    frames: VecDeque<Frame<Bytes>>,
}

/// A body written by a future: it runs while the client waits for octets, and is dropped, wherever it
/// stands, when the client leaves.
pub(super) struct WorkedBody {
    work: Option<Work>,
    out: Outlet,
}

type Work = Pin<Box<dyn Future<Output = Result<(), BodyError>> + Send>>;

/// Where the future of a [`WorkedBody`] puts its frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Outlet(Arc<Mutex<VecDeque<Frame<Bytes>>>>);

impl ResponseBody {
    /// A body without octets that does not say so beforehand. hyper then writes a `Content-Length` as
    /// it is given, also where there can be no body (304, 204).
    pub(super) fn nothing_of_unknown_length() -> Self {
        Self::Worked(WorkedBody::new(|_out| std::future::ready(Ok(()))))
    }
}

impl MadeBody {
    /// Octets and trailers; each only if there are any.
    pub(super) fn new(data: Bytes, trailers: Option<HeaderMap>) -> Self {
        let mut frames = VecDeque::new();
        if !data.is_empty() {
            frames.push_back(Frame::data(data));
        }
        frames.extend(trailers.map(Frame::trailers));
        Self { frames }
    }

    /// The octets, joined: there is at most one frame of them.
    pub(super) fn data(&self) -> Bytes {
        self.frames.iter().find_map(Frame::data_ref).cloned().unwrap_or_default()
    }

    /// The trailers.
    pub(super) fn trailers(&self) -> Option<&HeaderMap> {
        self.frames.iter().find_map(Frame::trailers_ref)
    }

    /// The frames.
    pub(super) fn into_frames(self) -> VecDeque<Frame<Bytes>> {
        self.frames
    }
}

impl WorkedBody {
    /// The body that `work` writes.
    pub(super) fn new<F>(work: impl FnOnce(Outlet) -> F) -> Self
    where
        F: Future<Output = Result<(), BodyError>> + Send + 'static,
    {
        let out = Outlet::default();
        Self { work: Some(Box::pin(work(out.clone()))), out }
    }
}

impl Outlet {
    /// Gives out a frame, and waits until it has been taken.
    pub(super) async fn give(&self, frame: Frame<Bytes>) {
        self.lock().push_back(frame);
        // Nobody needs to be woken: the future is polled by the very task that takes the frames.
        poll_fn(|_cx| if self.lock().is_empty() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Frame<Bytes>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body for WorkedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            if let Some(frame) = self.out.lock().pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            let Some(work) = &mut self.work else { return Poll::Ready(None) };
            match work.as_mut().poll(cx) {
                Poll::Ready(Ok(())) => self.work = None,
                Poll::Ready(Err(error)) => {
                    self.work = None;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Pending if self.out.lock().is_empty() => return Poll::Pending,
                Poll::Pending => {}
            }
        }
    }
}

impl std::fmt::Debug for WorkedBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkedBody").field("is_over", &self.work.is_none()).finish_non_exhaustive()
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Passing(body) => Pin::new(body).poll_frame(cx),
            Self::Made(body) => Poll::Ready(body.frames.pop_front().map(Ok)),
            Self::Worked(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Passing(body) => body.is_end_stream(),
            Self::Made(body) => body.frames.is_empty(),
            Self::Worked(body) => body.work.is_none() && body.out.lock().is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Passing(body) => body.size_hint(),
            Self::Made(body) if body.trailers().is_some() => SizeHint::default(),
            Self::Made(body) => SizeHint::with_exact(body.data().len() as u64),
            Self::Worked(_) => SizeHint::default(),
        }
    }
}
