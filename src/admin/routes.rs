//! The routes of the admin interface: one table, and what each answers.

use std::io::{self, Write};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router, middleware};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tower::limit::GlobalConcurrencyLimitLayer;

use crate::base::clock::WallClock;
use crate::record::query::{Filter, Recording};

use super::backend::Daemon;
use super::config::Token;
use super::filter::{self, PARAMETERS};
use super::guard::{self, Guard};
use super::problem::Problem;
use super::whole;

/// One route.
pub struct Route {
    /// `GET` or `POST`, for documentation; `serve` takes only this.
    pub method: &'static str,
    /// The path, with `{id}` for what differs.
    pub path: &'static str,
    /// What it answers.
    pub summary: &'static str,
    cost: Cost,
    serve: fn() -> MethodRouter<Desk>,
}

/// What an answer costs the process.
#[derive(Clone, Copy)]
enum Cost {
    /// Next to nothing.
    Little,
    /// It loads the recording.
    Recording,
}

/// Requests that load the recording at once; further ones wait. Each holds it in memory while it answers.
const READERS_MAX: usize = 2;

/// All routes, sorted by path.
pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/agents",
        summary: "The remote agents, where each is served, and where the addresses of its card lead",
        cost: Cost::Little,
        serve: || get(agents),
    },
    Route {
        method: "GET",
        path: "/delegations",
        summary: "Delegations that match a filter, oldest first",
        cost: Cost::Recording,
        serve: || get(delegations),
    },
    Route {
        method: "GET",
        path: "/delegations/{id}",
        summary: "One delegation, with message, reply and events",
        cost: Cost::Recording,
        serve: || get(delegation),
    },
    Route {
        method: "GET",
        path: "/exchanges",
        summary: "Exchanges that match a filter, oldest first",
        cost: Cost::Recording,
        serve: || get(exchanges),
    },
    Route {
        method: "GET",
        path: "/exchanges/{id}",
        summary: "One exchange, as a line of an export",
        cost: Cost::Recording,
        serve: || get(exchange),
    },
    Route {
        method: "GET",
        path: "/export",
        summary: "The whole recording as JSON Lines",
        cost: Cost::Recording,
        serve: || get(export),
    },
    Route {
        method: "POST",
        path: "/flush",
        summary: "Returns when all that ended before is durable and visible",
        cost: Cost::Little,
        serve: || post(flush),
    },
    Route {
        method: "GET",
        path: "/healthz",
        summary: "Whether the process is alive",
        cost: Cost::Little,
        serve: || get(health),
    },
    Route {
        method: "GET",
        path: "/readyz",
        summary: "Whether it serves and records",
        cost: Cost::Little,
        serve: || get(ready),
    },
    Route {
        method: "GET, POST",
        path: "/sessions",
        summary: "The sessions; or make one the default for exchanges that begin later",
        cost: Cost::Recording,
        serve: || get(sessions).post(start_session),
    },
    Route {
        method: "GET",
        path: "/version",
        summary: "Version, process, instance and session",
        cost: Cost::Little,
        serve: || get(version),
    },
];

/// What the handlers share.
#[derive(Clone)]
struct Desk {
    daemon: Arc<dyn Daemon>,
    clock: WallClock,
}

/// The admin interface of this daemon.
pub fn router(daemon: Arc<dyn Daemon>, token: Option<Token>, clock: WallClock) -> Router {
    let readers = GlobalConcurrencyLimitLayer::new(READERS_MAX);
    let router = ROUTES.iter().fold(Router::new(), |router, route| {
        let serve = (route.serve)();
        router.route(
            route.path,
            match route.cost {
                Cost::Little => serve,
                Cost::Recording => serve.layer(readers.clone()),
            },
        )
    });
    router
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(Guard { token }, guard::check))
        .with_state(Desk { daemon, clock })
}

async fn no_such_route() -> Problem {
    let paths: Vec<&str> = ROUTES.iter().map(|route| route.path).collect();
    Problem::new(StatusCode::NOT_FOUND, "no such route")
        .with_hint(format!("known: {}", paths.join(" ")))
}

async fn no_such_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this route does not take that method")
}

async fn health() -> &'static str {
    "ok\n"
}

async fn ready(State(desk): State<Desk>) -> Response {
    match desk.daemon.trouble() {
        None => "ready\n".into_response(),
        Some(trouble) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, trouble).into_response(),
    }
}

async fn version(State(desk): State<Desk>) -> impl IntoResponse {
    Json(desk.daemon.info())
}

async fn agents(State(desk): State<Desk>) -> Result<Response, Problem> {
    let agents = desk.wait(|daemon| Ok(daemon.agents())).await?;
    Ok(Json(agents).into_response())
}

