//! The answer to a failed request: a JSON array of errors, a status and sometimes a header. An
//! internal failure shows only a reference number, which the log repeats.

use std::borrow::Cow;

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tillgate_gateway::access::key_limits::KeyLimit;
use tillgate_gateway::anomalies::RefundError;
use tillgate_gateway::answer::{Answer, Answered, ToShops};
use tillgate_gateway::error_type::ErrorType;
use tillgate_gateway::notifications::outbox::OutboxError;
use tillgate_gateway::payments::CreateError;
use tillgate_gateway::payouts::{ApproveError, EstimateError, LimitError, OfferError};
use tillgate_gateway::rates::RateUnavailable;
use tillgate_gateway::sandbox::CallError;
use tillgate_machine::disk::DiskNearlyFull;
use tillgate_machine::entropy::{Entropy, SystemEntropy};
use tillgate_machine::field_errors::FieldError;
use tillgate_machine::json::Malformed;
use tillgate_store::StoreError;

use super::respond::json_answer;
use super::status::status;

/// Limit of a refusal's body in bytes. Field errors beyond it are only counted.
const LISTED_MAX: usize = 20_000;

/// Limit of characters of a field error's sentence, because some sentences quote the request.
const MESSAGE_MAX: usize = 500;

/// Limit of characters of a field's name.
const FIELD_MAX: usize = 100;

/// `Retry-After` of a 503. Looks and rates are newer by then, if their source answers again.
const RETRY_AFTER_SECONDS: u32 = 10;

/// Bytes kept for the sentence that counts the unlisted errors.
const COUNT_MAX: usize = 200;

