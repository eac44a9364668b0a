//! The page's server-sent events. Each holds the whole changing part of the page.

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

use super::html;
use super::load::load;
use super::texts::Texts;
use super::view::View;
use crate::state::Http;
use crate::stream_permits::StreamPermit;

/// Time between heartbeats. After twice this time without any event the page fetches itself again.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Shortest time between two reads for a page. Under load, every commit would cause a read.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(250);

/// Longest time between two reads for a page, because the deadline passes without a commit.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(20);

/// Limit of events that wait for a slow client.
const WAITING_MAX: usize = 4;

/// The events of one page. The first is sent at once, because the payment may have changed since
/// the page was made.
pub fn stream(
    http: Arc<Http>,
    id: Id,
    texts: &'static Texts,
    permit: StreamPermit,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (events, waiting) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        tokio::select! {
            () = permit.must_be_given_up() => {}
            () = follow(&http, id, texts, &events) => {}
        }
    });
    Sse::new(ReceiverStream::new(waiting)).keep_alive(heartbeat(HEARTBEAT))
}

/// Heartbeats, which show the page that the connection is alive. They have data, because browsers
/// drop events without data.
pub fn heartbeat(interval: Duration) -> KeepAlive {
    KeepAlive::new().interval(interval).event(Event::default().event("alive").data("1"))
}

/// Sends the changes until the page is closed.
async fn follow(
    http: &Arc<Http>,
    id: Id,
    texts: &'static Texts,
    events: &mpsc::Sender<Result<Event, Infallible>>,
) {
    let id = id.to_string();
    let mut changes = http.app.gateway.signals.changes.subscribe();
    let mut last_sent = String::new();
    loop {
        changes.borrow_and_update();
        let at_ms = http.app.gateway.time.now().ms();
        match load(http, &id).await {
            Ok(Some(view)) => {
                let fingerprint = view.fingerprint();
                if fingerprint != last_sent {
                    last_sent = fingerprint;
                    if events.send(Ok(event_of(&view, at_ms, texts))).await.is_err() {
                        return;
                    }
                }
            }
            // The error is in the log. The page reconnects by itself.
            Ok(None) | Err(_) => return,
        }
        tokio::select! {
            () = events.closed() => return,
            () = sleep(LOOK_AT_MOST_EVERY) => {}
        }
        tokio::select! {
            () = events.closed() => return,
            // A change and the end of the wait are both reasons to read again.
            _ = timeout(LOOK_AT_LEAST_EVERY, changes.changed()) => {}
        }
    }
}

fn event_of(view: &View, at_ms: i64, texts: &Texts) -> Event {
    let payment = json!({ "at": at_ms, "html": html::payment(view, texts).into_string() });
    Event::default().event("payment").data(payment.to_string())
}
