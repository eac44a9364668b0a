//! Single transactions, whoever they pay, as a server tells them. Where it says that one stands is believed: nothing rests on
//! that but whether its bytes are kept.

use std::time::Duration;

use bitcoin::Txid;
use tokio::time::Instant;

use super::history;
use super::server::{NoAnswer, Server};
use super::state::State;
use crate::chain::Recent;

/// After so long nothing more is asked: looks wait for this, for each generation.
const ASKED_FOR: Duration = Duration::from_secs(2);

/// What the server has of these transactions in its mempool and in blocks above a height.
pub(super) fn recent(server: &Server, state: &mut State, txids: &[Txid], above: u32) -> Result<Recent, NoAnswer> {
    let began = Instant::now();
    let mut recent = Recent::default();
    for txid in txids {
        let sight = if began.elapsed() > ASKED_FOR {
            None
        } else {
            server.bucket.wait();
            state.ask_of_strangers(server, format!("/tx/{txid}"), |_| history::transaction(server, *txid))?
        };
        match sight {
            Some(sight) if sight.status.confirmed && sight.status.block_height.is_some_and(|it| it <= above) => {}
            Some(sight) => {
                recent.txs.insert(*txid, sight.tx);
            }
            None => {
                recent.unknown.insert(*txid);
            }
        }
    }
    Ok(recent)
}
