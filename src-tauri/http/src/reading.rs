//! Reads of any length, under a permit.

use std::sync::Arc;

use tillgate_gateway::gateway::Gateway;

use super::error::Failure;
use super::read_permits::Long;
use super::state::Http;

/// Runs a read of any length under a permit, on another thread, so that other connections of this
/// thread do not wait.
///
/// # Errors
/// The error of `read`, or no permit came free in time.
pub async fn read_on_another_thread<T, E>(
    http: &Arc<Http>,
    kind: Long,
    key_id: i64,
    read: impl FnOnce(&Gateway) -> Result<T, E> + Send + 'static,
) -> Result<T, Failure>
where
    T: Send + 'static,
    E: Into<Failure> + Send + 'static,
{
    let permit = http.read_permits.take(kind, key_id).await?;
    let gateway = Arc::clone(&http.app.gateway);
    let reading = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        read(&gateway)
    });
    reading.await.map_err(|error| Failure::internal(&error))?.map_err(Into::into)
}
