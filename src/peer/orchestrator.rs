//! A small orchestrator: reads a card and delegates, on the binding it is told.
//!
//! HTTP goes through hyper's own client and gRPC through tonic, not through Meddler's network code: a
//! second opinion on what the proxy and the scripted agents put on the wire.

use bytes::{BufMut, Bytes, BytesMut};
use http::uri::PathAndQuery;
use http::{HeaderMap, Request as HttpRequest, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio_stream::StreamExt;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;
use tonic::transport::Endpoint;

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::call::{self, Answer, Call, Head, WireRequest, WireView};
use crate::a2a::model::{AgentCard, AgentInterface, Operation, Request};
use crate::a2a::{detect, dialect};

/// Delegates to remote agents.
#[derive(Clone, Debug)]
pub struct Orchestrator {
    http: Client<HttpConnector, Full<Bytes>>,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The answer as understood.
    pub answer: Answer,
    /// The HTTP status (gRPC: 200).
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The address in the card leads nowhere.
    #[error("`{url}` is no address: {why}")]
    Address {
        /// As the card has it.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The card names a binding that A2A does not have.
    #[error("unknown binding `{0}` in the card")]
    Binding(String),
    /// There is no card.
    #[error("{url} answered {status} where the agent card should be")]
    NoCard {
        /// Where it was looked for.
        url: String,
        /// What was answered.
        status: StatusCode,
    },
    /// The connection failed.
    #[error("no answer from {url}")]
    Http {
        /// Who was called.
        url: String,
        /// What happened.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Default for Orchestrator {
    fn default() -> Self {
        Self { http: Client::builder(TokioExecutor::new()).build_http() }
    }
}

impl Orchestrator {
    /// The card of the agent at `base`.
    pub async fn card(&self, base: &str) -> Result<AgentCard, DriveError> {
        let url = format!("{}/.well-known/agent-card.json", base.trim_end_matches('/'));
        let request = HttpRequest::get(address(&url)?).body(Full::default());
        let request = request.map_err(|error| wrong_address(&url, &error))?;
        let (status, _, body) = self.fetch(&url, request).await?;
        let card = serde_json::from_slice(&body).ok().filter(|_| status.is_success());
        let card = card.ok_or(DriveError::NoCard { url, status })?;
        Ok(dialect::read_card(&card, &mut Vec::new()))
    }

    /// Calls an operation at an interface of a card, and waits for the whole answer.
    pub async fn call(
        &self,
        interface: &AgentInterface,
        operation: Operation,
        request: &Request,
    ) -> Result<Heard, DriveError> {
        let binding = Binding::parse(&interface.protocol_binding)
            .ok_or_else(|| DriveError::Binding(interface.protocol_binding.clone()))?;
        let version =
            ProtocolVersion::parse(&interface.protocol_version).unwrap_or(ProtocolVersion::V0_3);
        let wire = call::write_request(binding, version, operation, request, "1");
        match binding {
            Binding::JsonRpc | Binding::HttpJson => self.call_http(&interface.url, wire).await,
            Binding::Grpc => call_grpc(&interface.url, wire).await,
        }
    }

    async fn call_http(&self, base: &str, wire: WireRequest) -> Result<Heard, DriveError> {
        let url = match &*wire.path {
            "" => base.to_owned(),
            path => format!("{}{path}", base.trim_end_matches('/')),
        };
        let call = understood(&wire, &url)?;
        let mut request = HttpRequest::new(Full::new(wire.body));
        *request.method_mut() = wire.method;
        *request.uri_mut() = address(&url)?;
        *request.headers_mut() = wire.headers;
        let (status, headers, body) = self.fetch(&url, request).await?;
        let view = WireView { status, headers: &headers, body: &body, trailers: None };
        Ok(Heard { answer: call::read_answer(&call, view), status, headers })
    }

    async fn fetch(
        &self,
        url: &str,
        request: HttpRequest<Full<Bytes>>,
    ) -> Result<(StatusCode, HeaderMap, Bytes), DriveError> {
        let failed = |source| DriveError::Http { url: url.to_owned(), source };
        let response = self.http.request(request).await.map_err(|error| failed(error.into()))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| failed(error.into()))?;
        Ok((head.status, head.headers, body.to_bytes()))
    }
}

async fn call_grpc(target: &str, wire: WireRequest) -> Result<Heard, DriveError> {
    let call = understood(&wire, target)?;
    let failed = |source| DriveError::Http { url: target.to_owned(), source };
    let url = if target.contains("://") { target.to_owned() } else { format!("http://{target}") };
    let endpoint = Endpoint::from_shared(url).map_err(|error| wrong_address(target, &error))?;
    let channel = endpoint.connect().await.map_err(|error| failed(error.into()))?;
    let mut client = Grpc::new(channel);
    client.ready().await.map_err(|error| failed(error.into()))?;
    let path: PathAndQuery = wire.path.parse().map_err(|error| wrong_address(target, &error))?;
    let message = wire.body.get(5..).map(Bytes::copy_from_slice).unwrap_or_default();
    let mut request = tonic::Request::new(message);
    *request.metadata_mut() = MetadataMap::from_headers(own_fields(&wire.headers));
    let stream = match client.server_streaming(request, path, Octets).await {
        Ok(stream) => stream,
        Err(status) => return Ok(heard_grpc(&call, HeaderMap::new(), &[], &status)),
    };
    let headers = stream.metadata().clone().into_headers();
    let mut stream = stream.into_inner();
    let mut body = BytesMut::new();
    let mut ended = tonic::Status::ok("");
    while let Some(next) = stream.next().await {
        match next {
            Ok(message) => {
                body.put_u8(0);
                body.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
                body.put(message);
            }
            Err(status) => ended = status,
        }
    }
    Ok(heard_grpc(&call, headers, &body, &ended))
}

/// What tonic made of trailers, as trailers again: the reader wants the wire.
fn heard_grpc(call: &Call, headers: HeaderMap, body: &[u8], status: &tonic::Status) -> Heard {
    let mut trailers = HeaderMap::new();
    if status.add_header(&mut trailers).is_err() {
        tracing::debug!(code = ?status.code(), "a gRPC status that fits no header field");
    }
    let view =
        WireView { status: StatusCode::OK, headers: &headers, body, trailers: Some(&trailers) };
    Heard { answer: call::read_answer(call, view), status: StatusCode::OK, headers }
}

/// The request as its receiver would understand it: what an answer is read against.
fn understood(wire: &WireRequest, url: &str) -> Result<Call, DriveError> {
    let path = if wire.path.is_empty() { "/" } else { &wire.path };
    let uri: Uri = path.parse().map_err(|error| wrong_address(url, &error))?;
    let head = Head { method: &wire.method, uri: &uri, headers: &wire.headers };
    Ok(call::read_call(head, &detect::recognize(head), &wire.body))
}

/// The fields that tonic does not set itself.
fn own_fields(headers: &HeaderMap) -> HeaderMap {
    let mut own = headers.clone();
    for name in [http::header::CONTENT_TYPE, http::header::TE, http::header::CONTENT_LENGTH] {
        own.remove(name);
    }
    own
}

fn address(url: &str) -> Result<Uri, DriveError> {
    url.parse().map_err(|error| wrong_address(url, &error))
}

fn wrong_address(url: &str, why: &dyn std::fmt::Display) -> DriveError {
    DriveError::Address { url: url.to_owned(), why: why.to_string() }
}

/// Messages as octets, since the dialects read and write them.
#[derive(Clone, Copy, Debug, Default)]
struct Octets;

impl Codec for Octets {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Octets {
    type Item = Bytes;
    type Error = tonic::Status;

    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Octets {
    type Item = Bytes;
    type Error = tonic::Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, tonic::Status> {
        use bytes::Buf;
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