/// The answer to a failed request.
#[derive(Debug)]
pub struct Failure {
    status: StatusCode,
    field_errors: Vec<FieldError>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Failure {
    /// An error of the whole request.
    pub fn new(error_type: ErrorType, message: impl Into<String>) -> Self {
        let field_errors = vec![FieldError::general(error_type.as_str(), message)];
        let status = status(error_type);
        let retry = (RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        Self {
            status,
            field_errors,
            header: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(retry),
        }
    }

    /// 400 with every field error.
    pub fn invalid(field_errors: Vec<FieldError>) -> Self {
        Self { status: status(ErrorType::ValidationFailed), field_errors, header: None }
    }

    /// Whether a repetition may succeed, because the database could not be read or written for a
    /// moment.
    pub fn is_for_storage(&self) -> bool {
        self.field_errors.iter().any(|error| error.code == ErrorType::StorageUnavailable.as_str())
    }

    /// 404; `what` names the missing thing ("payment").
    pub fn not_found(what: &str) -> Self {
        Self::new(ErrorType::NotFound, format!("There is no such {what}"))
    }

    /// 401, with the only way to sign in.
    pub fn unauthorized(message: &str) -> Self {
        Self::new(ErrorType::Unauthorized, message).with(
            WWW_AUTHENTICATE,
            HeaderValue::from_static(r#"Basic realm="Tillgate", charset="UTF-8""#),
        )
    }

    /// 429 after too many failed sign-ins.
    pub fn too_many_sign_ins(retry_after_seconds: u32) -> Self {
        let message =
            "Too many failed sign-ins from this address: wait, then sign in with a valid key";
        Self::new(ErrorType::TooManySignIns, message)
            .with(RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// 405. The router adds `Allow`.
    pub fn method_not_allowed(method: &Method) -> Self {
        let message = format!("{method} is not possible here");
        Self::new(ErrorType::MethodNotAllowed, message)
    }

    /// 500: the reason goes to the log under a reference number.
    pub fn internal(reason: &impl std::fmt::Display) -> Self {
        let reference = SystemEntropy
            .id()
            .map_or_else(|_| "unknown".to_owned(), |id| id.to_string()[..12].to_owned());
        tracing::error!(reference, %reason, "a request failed");
        let message = format!("Something went wrong here; the log has it under {reference}");
        Self::new(ErrorType::InternalError, message)
    }

    /// The same answer with one more header.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = json_answer(list(&self.field_errors));
        *response.status_mut() = self.status;
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// The field errors as a JSON array, as many as fit.
fn list(field_errors: &[FieldError]) -> String {
    let mut list = String::from("[");
    for (index, field_error) in field_errors.iter().enumerate() {
        let object = object(field_error).to_string();
        if index > 0 && list.len() + object.len() + COUNT_MAX > LISTED_MAX {
            let message = format!("{} more errors are not listed here", field_errors.len() - index);
            list.push(',');
            list.push_str(
                &json!({ "errorType": field_error.code, "message": message }).to_string(),
            );
            break;
        }
        if index > 0 {
            list.push(',');
        }
        list.push_str(&object);
    }
    list.push(']');
    list
}

fn object(field_error: &FieldError) -> serde_json::Value {
    let mut object =
        json!({ "errorType": field_error.code, "message": cut(&field_error.message, MESSAGE_MAX) });
    if let Some(field) = &field_error.field {
        object["field"] = json!(cut(field, FIELD_MAX));
    }
    object
}

/// The text, cut to its first `max` characters if it is longer.
fn cut(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

impl From<Malformed> for Failure {
    fn from(error: Malformed) -> Self {
        Self::new(ErrorType::MalformedJson, error.to_string())
    }
}

/// The answer to an error of a use case.
fn failure(error: &impl Answered) -> Failure {
    let typed = match error.answer() {
        Answer::Fields(field_errors) => return Failure::invalid(field_errors.into_owned()),
        Answer::Store(error) => return of_store(error),
        Answer::Typed(typed) => typed,
    };
    if typed.error_type == ErrorType::StorageUnavailable {
        tracing::error!(%error, "a request was refused because nothing can be stored");
    }
    let failure = match typed.to_shops {
        ToShops::TheSentence => Failure::new(typed.error_type, error.to_string()),
        ToShops::Instead(sentence) => Failure::new(typed.error_type, sentence),
        ToShops::Reference => Failure::internal(error),
    };
    match typed.retry_after_seconds {
        Some(seconds) => failure.with(RETRY_AFTER, HeaderValue::from(seconds)),
        None => failure,
    }
}

fn of_store(error: &StoreError) -> Failure {
    if !error.is_passing() {
        return Failure::internal(error);
    }
    tracing::error!(%error, "a request was refused because nothing could be stored or read");
    let changed_nothing = "Nothing can be stored or read at the moment, and nothing was changed";
    let message = match error {
        StoreError::TooManyReads | StoreError::OutOfFiles => {
            format!("Nothing can be read at the moment: {error}")
        }
        // SQLite's error may name files, so only the log has it.
        StoreError::CommitFailed(_) => format!("{changed_nothing}: the commit failed"),
        _ => format!("{changed_nothing}: {error}"),
    };
    Failure::new(ErrorType::StorageUnavailable, message)
}

/// Lets `?` answer these errors.
macro_rules! answers {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                failure(&error)
            }
        }
    )+};
}

answers!(
    StoreError,
    KeyLimit,
    DiskNearlyFull,
    OutboxError,
    CreateError,
    OfferError,
    RefundError,
    ApproveError,
    LimitError,
    EstimateError,
    RateUnavailable,
    CallError,
);

#[cfg(test)]
mod tests {
    use tillgate_gateway::gateway::NotWatched;
    use tillgate_gateway::watcher::WatchError;

    use super::*;

    async fn answered(failure: Failure) -> (u16, String) {
        let response = failure.into_response();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn an_internal_failure_shows_only_a_reference_number() {
        let (status, one) =
            answered(StoreError::Corrupt("page 7 of till.db".to_owned()).into()).await;
        let (_, other) = answered(StoreError::BadValue("payments.state").into()).await;
        assert_eq!(status, 500);
        assert!(!one.contains("page 7") && !other.contains("payments.state"), "{one} {other}");
        assert_ne!(one, other, "each has its own number");
    }

    #[tokio::test]
    async fn a_failed_write_is_503() {
        for error in
            [StoreError::DiskFull, StoreError::ReadOnly, StoreError::Locked, StoreError::Closed]
        {
            let (status, body) = answered(error.into()).await;
            assert_eq!(status, 503);
            assert!(body.contains("STORAGE_UNAVAILABLE"), "{body}");
        }
        let in_a_look = WatchError::Outbox(OutboxError::Store(StoreError::DiskFull));
        let (status, body) = answered(CallError::Look(in_a_look).into()).await;
        assert!(status == 503 && body.contains("disk"), "a look behind a sandbox call: {body}");
        let (_, body) = answered(StoreError::DiskFull.into()).await;
        assert!(
            body.contains("disk that holds the database is full"),
            "the cause is named: {body}"
        );
        let source = std::io::Error::from_raw_os_error(24);
        let (_, body) =
            answered(StoreError::Io { action: "opening the database", source }.into()).await;
        assert!(body.contains("opening the database failed: Too many open files"), "{body}");
        for error in [StoreError::TooManyReads, StoreError::OutOfFiles] {
            let cause = error.to_string();
            let (status, body) = answered(error.into()).await;
            assert!(status == 503 && body.contains(&cause), "{body}");
        }
    }

    #[tokio::test]
    async fn shops_do_not_see_why_a_look_could_not_be_stored() {
        let error = CreateError::NotWatched(NotWatched::NotStored(
            tillgate_told::Telling::of_text("tillgate.db: page 7"),
        ));
        let (status, body) = answered(error.into()).await;
        assert_eq!(status, 503);
        assert!(body.contains("STORAGE_UNAVAILABLE") && !body.contains("tillgate.db"), "{body}");
    }

    #[test]
    fn a_long_refusal_lists_what_fits_and_counts_the_rest() {
        let field_error = |n: usize| {
            FieldError::invalid(format!("field{n}"), "must be \u{1}\u{1} something else")
        };
        let few: Vec<FieldError> = (0..3).map(field_error).collect();
        assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&list(&few)).unwrap().len(), 3);
        let many: Vec<FieldError> = (0..8_000).map(field_error).collect();
        let text = list(&many);
        assert!(text.len() <= LISTED_MAX, "{}", text.len());
        let listed: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        let left = format!("{} more errors", 8_000 - (listed.len() - 1));
        assert!(listed.last().unwrap()["message"].as_str().unwrap().starts_with(&left), "{left}");
        let long = [FieldError::invalid("\u{1}".repeat(60_000), "is unknown")];
        assert!(list(&long).len() <= LISTED_MAX);
    }
}
