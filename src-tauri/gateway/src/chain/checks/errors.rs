//! Reasons why a server's chain cannot be looked at, with the same sentences for every server. `who` names the server
//! for people: the node, the server, the server at an address.

use bitcoin::constants::genesis_block;
use bitcoin::{BlockHash, Network};

use super::token::Token;
use crate::chain::port::ChainDown;

pub(in crate::chain) fn tip_changed() -> ChainDown {
    ChainDown("the best block changed while it was looked at; the next look makes up for it".to_owned())
}

impl ChainDown {
    /// Whether this is [`tip_changed`]: the backend is well, and the next look catches up.
    pub(in crate::chain) fn is_tip_changed(&self) -> bool {
        *self == tip_changed()
    }
}

/// The server told an impossible block.
pub(in crate::chain) fn forged(who: &str, height: u32, why: &str) -> ChainDown {
    ChainDown(format!("the {who} tells a block {height} that is none: {why}; do not trust this {who}"))
}

/// The server denies a block on which its own best block builds.
pub(in crate::chain) fn denied(who: &str, height: u32) -> ChainDown {
    ChainDown(format!("the {who} denies block {height}, which its own chain holds; do not trust this {who}"))
}

pub(in crate::chain) fn unproved_height(height: u32) -> ChainDown {
    ChainDown(format!("the server does not prove how high block {height} stands: set another server as backendUrl"))
}

/// Its chain has less work than the chain looked at before.
pub(in crate::chain) fn behind(who: &str, height: u32, before: &Token) -> ChainDown {
    let watched = before.last().map_or(0, |last| last.id.height);
    ChainDown(format!(
        "the {who}'s best block is {height}, with less work behind it than block {watched} had that was looked at before: it is behind, or lost blocks, and must catch up first (for another chain on purpose, name another --data-dir; if that block was made up by whoever answered before, `tillgate wallet restore --birthday DATE` begins anew from the words of the wallet)"
    ))
}

/// The server is on the network with this first block. `kind` names the server to set instead.
pub(in crate::chain) fn other_network(who: &str, kind: &str, genesis: BlockHash, network: Network) -> ChainDown {
    let all = [Network::Bitcoin, Network::Testnet4, Network::Signet, Network::Regtest, Network::Testnet];
    let found = all.into_iter().find(|network| genesis_block(network).block_hash() == genesis);
    let found = found.map_or_else(|| format!("a network that begins with block {genesis}"), |it| it.to_string());
    ChainDown(format!(
        "the {who} is on {found}, and the setting network says {network}: set backendUrl to a {kind} of that network"
    ))
}
