//! Dismisses the alarms of a payout.

use tillgate_domain::id::Id;
use tillgate_store::StoreError;

use crate::gateway::Gateway;

/// Dismisses the alarms of a payout on behalf of staff. Returns whether there were any. The audit
/// log names `actor`.
pub async fn dismiss_alarms(gateway: &Gateway, id: Id, actor: &str) -> Result<bool, StoreError> {
    let (now, actor) = (gateway.time.now(), actor.to_owned());
    let dismiss = move |tx: &tillgate_store::Tx<'_>| {
        let Some(row) = tx.payout(&id)? else { return Ok(false) };
        let were_some = tx.dismiss_alarms(row.seq, now)?;
        if were_some {
            tx.audit(now, &actor, "payouts dismiss", &id.to_string())?;
        }
        Ok::<_, StoreError>(were_some)
    };
    let were_some = gateway.store.write(dismiss).await?;
    gateway.signals.note_change();
    Ok(were_some)
}
