//! Errors of the protocol, and how each binding numbers them (A2A 1.0, section 3.3.2 and 5.4).

use std::fmt;

use serde_json::Value;

/// An error as an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct A2aError {
    /// Which error; `None` when no number or name tells.
    pub kind: Option<ErrorKind>,
    /// Whether nothing that came names the kind, so that it follows from status and operation only.
    pub is_inferred: bool,
    /// The JSON-RPC code that came, or the one the error's row names.
    pub code: Option<i64>,
    /// The HTTP status that came.
    pub http_status: Option<u16>,
    /// The gRPC status that came.
    pub grpc_status: Option<GrpcCode>,
    /// What it says.
    pub message: String,
    /// JSON-RPC's `data`, HTTP+JSON's `details`, gRPC's status details as JSON.
    pub details: Option<Value>,
}

/// An error that the protocol or JSON-RPC names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the specification's own")]
pub enum ErrorKind {
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    ExtendedAgentCardNotConfigured,
    ExtensionSupportRequired,
    VersionNotSupported,
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
}

/// A gRPC status code (0 to 16).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GrpcCode(u8);

/// One row of the error table.
struct Row {
    kind: ErrorKind,
    name: &'static str,
    code: i64,
    http: u16,
    grpc: &'static str,
    reason: &'static str,
    /// What the official 0.3 SDK's HTTP+JSON server answers instead.
    http_v0_3: u16,
    /// What the official 0.3 SDK's gRPC server answers instead.
    grpc_v0_3: &'static str,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { kind: ErrorKind::TaskNotFound, name: "TaskNotFoundError", code: -32001, http: 404, grpc: "NOT_FOUND", reason: "TASK_NOT_FOUND", http_v0_3: 404, grpc_v0_3: "NOT_FOUND" },
    Row { kind: ErrorKind::TaskNotCancelable, name: "TaskNotCancelableError", code: -32002, http: 400, grpc: "FAILED_PRECONDITION", reason: "TASK_NOT_CANCELABLE", http_v0_3: 409, grpc_v0_3: "UNIMPLEMENTED" },
    Row { kind: ErrorKind::PushNotificationNotSupported, name: "PushNotificationNotSupportedError", code: -32003, http: 400, grpc: "FAILED_PRECONDITION", reason: "PUSH_NOTIFICATION_NOT_SUPPORTED", http_v0_3: 501, grpc_v0_3: "UNIMPLEMENTED" },
    Row { kind: ErrorKind::UnsupportedOperation, name: "UnsupportedOperationError", code: -32004, http: 400, grpc: "FAILED_PRECONDITION", reason: "UNSUPPORTED_OPERATION", http_v0_3: 501, grpc_v0_3: "UNIMPLEMENTED" },
    Row { kind: ErrorKind::ContentTypeNotSupported, name: "ContentTypeNotSupportedError", code: -32005, http: 400, grpc: "INVALID_ARGUMENT", reason: "CONTENT_TYPE_NOT_SUPPORTED", http_v0_3: 415, grpc_v0_3: "UNIMPLEMENTED" },
    Row { kind: ErrorKind::InvalidAgentResponse, name: "InvalidAgentResponseError", code: -32006, http: 500, grpc: "INTERNAL", reason: "INVALID_AGENT_RESPONSE", http_v0_3: 502, grpc_v0_3: "INTERNAL" },
    Row { kind: ErrorKind::ExtendedAgentCardNotConfigured, name: "ExtendedAgentCardNotConfiguredError", code: -32007, http: 400, grpc: "FAILED_PRECONDITION", reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED", http_v0_3: 404, grpc_v0_3: "FAILED_PRECONDITION" },
    Row { kind: ErrorKind::ExtensionSupportRequired, name: "ExtensionSupportRequiredError", code: -32008, http: 400, grpc: "FAILED_PRECONDITION", reason: "EXTENSION_SUPPORT_REQUIRED", http_v0_3: 400, grpc_v0_3: "FAILED_PRECONDITION" },
    Row { kind: ErrorKind::VersionNotSupported, name: "VersionNotSupportedError", code: -32009, http: 400, grpc: "FAILED_PRECONDITION", reason: "VERSION_NOT_SUPPORTED", http_v0_3: 400, grpc_v0_3: "FAILED_PRECONDITION" },
    Row { kind: ErrorKind::ParseError, name: "JSONParseError", code: -32700, http: 400, grpc: "INVALID_ARGUMENT", reason: "PARSE_ERROR", http_v0_3: 400, grpc_v0_3: "INTERNAL" },
    Row { kind: ErrorKind::InvalidRequest, name: "InvalidRequestError", code: -32600, http: 400, grpc: "INVALID_ARGUMENT", reason: "INVALID_REQUEST", http_v0_3: 400, grpc_v0_3: "INVALID_ARGUMENT" },
    Row { kind: ErrorKind::MethodNotFound, name: "MethodNotFoundError", code: -32601, http: 404, grpc: "UNIMPLEMENTED", reason: "METHOD_NOT_FOUND", http_v0_3: 404, grpc_v0_3: "NOT_FOUND" },
    Row { kind: ErrorKind::InvalidParams, name: "InvalidParamsError", code: -32602, http: 400, grpc: "INVALID_ARGUMENT", reason: "INVALID_PARAMS", http_v0_3: 422, grpc_v0_3: "INVALID_ARGUMENT" },
    Row { kind: ErrorKind::Internal, name: "InternalError", code: -32603, http: 500, grpc: "INTERNAL", reason: "INTERNAL_ERROR", http_v0_3: 500, grpc_v0_3: "INTERNAL" },
];

/// The names of the gRPC status codes, by number.
#[rustfmt::skip]
const GRPC_NAMES: &[&str] = &[
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
];

impl ErrorKind {
    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.kind)
    }

    /// The error with this JSON-RPC code.
    pub fn of_code(code: i64) -> Option<Self> {
        ROWS.iter().find(|row| row.code == code).map(|row| row.kind)
    }

    /// The error with this `ErrorInfo` reason.
    pub fn of_reason(reason: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.reason == reason).map(|row| row.kind)
    }

    /// The error of this name, with or without its `Error`.
    pub fn of_name(name: &str) -> Option<Self> {
        ROWS.iter()
            .find(|row| row.name == name || row.name.strip_suffix("Error") == Some(name))
            .map(|row| row.kind)
    }

    /// Its name: `TaskNotFoundError`.
    pub fn name(self) -> &'static str {
        self.row().map_or("", |row| row.name)
    }

    /// Its JSON-RPC code.
    pub fn code(self) -> i64 {
        self.row().map_or(-32603, |row| row.code)
    }

    /// Its HTTP status in 1.0.
    pub fn http_status(self) -> u16 {
        self.row().map_or(500, |row| row.http)
    }

    /// Its HTTP status as the official 0.3 SDK answers.
    pub fn http_status_v0_3(self) -> u16 {
        self.row().map_or(500, |row| row.http_v0_3)
    }

    /// Its gRPC status in 1.0.
    pub fn grpc_status(self) -> GrpcCode {
        self.row().and_then(|row| GrpcCode::of_name(row.grpc)).unwrap_or(GrpcCode::INTERNAL)
    }

    /// Its gRPC status as the official 0.3 SDK answers.
    pub fn grpc_status_v0_3(self) -> GrpcCode {
        self.row().and_then(|row| GrpcCode::of_name(row.grpc_v0_3)).unwrap_or(GrpcCode::INTERNAL)
    }

    /// Its `ErrorInfo` reason.
    pub fn reason(self) -> &'static str {
        self.row().map_or("", |row| row.reason)
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.kind == self)
    }
}

