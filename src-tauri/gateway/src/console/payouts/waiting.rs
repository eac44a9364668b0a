//! Why approved payouts wait, where it is not for their turn alone.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::format_btc;
use ts_rs::TS;

use crate::funds;
use crate::gateway::Gateway;
use crate::store::payouts::PayoutRow;
use crate::store::{Reader, StoreError};

/// In every sentence by which a choice of coins is refused, and in no other.
const ABOUT_COINS: &str = "the coins that can be spent";

/// What kind of thing is in the way of approved payouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SenderObstacle {
    /// The secret store refused the wallet's words: it concerns all, and staff may have it asked again.
    Keyring,
    /// The coins are too few: it concerns those that wait for them, and no other.
    Coins,
    /// Anything else: it concerns all.
    Other,
}

/// Why approved payouts wait.
pub(in crate::console) struct Waiting {
    /// A sentence for people.
    pub reason: String,
    pub obstacle: SenderObstacle,
    /// What payouts could be made of now, where that is too little.
    spendable_sats: u64,
}

impl Waiting {
    /// Why the sender does not send; `None` where it does.
    pub(in crate::console) fn of(gateway: &Gateway, reader: &Reader<'_>) -> Result<Option<Self>, StoreError> {
        let Some(reason) = gateway.sending.waits_for() else { return Ok(None) };
        let obstacle = obstacle(&reason, gateway.sending.keys_refused().is_some());
        if obstacle != SenderObstacle::Coins {
            let reason = with_remedy(reason);
            return Ok(Some(Self { reason, obstacle, spendable_sats: 0 }));
        }
        let spendable_sats = funds::spendable_sats(reader, &gateway.settings.snapshot())?;
        let needed_sats = reader.waiting_payouts_sats()?;
        let reason = too_few(spendable_sats, needed_sats, "the approved payouts that wait need").unwrap_or(reason);
        Ok(Some(Self { reason, obstacle, spendable_sats }))
    }

    /// Why this approved payout waits; `None` where the sender's reason is another one's.
    pub(super) fn concerns(&self, row: &PayoutRow) -> Option<String> {
        match self.obstacle {
            SenderObstacle::Coins => {
                let needed_sats = row.amount_sats.saturating_add(row.network_fee_sats);
                too_few(self.spendable_sats, needed_sats, "this payout needs")
            }
            SenderObstacle::Keyring | SenderObstacle::Other => Some(self.reason.clone()),
        }
    }
}

fn obstacle(reason: &str, keys_refused: bool) -> SenderObstacle {
    match (keys_refused, reason.contains(ABOUT_COINS)) {
        (true, _) => SenderObstacle::Keyring,
        (false, true) => SenderObstacle::Coins,
        (false, false) => SenderObstacle::Other,
    }
}

/// A sentence that names the cap of fees tells what can be done.
fn with_remedy(reason: String) -> String {
    if reason.contains("feeCapSatVb") && !reason.contains("settings set") {
        return format!("{reason}: wait, or raise the cap with `tillgate settings set feeCapSatVb`");
    }
    reason
}

/// That these coins do not suffice, in BTC; `None` where they do.
fn too_few(spendable_sats: u64, needed_sats: u64, who_needs: &str) -> Option<String> {
    (spendable_sats < needed_sats).then(|| {
        let (spendable, needed) = (format_btc(spendable_sats), format_btc(needed_sats));
        format!("the coins that can be spent now come to {spendable} BTC, and {who_needs} {needed} BTC with the fee")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wallet::spend::DraftError;

    #[test]
    fn a_lack_of_coins_is_told_from_a_locked_keyring_and_from_all_else() {
        let not_enough = DraftError::NotEnough { needed_sats: 2, available_sats: 1 }.to_string();
        assert_eq!(obstacle(&not_enough, false), SenderObstacle::Coins, "{not_enough}");
        assert_eq!(obstacle("the keyring is locked", true), SenderObstacle::Keyring);
        assert_eq!(obstacle("the network asks for 300 sat/vB now", false), SenderObstacle::Other);
    }

    #[test]
    fn a_fee_above_the_cap_is_told_with_what_can_be_done() {
        let told = with_remedy("the network asks for 300 sat/vB now, above feeCapSatVb (200)".to_owned());
        assert!(told.ends_with("raise the cap with `tillgate settings set feeCapSatVb`"), "{told}");
        assert_eq!(with_remedy(told.clone()), told);
        assert_eq!(with_remedy("the keyring is locked".to_owned()), "the keyring is locked");
    }

    #[test]
    fn coins_are_told_in_btc_to_the_payout_that_they_do_not_suffice_for_alone() {
        assert_eq!(too_few(1_000, 1_000, "this payout needs"), None);
        let told = too_few(1_000, 250_000_000, "this payout needs").unwrap();
        assert!(told.contains("0.00001000 BTC") && told.contains("this payout needs 2.50000000 BTC"), "{told}");
    }
}
