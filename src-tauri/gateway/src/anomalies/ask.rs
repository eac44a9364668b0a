//! Asks a customer on the payment page for the address of a refund, and takes the answer. The
//! answer moves no coins: staff see it and decide.

use std::sync::Arc;

use tillgate_domain::id::Id;
use tillgate_domain::payout::address::{self, AddressRefusal};
use tillgate_store::anomalies::AnomalyRow;
use tillgate_store::{Reader, StoreError};

use super::refund::{RefundError, check_awaits_refund};
use crate::gateway::Gateway;
use crate::notifications::outbox;

/// Reason why a customer's answer is not stored.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum AnswerError {
    /// The payment asks for no address, or has one already.
    #[error("nobody asks for an address")]
    NotAsked,
    #[error(transparent)]
    Address(#[from] AddressRefusal),
    /// The address is the wallet's own.
    #[error("the address is the shop's own")]
    Own,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Asks for the address of an OPEN anomaly's refund, on behalf of staff. A former answer is
/// forgotten.
///
/// # Errors
/// [`RefundError`].
pub async fn ask(gateway: &Arc<Gateway>, id: Id, actor: &str) -> Result<(), RefundError> {
    let actor = actor.to_owned();
    outbox::commit(gateway, None, move |outbox| {
        let (tx, now) = (outbox.tx, outbox.now);
        let row = tx.anomaly(&id)?.ok_or(RefundError::NoSuchAnomaly(id))?;
        check_awaits_refund(&row.anomaly)?;
        tx.ask_refund_address(&id, now)?;
        tx.audit(now, &actor, "anomalies ask", &id.to_string())?;
        Ok(())
    })
    .await
}

/// Stores the address that was given on the page of `payment`. The first valid one counts until
/// staff ask again, so a stranger with the link cannot replace it.
///
/// # Errors
/// [`AnswerError`].
pub async fn answer(gateway: &Arc<Gateway>, payment: Id, given: &str) -> Result<(), AnswerError> {
    let given = address::parse(without_uri(given), gateway.network)?;
    // Unasked, the page tells nobody whether an address is the merchant's.
    if !gateway.store.read(|reader| awaits_answer(reader, &payment))? {
        return Err(AnswerError::NotAsked);
    }
    if gateway.store.read(|reader| gateway.is_ours(reader, &given.script))? {
        return Err(AnswerError::Own);
    }
    outbox::commit(gateway, None, move |outbox| {
        match outbox.tx.answer_refund_address(&payment, &given.text, outbox.now)? {
            0 => Err(AnswerError::NotAsked),
            _ => Ok(()),
        }
    })
    .await
}

/// Whether staff wait for an address from the page of this payment.
fn awaits_answer(reader: &Reader<'_>, payment: &Id) -> Result<bool, StoreError> {
    let Some(row) = reader.payment(payment)? else { return Ok(false) };
    Ok(reader.anomalies_of_payment(row.seq)?.iter().any(AnomalyRow::awaits_answer))
}

/// The address in a copied text. Some wallets copy it as a URI (BIP 21).
fn without_uri(text: &str) -> &str {
    let text = text.trim();
    match text.split_at_checked("bitcoin:".len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bitcoin:") => {
            rest.split('?').next().unwrap_or(rest)
        }
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use tillgate_domain::anomaly::Resolution;

    use super::*;
    use crate::testing::{HALF_AN_HOUR_MS, World};

    const ADDRESS: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
    const OTHER: &str = "bcrt1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qzf4jry";

    async fn late(world: &World) -> AnomalyRow {
        let payment = world.payment().await;
        world.pass_ms(4 * HALF_AN_HOUR_MS).await;
        world.pay(&payment, 50_000).await;
        world.mine(2).await;
        world
            .gateway
            .store
            .read(|reader| reader.anomalies_of_payment(payment.seq))
            .unwrap()
            .remove(0)
    }

    fn given(world: &World, row: &AnomalyRow) -> Option<String> {
        let row =
            world.gateway.store.read(|reader| reader.anomaly(&row.anomaly.id)).unwrap().unwrap();
        row.answer.map(|answer| answer.address)
    }

    #[tokio::test]
    async fn a_customer_answers_once_until_staff_ask_again() {
        let world = World::new().await;
        let row = late(&world).await;
        let unasked = answer(&world.gateway, row.payment_id, ADDRESS).await;
        assert!(matches!(unasked, Err(AnswerError::NotAsked)), "{unasked:?}");
        let own = answer(&world.gateway, row.payment_id, &row.address).await;
        assert!(
            matches!(own, Err(AnswerError::NotAsked)),
            "it does not tell whose address it is: {own:?}"
        );
        ask(&world.gateway, row.anomaly.id, "panel:ann").await.unwrap();
        answer(
            &world.gateway,
            row.payment_id,
            &format!(" BITCOIN:{}?amount=1 ", ADDRESS.to_uppercase()),
        )
        .await
        .unwrap();
        assert_eq!(given(&world, &row).as_deref(), Some(ADDRESS));
        let again = answer(&world.gateway, row.payment_id, OTHER).await;
        assert!(matches!(again, Err(AnswerError::NotAsked)), "{again:?}");
        assert_eq!(
            given(&world, &row).as_deref(),
            Some(ADDRESS),
            "a stranger replaced the address"
        );
        ask(&world.gateway, row.anomaly.id, "panel:ann").await.unwrap();
        assert_eq!(given(&world, &row), None);
        answer(&world.gateway, row.payment_id, OTHER).await.unwrap();
        assert_eq!(given(&world, &row).as_deref(), Some(OTHER));
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_refunded_is_refused() {
        let world = World::new().await;
        let row = late(&world).await;
        ask(&world.gateway, row.anomaly.id, "panel:ann").await.unwrap();
        for wrong in [
            "",
            "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt081",
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
        ] {
            let refused = answer(&world.gateway, row.payment_id, wrong).await;
            assert!(matches!(refused, Err(AnswerError::Address(_))), "{wrong}: {refused:?}");
        }
        let own = answer(&world.gateway, row.payment_id, &row.address).await;
        assert!(matches!(own, Err(AnswerError::Own)), "{own:?}");
        assert_eq!(given(&world, &row), None);
    }

    #[tokio::test]
    async fn nobody_is_asked_about_a_decided_anomaly() {
        let world = World::new().await;
        let row = late(&world).await;
        ask(&world.gateway, row.anomaly.id, "panel:ann").await.unwrap();
        crate::anomalies::dismiss(&world.gateway, row.anomaly.id, "kept", "panel:ann")
            .await
            .unwrap();
        let refused = answer(&world.gateway, row.payment_id, ADDRESS).await;
        assert!(matches!(refused, Err(AnswerError::NotAsked)), "{refused:?}");
        let refused = ask(&world.gateway, row.anomaly.id, "panel:ann").await;
        assert!(
            matches!(refused, Err(RefundError::NotOpen(Resolution::DismissedByStaff))),
            "{refused:?}"
        );
    }
}
