//! Errors of the admin interface, as `application/problem+json` (RFC 9457).

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::record::query::QueryError;

/// One error: a status, what went wrong, and what to try.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    hint: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), hint: None }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        let status = match &error {
            QueryError::NotFound(_) => StatusCode::NOT_FOUND,
            QueryError::Ambiguous { .. } => StatusCode::CONFLICT,
            QueryError::Store(_) | QueryError::Line { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body {
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            hint: self.hint.as_deref(),
        };
        let mut response = (self.status, axum::Json(body)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}
