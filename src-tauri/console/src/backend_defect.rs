//! The defect of a backend that answers and does not hear of everything.

use tillgate_chain::Chain;
use tillgate_domain::chain::{Identity, Tip};
use tillgate_domain::closing::Standstill;
use tillgate_gateway::gateway::{Gateway, StandsStill, standstill};
use tillgate_told::{Telling, Told as _};

/// The sentence about a backend that stands still or is without a mempool. `chain` has just
/// answered with this best block.
pub fn backend_defect(
    gateway: &Gateway,
    chain: &dyn Chain,
    identity: &Identity,
    tip: &Tip,
) -> Option<Telling> {
    let now = gateway.time.now();
    let now = now.plus_ms(gateway.market.rates.servers_ahead_ms(now).unwrap_or(0));
    let stands =
        Standstill::detect(chain.cut_off(), tip.time, now).filter(|_| !identity.is_regtest());
    let stands = stands
        .map(standstill::told)
        .or_else(|| (!chain.has_mempool()).then_some(StandsStill::BlocksOnly));
    stands.map(|why| why.telling())
}
