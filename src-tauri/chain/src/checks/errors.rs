//! Reasons why a server's chain cannot be looked at, with the same sentences for every server.
//! `who` names the server in the sentence: "node", "server", or "server at" and its address.

use crate::down::Down;
use bitcoin::constants::genesis_block;
use bitcoin::{BlockHash, Network};

use super::token::Token;
use crate::port::ChainDown;

pub fn tip_changed() -> ChainDown {
    ChainDown::of_text(
        "the best block changed during the look; the next look catches up".to_owned(),
    )
}

impl ChainDown {
    /// Whether this is [`tip_changed`]: the backend is well, and the next look catches up.
    pub fn is_tip_changed(&self) -> bool {
        *self == tip_changed()
    }
}

/// The server sent an invalid block.
pub fn forged(who: &str, height: u32, why: &str) -> ChainDown {
    ChainDown::of_text(format!(
        "the {who} sent an invalid block {height}: {why}; do not trust this {who}"
    ))
}

/// The server denies a block on which its own best block builds.
pub fn denied(who: &str, height: u32) -> ChainDown {
    ChainDown::of_text(format!(
        "the {who} denies block {height}, which its own chain holds; do not trust this {who}"
    ))
}

pub fn unproved_height(height: u32) -> ChainDown {
    ChainDown::of_text(format!(
        "the server does not prove the height of block {height}: set another server as backendUrl"
    ))
}

/// The server's chain has less work than the known chain.
pub fn behind(who: &str, height: u32, before: &Token) -> ChainDown {
    let watched = before.last().map_or(0, |last| last.id.height);
    Down::LessWork { who: who.to_owned(), height, watched }.into()
}

/// The server is on another network, whose first block is `genesis`. `kind` is the kind of server
/// to set instead.
pub fn other_network(who: &str, kind: &str, genesis: BlockHash, network: Network) -> ChainDown {
    let all =
        [Network::Bitcoin, Network::Testnet4, Network::Signet, Network::Regtest, Network::Testnet];
    let found = all.into_iter().find(|network| genesis_block(network).block_hash() == genesis);
    let found = found
        .map_or_else(|| format!("a network that begins with block {genesis}"), |it| it.to_string());
    Down::OtherNetwork { who: who.to_owned(), found, network, kind: kind.to_owned() }.into()
}
