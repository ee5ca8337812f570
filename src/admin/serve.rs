//! The admin listener: accepts, serves, and stops with everything else.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tracing::debug;

use crate::base::shutdown::Tasks;
use crate::net::listen::{Accepted, Listener};

/// Serves the router on the listener until stopping begins. Requests in hand are finished.
pub async fn serve(listener: Listener, router: Router, tasks: Tasks) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = tasks.draining() => return,
        };
        let Some(accepted) = accepted else { return };
        tasks.spawn(connection(accepted, router.clone(), tasks.clone()));
    }
}

async fn connection(accepted: Accepted, router: Router, tasks: Tasks) {
    let Accepted { socket, peer, permit } = accepted;
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = tasks.draining() => {
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                ended = serving.as_mut() => ended,
                () = tasks.cut() => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        debug!(%peer, %error, "an admin connection broke off");
    }
    drop(permit);
}
