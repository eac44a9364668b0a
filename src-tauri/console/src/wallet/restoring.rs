//! Restores the wallet from its words, and shows the progress of its look through the chain.

use serde::{Deserialize, Serialize};
use tillgate_chain::Sees;
use tillgate_domain::restore::RestoreState;
use tillgate_gateway::funds;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::setup::{self, Birthday, RestoreRequest, Restored, SetupError};
use tillgate_gateway::wallet::words;
use tillgate_store::restore::{Restore, RestoreSource};
use tillgate_store::{Reader, StoreError};
use ts_rs::TS;

use super::making::Words;
use crate::ask::{Ask, Asker};
use crate::btc::BtcView;
use crate::error::CommandError;

/// Restores the wallet from its words. If the wallet exists already, its words are stored with the
/// secrets again. A birthday or a gap then makes it look through the chain again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RestoreWallet {
    pub words: Words,
    /// A height or date before the wallet's first coin: 845000 or 2024-05-31. If absent, the
    /// network's first block that can hold a coin. The look through a node's blocks begins there.
    /// It has no effect on an Electrum server, which is asked about addresses.
    #[serde(default)]
    pub birthday: Option<String>,
    /// The gap limit: the longest run of given addresses without a coin. If absent, the setting
    /// `restoreSkip` plus 500. The look covers `restoreSkip` further addresses, because an earlier
    /// restored copy skipped as many.
    #[serde(default)]
    pub gap: Option<u32>,
    /// Whether another copy of the wallet continued from the state of this copy, for example after
    /// an older folder was put back by hand. If so, `restoreSkip` indices are skipped, and the
    /// wallet looks through the chain.
    #[serde(default)]
    pub beside_another: bool,
}

/// Asks for the progress of a restored wallet's look through the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ShowRestore {}

/// Stops the look of a restored wallet. The wallet then gives no address until the look continues
/// or the wallet is restored again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct StopRestore {}

/// Continues the look of a restored wallet from where it stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ContinueRestore {}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RestoredView {
    /// Whether the restore made the wallet; false if the wallet existed before.
    pub made: bool,
    /// The progress of the look; absent if only the words were stored.
    pub restore: Option<RestoreView>,
    /// Whether the words carry a version of an Electrum seed. Of the wallets that are none, one in
    /// some two hundred does so by chance.
    #[serde(default)]
    pub like_electrum: bool,
}

/// The last restore of this wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RestoreShownView {
    /// The progress of the look; absent if the wallet was never restored.
    pub restore: Option<RestoreView>,
}

/// The progress of a restored wallet's look through the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RestoreView {
    /// The source of the restored wallet: `words` or `backup`.
    pub source: String,
    /// The state of the look.
    pub state: RestoreState,
    /// The look begins above the block of this height.
    pub birth_height: u32,
    /// The number of addresses looked at beyond the highest used one: the gap limit plus the
    /// addresses that an earlier restored copy skipped.
    pub looks_ahead: u32,
    /// The height that the look has reached; absent before the first block.
    pub scanned_height: Option<u32>,
    /// The height of the best block, if it is known.
    pub chain_height: Option<u32>,
    /// The number of scripts that the backend was asked about, external and internal; 0 if the
    /// backend shows whole blocks.
    pub asked: u32,
    /// The number of all scripts to ask about. It grows when a used script is found. 0 if the
    /// backend shows whole blocks, and once the look has ended.
    pub to_ask: u32,
    /// The part of the blocks or scripts that is done, rounded down.
    pub percent: u32,
    /// Whether the look waits until a Bitcoin backend is set.
    #[serde(default)]
    pub awaits_backend: bool,
    /// The number of transactions of the wallet that the look found and this database did not hold.
    pub found: u32,
    /// The type of the wallet's addresses: `bip84` or `bip86`.
    #[serde(default)]
    pub address_type: String,
    /// Whether a whole look for a wallet of words found no coin, now or ever.
    #[serde(default)]
    pub found_nothing: bool,
    /// The unspent coins that the look found at the other address type of the same words. They are
    /// not the wallet's: the words must be restored elsewhere to spend them. Absent if there are
    /// none.
    #[serde(default)]
    pub at_other_type: Option<OtherTypeView>,
    /// When the restore began, ISO 8601.
    pub begun_time: String,
    /// When the look reached the best block, ISO 8601.
    pub looked_time: Option<String>,
    /// The derivation index of the first address given since the restore.
    pub first_given: Option<u32>,
}

