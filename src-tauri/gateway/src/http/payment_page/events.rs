//! The page's server-sent events: its changing part, whole, whenever it changed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use serde_json::json;
use tillgate_domain::id::Id;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use super::stream_slots::StreamSlot;
use super::texts::ENGLISH;
use super::view::View;
use super::{html, load};
use crate::gateway::Gateway;

/// A line that keeps proxies from closing a connection on which nothing happens.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Under load every commit changes something: a page looks no more often than this.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(250);

/// Without any change a page still looks this often: the deadline passes without one.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(20);

/// Events that wait for a slow reader.
const WAITING_MAX: usize = 4;

/// The events of one page. The first comes at once: it makes good what happened since the page was made.
pub(super) fn stream(
    gateway: Arc<Gateway>,
    id: Id,
    slot: StreamSlot,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (events, waiting) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        tokio::select! {
            () = slot.must_be_given_up() => {}
            () = follow(&gateway, id, &events) => {}
        }
    });
    Sse::new(ReceiverStream::new(waiting)).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

/// Sends what changed until the page is closed.
async fn follow(gateway: &Gateway, id: Id, events: &mpsc::Sender<Result<Event, Infallible>>) {
    let id = id.to_string();
    let mut changes = gateway.changes.subscribe();
    let mut shown = String::new();
    loop {
        changes.borrow_and_update();
        match load(gateway, &id) {
            Ok(Some(view)) => {
                let now = view.fingerprint();
                if now != shown {
                    shown = now;
                    if events.send(Ok(event_of(&view))).await.is_err() {
                        return;
                    }
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::error!(%error, "a payment page cannot be kept up to date");
                return;
            }
        }
        tokio::select! {
            () = events.closed() => return,
            () = sleep(LOOK_AT_MOST_EVERY) => {}
        }
        tokio::select! {
            () = events.closed() => return,
            // The end of the wait is a reason to look as good as a change.
            _ = timeout(LOOK_AT_LEAST_EVERY, changes.changed()) => {}
        }
    }
}

fn event_of(view: &View) -> Event {
    let payment = json!({ "html": html::payment(view, &ENGLISH).into_string() });
    Event::default().event("payment").data(payment.to_string())
}
