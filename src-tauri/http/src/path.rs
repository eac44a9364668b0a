//! Parameters in a request's path.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use tillgate_domain::id::Id;

use super::error::Failure;

/// A record's id. A text that is not an id is answered 404.
pub struct RecordId(pub Id);

impl<S: Send + Sync> FromRequestParts<S> for RecordId {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Failure::not_found("record"))?;
        text.parse().map(Self).map_err(|_| Failure::not_found("record"))
    }
}

/// `{limit}/{offset}`, not yet validated.
pub struct PageOf {
    pub limit: String,
    pub offset: String,
}

impl<S: Send + Sync> FromRequestParts<S> for PageOf {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path((limit, offset)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|_| Failure::not_found("path"))?;
        Ok(Self { limit, offset })
    }
}