/// Coins at the address type that the wallet does not use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OtherTypeView {
    /// `bip84` or `bip86`.
    pub address_type: String,
    /// The sum of the coins, as the look found them.
    pub sum: BtcView,
    /// When that look ended, ISO 8601. No later look tells whether the coins are still there.
    pub looked_time: Option<String>,
}

impl OtherTypeView {
    pub fn load(
        gateway: &Gateway,
        reader: &Reader<'_>,
        restore: &Restore,
    ) -> Result<Option<Self>, StoreError> {
        let sats = reader.other_sats()?;
        let other = funds::address_type(&gateway.wallet, &gateway.settings.snapshot()).other();
        let view = || Self {
            address_type: other.as_str().to_owned(),
            sum: BtcView::from_sats(sats),
            looked_time: restore.looked_at.map(|at| at.iso_seconds()),
        };
        Ok((sats > 0).then(view))
    }

    /// The coins as a sentence, with the remedy.
    pub fn sentence(&self) -> String {
        let Self { address_type, sum, looked_time } = self;
        let found = looked_time.as_ref().map_or_else(
            || format!("the same words have {} BTC", sum.shown),
            |time| {
                format!("the look that ended at {time} found {} BTC of the same words", sum.shown)
            },
        );
        format!(
            "{found} at {address_type} addresses, which this wallet does not use: restore the words with another --data-dir and the setting addressType={address_type}, and send these coins over"
        )
    }
}

impl Ask for RestoreWallet {
    type Answer = RestoredView;

    async fn answer(self, by: &Asker<'_>) -> Result<RestoredView, CommandError> {
        let read = |text: &str| Birthday::parse(text.trim()).ok_or(SetupError::Birthday);
        let birthday = self.birthday.as_deref().map(read).transpose()?;
        let words = words::parse(self.words.reveal()).map_err(SetupError::from)?;
        let like_electrum = words::is_like_electrum(words.reveal());
        let request =
            RestoreRequest { words, birthday, gap: self.gap, beside_another: self.beside_another };
        let restored = setup::restore(by.gateway(), request, by.actor).await?;
        Ok(match restored {
            Restored::Made(restore) => {
                RestoredView { made: true, restore: Some(view(by, restore).await?), like_electrum }
            }
            Restored::Again(restore) => {
                RestoredView { made: false, restore: Some(view(by, restore).await?), like_electrum }
            }
            Restored::WordsKept => RestoredView { made: false, restore: None, like_electrum },
        })
    }
}

impl Ask for ShowRestore {
    type Answer = RestoreShownView;

    async fn answer(self, by: &Asker<'_>) -> Result<RestoreShownView, CommandError> {
        let read = |gateway: &Gateway, reader: &Reader<'_>| {
            reader
                .restore()?
                .map(|restore| RestoreView::load(gateway, reader, &restore))
                .transpose()
        };
        Ok(RestoreShownView { restore: by.read(read).await? })
    }
}

impl Ask for StopRestore {
    type Answer = RestoreView;

    async fn answer(self, by: &Asker<'_>) -> Result<RestoreView, CommandError> {
        view(by, setup::stop(by.gateway(), by.actor).await?).await
    }
}

impl Ask for ContinueRestore {
    type Answer = RestoreView;

    async fn answer(self, by: &Asker<'_>) -> Result<RestoreView, CommandError> {
        view(by, setup::continue_restore(by.gateway(), by.actor).await?).await
    }
}

