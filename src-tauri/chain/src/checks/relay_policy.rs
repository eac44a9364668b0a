//! How Bitcoin Core words its relay policy. An Electrum server passes on the words of the node
//! behind it.

use bitcoin::FeeRate;
use tillgate_domain::money::parse_btc;

/// Words of a refusal because of an unreplaced conflict in the mempool.
pub const OF_CONFLICTS: &[&str] = &[
    "txn-mempool-conflict",
    "bad-txns-spends-conflicting-tx",
    "insufficient fee",
    "insufficient feerate",
    "too many potential replacements",
    "replacement-adds-unconfirmed",
    "replacement-failed",
];

/// Words of a refusal because the node already has the transaction.
pub const OF_KNOWN: &[&str] =
    &["txn-already-in-mempool", "txn-already-known", "txn-same-nonwitness-data-in-mempool"];

/// Words of a refusal for an unknown or spent input; a node does not say which.
pub const OF_INPUTS: &[&str] =
    &["missing or spent", "missingorspent", "missing inputs", "missing-inputs"];

/// Words of a refusal because too many unconfirmed transactions belong together. A block must hold
/// some of them first.
const OF_CLUSTERS: &[&str] = &["too-large-cluster", "too-long-mempool-chain"];

/// Whether a transaction that was refused with these words might be accepted with a higher fee.
pub fn may_a_higher_fee_help(words: &str) -> bool {
    !OF_CLUSTERS.iter().any(|of_cluster| words.contains(of_cluster))
}

/// Converts from satoshis per 1,000 vB, which are 4,000 weight units. Rounds up, so that the rate
/// always suffices.
pub fn of_sat_kvb(sats: u64) -> FeeRate {
    FeeRate::from_sat_per_kwu(sats.div_ceil(4))
}

/// The fee in satoshis that a node's refusal asks for; `None` if it names none.
pub fn fee_named(words: &str) -> Option<u64> {
    let asked = |marker: &str| {
        let (_, sums) = words.split_once(marker)?;
        let (_, asked) = sums.split_once(" < ")?;
        let end = asked.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(asked.len());
        Some(asked[..end].trim_end_matches('.'))
    };
    asked("less fees than conflicting txs; ")
        .and_then(|btc| parse_btc(btc).ok())
        .or_else(|| asked("fee not met, ").and_then(|sats| sats.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fee_helps_against_a_cluster_that_is_too_large() {
        for (words, helps) in [
            ("too-large-cluster, exceeds cluster size limit", false),
            ("too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]", false),
            ("min relay fee not met, 0 < 71", true),
        ] {
            assert_eq!(may_a_higher_fee_help(words), helps, "{words}");
        }
    }

    #[test]
    fn the_fee_that_a_refusal_names_is_read() {
        let rejected = "insufficient fee, rejecting replacement 00ff";
        for (words, named) in [
            (
                format!("{rejected}, less fees than conflicting txs; 0.000004 < 0.0005"),
                Some(50_000),
            ),
            (
                format!("{rejected}, less fees than conflicting txs; 0.000004 < 0.0005."),
                Some(50_000),
            ),
            ("mempool min fee not met, 141 < 1410".to_owned(), Some(1_410)),
            (format!("{rejected}, not enough additional fees to relay; 0.00 < 0.0000011"), None),
            (
                format!("{rejected}; new feerate 0.00001 BTC/kvB <= old feerate 0.00002 BTC/kvB"),
                None,
            ),
            ("less fees than conflicting txs; 1 < `rm`".to_owned(), None),
            ("non-final".to_owned(), None),
        ] {
            assert_eq!(fee_named(&words), named, "{words}");
        }
    }
}