impl GrpcCode {
    /// 13
    pub const INTERNAL: Self = Self(13);
    /// 0
    pub const OK: Self = Self(0);
    /// 14
    pub const UNAVAILABLE: Self = Self(14);
    /// 2
    pub const UNKNOWN: Self = Self(2);

    /// The code of this number; `None` above 16.
    pub fn new(number: u8) -> Option<Self> {
        (usize::from(number) < GRPC_NAMES.len()).then_some(Self(number))
    }

    /// The code of this name or number, any case.
    pub fn of_name(name: &str) -> Option<Self> {
        if let Ok(number) = name.parse() {
            return Self::new(number);
        }
        let upper = name.to_ascii_uppercase();
        let upper = if upper == "CANCELED" { "CANCELLED" } else { &upper };
        let number = GRPC_NAMES.iter().position(|known| *known == upper)?;
        u8::try_from(number).ok().map(Self)
    }

    /// The code that stands for an HTTP status where there is no gRPC status
    /// (gRPC's `http-grpc-status-mapping.md`).
    pub fn of_http(status: u16) -> Self {
        match status {
            400 => Self::INTERNAL,
            401 => Self(16),
            403 => Self(7),
            404 => Self(12),
            429 | 502 | 503 | 504 => Self::UNAVAILABLE,
            _ => Self::UNKNOWN,
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its name: `NOT_FOUND`.
    pub fn name(self) -> &'static str {
        GRPC_NAMES.get(usize::from(self.0)).copied().unwrap_or("UNKNOWN")
    }

    /// The HTTP status that stands for it on the HTTP bindings: the reverse of
    /// [`of_http`](Self::of_http), completed by `google.rpc.Code`'s own mapping.
    pub fn http_status(self) -> u16 {
        match self.0 {
            0 => 200,
            1 => 499,
            3 | 9 | 11 => 400,
            4 => 504,
            5 => 404,
            6 | 10 => 409,
            7 => 403,
            8 => 429,
            12 => 501,
            14 => 503,
            16 => 401,
            _ => 500,
        }
    }
}

impl fmt::Display for GrpcCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for GrpcCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl A2aError {
    /// The error of this kind, with the numbers that 1.0 gives it.
    pub fn of(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind: Some(kind),
            is_inferred: false,
            code: Some(kind.code()),
            http_status: None,
            grpc_status: None,
            message: message.into(),
            details: None,
        }
    }
}