impl RestoreView {
    /// The view of a restore, with the progress of the present look.
    pub fn load(
        gateway: &Gateway,
        reader: &Reader<'_>,
        restore: &Restore,
    ) -> Result<Self, StoreError> {
        let status = gateway.backend.last_look.status();
        // The look stores its blocks when it ends, but its progress is shown before that.
        let under_way = status.catching_up.filter(|it| it.restored_at == Some(restore.begun_at));
        let restore = under_way.map_or(*restore, |it| restore.looked_up_to(it.seen_height));
        let chain_height = under_way.map(|it| it.tip_height).or(status.tip.map(|tip| tip.height));
        let awaits_backend = restore.is_dangerous() && !gateway.has_backend();
        // Without a backend it is unknown whether scripts will be asked about, so their number is
        // 0.
        let asks = restore.is_dangerous()
            && !awaits_backend
            && gateway.backend.chain.sees() == Sees::Scripts;
        let to_ask = if asks { reader.indices_to_ask(&restore)?.count() } else { 0 };
        Ok(Self {
            source: match restore.source {
                RestoreSource::Words => "words",
                RestoreSource::Backup => "backup",
            }
            .to_owned(),
            state: restore.state,
            birth_height: restore.birth_height,
            looks_ahead: restore.looks_ahead,
            scanned_height: restore.scanned_height,
            chain_height,
            asked: restore.asked.count(),
            to_ask,
            percent: percent(&restore, chain_height, to_ask),
            awaits_backend,
            found: restore.unknown,
            address_type: funds::address_type(&gateway.wallet, &gateway.settings.snapshot())
                .as_str()
                .to_owned(),
            found_nothing: has_found_nothing(reader, &restore)?,
            at_other_type: OtherTypeView::load(gateway, reader, &restore)?,
            begun_time: restore.begun_at.iso_seconds(),
            looked_time: restore.looked_at.map(|at| at.iso_seconds()),
            first_given: restore.first_given,
        })
    }
}

/// Whether a restore from words has ended, and the wallet never had a coin.
pub fn has_found_nothing(reader: &Reader<'_>, restore: &Restore) -> Result<bool, StoreError> {
    let is_looked = restore.source == RestoreSource::Words && restore.looked_at.is_some();
    Ok(is_looked && restore.unknown == 0 && !reader.has_any_coin()?)
}

/// The finding of a look that found nothing, with the causes to check.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
#[error(
    "no transaction of the restored wallet was found. If it ever received coins, check four things: another address type than bip84 and bip86, which were both looked at; a passphrase (25th word), which is not supported; words of another program, like Electrum; and a birthday that is too late"
)]
pub struct NothingFound;

async fn view(by: &Asker<'_>, restore: Restore) -> Result<RestoreView, CommandError> {
    by.read(move |gateway, reader| RestoreView::load(gateway, reader, &restore)).await
}

/// The percentage of scripts asked about, or of blocks from the birth height to the best block. It
/// is at most 99 before the look has ended.
fn percent(restore: &Restore, chain_height: Option<u32>, to_ask: u32) -> u32 {
    if !restore.is_dangerous() {
        return 100;
    }
    let (done, all) = if to_ask > 0 {
        (restore.asked.count(), to_ask)
    } else {
        let (Some(scanned), Some(tip)) = (restore.scanned_height, chain_height) else { return 0 };
        (scanned.saturating_sub(restore.birth_height), tip.saturating_sub(restore.birth_height))
    };
    u32::try_from((u64::from(done) * 100 / u64::from(all).max(1)).min(99)).unwrap_or(99)
}

#[cfg(test)]
mod tests {
    use tillgate_domain::time::Timestamp;
    use tillgate_store::restore::AskedIndices;

    use super::*;

    #[test]
    fn the_percentage_is_below_100_until_the_look_has_ended() {
        let at = |state, scanned_height| Restore {
            source: RestoreSource::Words,
            state,
            begun_at: Timestamp::from_ms(0),
            birth_height: 100,
            looks_ahead: 20,
            scanned_height,
            asked: AskedIndices::default(),
            unknown: 0,
            looked_at: None,
            first_given: None,
        };
        use RestoreState::{Looked, Scanning};
        for (scanned, tip, told) in [
            (None, Some(300), 0),
            (Some(100), Some(300), 0),
            (Some(201), Some(300), 50),
            (Some(300), Some(300), 99),
        ] {
            assert_eq!(percent(&at(Scanning, scanned), tip, 0), told, "{scanned:?}");
        }
        assert_eq!(
            percent(&at(Scanning, Some(50)), Some(60), 0),
            0,
            "a chain that ends below the birth"
        );
        assert_eq!(percent(&at(Scanning, Some(50)), None, 0), 0);
        assert_eq!(percent(&at(Looked, Some(300)), Some(400), 0), 100);
        // A backend that is asked about scripts.
        for (addresses, told) in [(0, 0), (1_500, 50), (3_000, 99), (4_000, 99)] {
            let asked = AskedIndices { addresses, change: addresses / 3 };
            assert_eq!(
                percent(&Restore { asked, ..at(Scanning, None) }, Some(300), 4_000),
                told,
                "{addresses}"
            );
        }
        assert_eq!(percent(&at(Looked, Some(300)), Some(400), 0), 100);
    }
}
