//! Long lists, rendered while their clients read them.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::records::{RecordList, Snapshot};
use tillgate_store::StoreError;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use super::error::Failure;
use super::read_permits::Long;
use super::reading::read_on_another_thread;
use super::respond::{holding, json_answer};
use super::state::Http;

/// The beginning of every list.
const BEGIN: &str = r#"{"items":["#;

/// Parts of a list that are rendered ahead of its client.
const PARTS_AHEAD: usize = 1;

/// Answers a list. A short list is rendered at once. A long list is rendered in parts while its
/// client reads, each part from its own snapshot. A slow client thus holds few records in memory,
/// and does not block the truncation of the WAL. Each part is read under a permit of the key
/// `key_id`.
///
/// # Errors
/// The beginning cannot be read, or too many long lists of the key are still being read. A later
/// error breaks the answer off.
pub async fn list_answer<K: Send + 'static>(
    http: &Arc<Http>,
    key_id: i64,
    (limit, offset): (u32, u64),
    query: impl FnOnce(&Snapshot<'_>) -> Result<RecordList<K>, StoreError> + Send + 'static,
) -> Result<Response, Failure> {
    let begin = |gateway: &Gateway| {
        gateway.render(|snapshot| {
            let mut list = query(snapshot)?;
            Ok((list.next_part(snapshot)?, list))
        })
    };
    let (first, list) = read_on_another_thread(http, Long::List, key_id, begin).await?;
    let count = list.items_count();
    let end = format!(
        r#"],"paginationInfo":{{"itemsCount":{count},"limit":{limit},"offset":{offset}}}}}"#
    );
    let mut begun = String::with_capacity(BEGIN.len() + first.len() + end.len());
    begun.push_str(BEGIN);
    begun.push_str(&first);
    if list.is_done() {
        begun.push_str(&end);
        return Ok(json_answer(begun));
    }
    let permit = http.app.gateway.access.limits.begin_list(key_id)?;
    let (parts, made) = mpsc::channel(PARTS_AHEAD);
    tokio::spawn(send_rest(Arc::clone(http), key_id, list, end, parts));
    let begun = tokio_stream::once(Ok(Bytes::from(begun)));
    Ok(holding(json_answer(Body::from_stream(begun.chain(ReceiverStream::new(made)))), permit))
}

/// Renders the rest of a list, no faster than the client reads it.
async fn send_rest<K: Send + 'static>(
    http: Arc<Http>,
    key_id: i64,
    mut list: RecordList<K>,
    end: String,
    parts: mpsc::Sender<io::Result<Bytes>>,
) {
    while !list.is_done() {
        // The channel is closed when the client has gone.
        let Ok(room) = parts.reserve().await else { return };
        let permit = match http.read_permits.take(Long::List, key_id).await {
            Ok(permit) => permit,
            Err(error) => {
                tracing::error!(%error, "a list broke off");
                return room.send(Err(io::Error::other(error)));
            }
        };
        let gateway = Arc::clone(&http.app.gateway);
        let next = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            (gateway.render(|snapshot| list.next_part(snapshot)), list)
        });
        let part = match next.await {
            Ok((Ok(part), rest)) => {
                list = rest;
                part
            }
            Ok((Err(error), _)) => {
                tracing::error!(%error, "a list broke off");
                return room.send(Err(io::Error::other(error)));
            }
            Err(error) => {
                tracing::error!(%error, "a list broke off");
                return room.send(Err(io::Error::other(error)));
            }
        };
        room.send(Ok(Bytes::from(part)));
    }
    // If the client has gone, the end has no reader.
    let _ = parts.send(Ok(Bytes::from(end))).await;
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Mutex, PoisonError};

    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::Limits;
    use tillgate_gateway::testing::World;

    #[tokio::test]
    async fn a_list_holds_its_permit_until_it_is_read_or_dropped() {
        let world = World::new().await;
        let long = |_: &Snapshot<'_>| {
            Ok(RecordList::new(2, vec![0u8, 1], |_, _| Ok(Some("1".repeat(100_000)))))
        };
        let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
        let begin = async || list_answer(&http, 7, (2, 0), long).await;
        let mut unread = Vec::new();
        while let Ok(answer) = begin().await {
            unread.push(answer);
        }
        assert_eq!(unread.len(), 16);
        let whole = axum::body::to_bytes(unread.remove(0).into_body(), 1 << 20).await.unwrap();
        assert!(whole.len() > 200_000 && whole.ends_with(b"}}"), "{} bytes", whole.len());
        unread.push(begin().await.unwrap());
        assert!(begin().await.is_err());
        unread.pop();
        begin().await.unwrap();
    }

    fn nothing() -> RecordList<()> {
        RecordList::new(0, Vec::new(), |_, ()| Ok(None))
    }

    #[tokio::test]
    async fn a_key_with_slow_lists_does_not_block_other_keys() {
        let world = World::new().await;
        let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
        let (begun, mut has_begun) = unbounded_channel();
        let (go_on, may_go_on) = channel::<()>();
        let may_go_on = Arc::new(Mutex::new(may_go_on));
        // One list for each read that the database allows at once. Lists that are being read wait
        // until `go_on` is dropped.
        for _ in 0..48 {
            let (http, begun, may_go_on) =
                (Arc::clone(&http), begun.clone(), Arc::clone(&may_go_on));
            let query = move |_: &Snapshot<'_>| {
                begun.send(()).unwrap();
                let _ = may_go_on.lock().unwrap_or_else(PoisonError::into_inner).recv();
                Ok(nothing())
            };
            tokio::spawn(async move { list_answer(&http, 1, (1, 0), query).await.map(drop) });
        }
        for _ in 0..8 {
            has_begun.recv().await.unwrap();
        }
        let other = list_answer(&http, 2, (1, 0), |_| Ok(nothing())).await;
        let watcher = world.gateway.store.read(|reader| reader.tip_height());
        // All lists of key 1 that could begin have begun, because they were requested before the
        // other key's list.
        let more = has_begun.try_recv();
        drop(go_on);
        assert!(other.is_ok(), "{other:?}");
        assert!(watcher.is_ok(), "{watcher:?}");
        assert!(more.is_err(), "a ninth list was read");
    }
}