async fn flush(State(desk): State<Desk>) -> Result<StatusCode, Problem> {
    desk.wait(|daemon| daemon.flush().map_err(broken)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn sessions(State(desk): State<Desk>) -> Result<Response, Problem> {
    let sessions = desk.read(|recording| Ok(recording.sessions().to_vec())).await?;
    Ok(Json(sessions).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSession {
    name: String,
}

async fn start_session(State(desk): State<Desk>, body: Bytes) -> Result<Response, Problem> {
    let wanted: NewSession = serde_json::from_slice(&body).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}"))
            .with_hint("send {\"name\": \"NAME\"}")
    })?;
    let session = desk
        .wait(move |daemon| {
            daemon
                .start_session(&wanted.name)
                .map_err(|why| Problem::new(StatusCode::BAD_REQUEST, why))
        })
        .await?;
    Ok((StatusCode::CREATED, Json(session)).into_response())
}

async fn delegations(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let page = Page::read(query, &desk.clock)?;
    let (total, found) =
        desk.read(move |recording| Ok(page.cut(recording.delegations(&page.filter)))).await?;
    let found: Vec<_> = found.iter().map(AsRef::as_ref).collect();
    Ok((total, Json(&found)).into_response())
}

async fn delegation(State(desk): State<Desk>, Path(id): Path<String>) -> Result<Response, Problem> {
    let found = desk.read(move |recording| Ok(recording.delegation(&id)?)).await?;
    let whole = whole::delegation(&found).map_err(|error| broken(error.to_string()))?;
    Ok(Json(whole).into_response())
}

async fn exchanges(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let page = Page::read(query, &desk.clock)?;
    let (total, found) =
        desk.read(move |recording| Ok(page.cut(recording.exchanges(&page.filter)))).await?;
    let found: Vec<_> = found.iter().map(|exchange| whole::exchange(exchange)).collect();
    Ok((total, Json(found)).into_response())
}

async fn exchange(State(desk): State<Desk>, Path(id): Path<String>) -> Result<Response, Problem> {
    let found = desk.read(move |recording| Ok(recording.exchange(&id)?)).await?;
    Ok(Json(whole::exchange(&found)).into_response())
}

/// A page of a listing: a filter, its limit, and how many of the newest are left out.
struct Page {
    filter: Filter,
    limit: Option<usize>,
    offset: usize,
}

impl Page {
    fn read(query: Option<String>, clock: &WallClock) -> Result<Self, Problem> {
        let query = query.unwrap_or_default();
        let (mut filter, offset) = filter::from_query(&query, clock.now()).map_err(|error| {
            let known: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
            Problem::new(StatusCode::BAD_REQUEST, error.to_string())
                .with_hint(format!("known: {}", known.join(", ")))
        })?;
        let limit = filter.limit.take();
        Ok(Self { filter, limit, offset })
    }

    /// How many there are in all, and those of this page.
    fn cut<T>(&self, mut all: Vec<T>) -> ([(HeaderName, HeaderValue); 1], Vec<T>) {
        let total = all.len();
        all.truncate(total.saturating_sub(self.offset));
        if let Some(limit) = self.limit {
            let first = all.len().saturating_sub(limit);
            all.drain(..first);
        }
        ([(HeaderName::from_static("x-total-count"), HeaderValue::from(total))], all)
    }
}

/// Chunks of an export between the thread that reads the store and the connection.
const EXPORT_QUEUE: usize = 8;

async fn export(State(desk): State<Desk>) -> Response {
    let (sender, receiver) = mpsc::channel(EXPORT_QUEUE);
    let daemon = Arc::clone(&desk.daemon);
    // Not awaited: it ends by itself, at the latest when the receiver is gone.
    tokio::task::spawn_blocking(move || {
        let mut pipe = io::BufWriter::with_capacity(64 * 1024, Pipe { sender: sender.clone() });
        let written = daemon.flush().and_then(|()| daemon.export(&mut pipe));
        let flushed = pipe.flush().map_err(|error| error.to_string());
        if let Err(why) = written.and(flushed) {
            // An error in the body breaks the connection off, so a half export is not taken for a whole.
            let broken = sender.blocking_send(Err(io::Error::other(why)));
            drop(broken);
        }
    });
    let body = Body::from_stream(ReceiverStream::new(receiver));
    ([(header::CONTENT_TYPE, "application/jsonl")], body).into_response()
}

/// A writer whose octets become the body of an answer.
struct Pipe {
    sender: mpsc::Sender<io::Result<Bytes>>,
}

impl Write for Pipe {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.sender
            .blocking_send(Ok(Bytes::copy_from_slice(octets)))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Desk {
    /// Does what may wait for a disk, on a thread that may wait.
    async fn wait<T, F>(&self, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Daemon) -> Result<T, Problem> + Send + 'static,
    {
        let daemon = Arc::clone(&self.daemon);
        match tokio::task::spawn_blocking(move || work(daemon.as_ref())).await {
            Ok(result) => result,
            Err(_) => Err(broken("the work was broken off")),
        }
    }

    /// Asks the recording as it stands after a flush.
    async fn read<T, F>(&self, ask: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Recording) -> Result<T, Problem> + Send + 'static,
    {
        self.wait(move |daemon| {
            daemon.flush().map_err(broken)?;
            match daemon.recording()? {
                Some(recording) => ask(&recording),
                None => Err(Problem::new(StatusCode::CONFLICT, "this daemon does not record")
                    .with_hint("set `record: { enabled: true }`")),
            }
        })
        .await
    }
}

fn broken(why: impl Into<String>) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, why)
}
