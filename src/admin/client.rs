//! How the command line asks a daemon: one request, one connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::net::addr::{Authority, Scheme};
use crate::net::dial::{Connect, Destination, Dialer, OwnAddresses, Port};
use crate::net::tls::{Alpn, ClientTlsConfig};
use crate::net::trouble::Word;
use crate::record::store::SessionRecord;

use super::backend::{AgentInfo, DaemonInfo};
use super::config::Token;

/// A daemon that answers at all answers at once; only a flush or an export takes its time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A daemon's admin listener, from outside.
#[derive(Clone, Debug)]
pub struct Client {
    base: Url,
    token: Option<Token>,
}

/// Why a daemon could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Its address cannot be one.
    #[error("{0} is no address of a daemon")]
    Address(String),
    /// Nobody answers there.
    #[error("no daemon answers at {base}: {why}")]
    Unreachable {
        /// Where it was looked for.
        base: String,
        /// What was met instead.
        why: String,
    },
    /// It did not answer in time.
    #[error("the daemon at {base} did not answer within {}s", limit.as_secs())]
    Timeout {
        /// Which.
        base: String,
        /// The bound.
        limit: Duration,
    },
    /// It said no.
    #[error("the daemon at {base} says: {detail}")]
    Refused {
        /// Which.
        base: String,
        /// The status.
        status: StatusCode,
        /// In its words.
        detail: String,
        /// What it would try.
        hint: Option<String>,
    },
    /// It said something else than a daemon of ours would.
    #[error("what answers at {base} is no Meddler: {why}")]
    NotOurs {
        /// Which.
        base: String,
        /// What is strange about it.
        why: String,
    },
}

#[derive(Deserialize)]
struct Problem {
    detail: String,
    hint: Option<String>,
}

impl ClientError {
    /// What to try, in the daemon's words if it has some.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Refused { hint, .. } => hint.as_deref(),
            Self::Unreachable { .. } | Self::NotOurs { .. } => {
                Some("give the admin address, which `meddler serve` prints when it starts")
            }
            Self::Address(_) | Self::Timeout { .. } => None,
        }
    }
}

impl Client {
    /// The daemon whose admin listener has this URL.
    pub const fn new(base: Url, token: Option<Token>) -> Self {
        Self { base, token }
    }

    /// Who it is.
    pub async fn version(&self) -> Result<DaemonInfo, ClientError> {
        self.json(Method::GET, "version", Bytes::new()).await
    }

    /// What it serves.
    pub async fn agents(&self) -> Result<Vec<AgentInfo>, ClientError> {
        self.json(Method::GET, "agents", Bytes::new()).await
    }

    /// Returns when all that ended before is durable and visible.
    pub async fn flush(&self) -> Result<(), ClientError> {
        self.ask(Method::POST, "flush", Bytes::new()).await.map(drop)
    }

    /// Whether it serves and records; if not, the error says why.
    pub async fn ready(&self) -> Result<(), ClientError> {
        self.ask(Method::GET, "readyz", Bytes::new()).await.map(drop)
    }

    /// The whole recording as JSON Lines.
    pub async fn export(&self) -> Result<Bytes, ClientError> {
        self.ask(Method::GET, "export", Bytes::new()).await
    }

    /// Makes a session the default for exchanges that begin later.
    pub async fn start_session(&self, name: &str) -> Result<SessionRecord, ClientError> {
        let body = serde_json::json!({ "name": name }).to_string();
        self.json(Method::POST, "sessions", body.into()).await
    }

    async fn json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, ClientError> {
        let answer = self.ask(method, path, body).await?;
        serde_json::from_slice(&answer).map_err(|error| self.not_ours(error))
    }

    async fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, ClientError> {
        match tokio::time::timeout(ANSWER_TIMEOUT, self.exchange(method, path, body)).await {
            Ok(answer) => answer,
            Err(_) => {
                Err(ClientError::Timeout { base: self.base.to_string(), limit: ANSWER_TIMEOUT })
            }
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Bytes, ClientError> {
        let request = self.request(method, path, body)?;
        let dialer = Dialer::new(
            ClientTlsConfig::default(),
            CONNECT_TIMEOUT,
            Arc::new(OwnAddresses::default()),
            Port(0),
        );
        let connected = dialer.connect(&self.destination()?, Alpn::Http1).await.map_err(
            |trouble| match trouble.word {
                // Its own words are about agents.
                Word::ConnectRefused => self.unreachable("nobody listens there"),
                Word::Dns
                | Word::ConnectTimeout
                | Word::Tls
                | Word::Reset
                | Word::Closed
                | Word::FirstByteTimeout
                | Word::IdleTimeout
                | Word::Protocol
                | Word::Loop => self.unreachable(trouble),
            },
        )?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(connected.stream))
            .await
            .map_err(|error| self.unreachable(error))?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(|e| self.not_ours(e))?;
            let status = response.status();
            let body = response.into_body().collect().await.map_err(|e| self.not_ours(e))?;
            Ok((status, body.to_bytes()))
        };
        tokio::pin!(answer);
        // The connection is driven here and not on a task of its own: it ends with the answer.
        let (status, body) = tokio::select! {
            answer = &mut answer => answer?,
            ended = connection => {
                ended.map_err(|error| self.unreachable(error))?;
                answer.await?
            }
        };
        if status.is_success() { Ok(body) } else { Err(self.refused(status, &body)) }
    }

    fn destination(&self) -> Result<Destination, ClientError> {
        let authority = self.authority();
        let wrong = || ClientError::Address(self.base.to_string());
        let scheme = Scheme::parse(self.base.scheme()).ok_or_else(wrong)?;
        let authority = Authority::parse(&authority, scheme.default_port()).ok_or_else(wrong)?;
        Ok(Destination { scheme, authority })
    }

    fn authority(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let url = format!("{}/{path}", self.base.path().trim_end_matches('/'));
        let host = self.authority();
        let mut request = Request::builder()
            .method(method)
            .uri(url)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.reveal()));
        }
        request.body(Full::new(body)).map_err(|_| ClientError::Address(self.base.to_string()))
    }

    fn unreachable(&self, why: impl std::fmt::Display) -> ClientError {
        ClientError::Unreachable { base: self.base.to_string(), why: why.to_string() }
    }

    fn not_ours(&self, why: impl std::fmt::Display) -> ClientError {
        ClientError::NotOurs { base: self.base.to_string(), why: why.to_string() }
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> ClientError {
        match serde_json::from_slice::<Problem>(body) {
            Ok(Problem { detail, hint }) => {
                ClientError::Refused { base: self.base.to_string(), status, detail, hint }
            }
            Err(_) => self.not_ours(format!("it answers {status}")),
        }
    }
}
