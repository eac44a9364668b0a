use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bitcoin::hashes::Hash as _;
use tillgate_domain::time::Timestamp;

use super::*;
use crate::checks::errors::tip_changed;
use crate::{Covered, WatchList, no_scripts};

/// A server that answers or is silent.
struct Fake {
    network: Network,
    is_down: AtomicBool,
    /// Its best block changes during a look.
    changes: AtomicBool,
    more: AtomicBool,
    looks: AtomicU32,
    asked: AtomicU32,
}

impl Fake {
    fn on(network: Network) -> Arc<Self> {
        Arc::new(Self {
            network,
            is_down: AtomicBool::new(false),
            changes: AtomicBool::new(false),
            more: AtomicBool::new(false),
            looks: AtomicU32::new(0),
            asked: AtomicU32::new(0),
        })
    }

    fn answer(&self) -> Result<(), ChainDown> {
        if self.is_down.load(Ordering::SeqCst) {
            Err(ChainDown::of_text("silent".to_owned()))
        } else {
            Ok(())
        }
    }

    fn looks(&self) -> u32 {
        self.looks.load(Ordering::SeqCst)
    }
}

impl Chain for Fake {
    fn identity(&self) -> Result<Identity, ChainDown> {
        self.answer()?;
        Ok(Identity { genesis: genesis_block(self.network).block_hash(), instance: None })
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.answer()?;
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(Tip { height: 1, hash: BlockHash::all_zeros(), time: Timestamp::from_ms(0) })
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(0)
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        self.answer()?;
        Ok(Some(format!("a fake on {}", self.network)))
    }

    fn certificate_to_pin(&self) -> Option<String> {
        None
    }

    fn height_before(&self, _at: Timestamp) -> Result<u32, ChainDown> {
        Ok(0)
    }

    fn server(&self) -> usize {
        0
    }

    fn generation(&self) -> u64 {
        0
    }

    fn look(&self, _: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let tip = self.tip()?;
        if self.changes.load(Ordering::SeqCst) {
            return Err(tip_changed());
        }
        let number = self.looks.fetch_add(1, Ordering::SeqCst);
        Ok(LookAnswer {
            token: number.to_be_bytes().to_vec(),
            from_start: false,
            left_above: None,
            more: self.more.load(Ordering::SeqCst),
            tip,
            seen_height: 1,
            median_time: None,
            txs: Vec::new(),
            unknown: Vec::new(),
            covered: Covered::Everything,
            refused: std::collections::HashSet::new(),
            cold_taken: 0,
            states: Vec::new(),
        })
    }

    fn broadcast(&self, _: &[Transaction]) -> Result<Broadcast, ChainDown> {
        self.tip()?;
        Ok(Broadcast::Accepted)
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        _above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        Ok(RecentTransactions::unknown(txids))
    }

    fn fees_with_descendants(&self, _: &[Txid]) -> Result<Option<u64>, ChainDown> {
        Ok(None)
    }

    fn fee_rates(&self, _: u16) -> Result<NodeFeeRates, ChainDown> {
        self.tip()?;
        Ok(NodeFeeRates::of(None, bitcoin::FeeRate::ZERO, bitcoin::FeeRate::ZERO))
    }

    fn has_mempool(&self) -> bool {
        true
    }

    fn cut_off(&self) -> Option<CutOff> {
        None
    }

    fn sees(&self) -> Sees {
        Sees::Everything
    }

    fn wake(&self) -> Option<&Notify> {
        None
    }

    fn fault(&self) -> Option<Telling> {
        None
    }

    fn fault_once_tried(&self) -> Option<Telling> {
        None
    }
}

struct Nothing;

impl WatchList for Nothing {
    fn concerns(&self, _: &Transaction) -> bool {
        false
    }

    fn txids(&self) -> &[bitcoin::Txid] {
        &[]
    }

    fn unsettled(&self, _: u32) -> Vec<Transaction> {
        Vec::new()
    }
}

fn servers_of(servers: &[&Arc<Fake>], retried_after: Duration) -> Servers {
    let named = servers
        .iter()
        .enumerate()
        .map(|(number, fake)| (format!("server {number}"), Arc::clone(fake) as Arc<dyn Chain>));
    Servers { retried_after, ..Servers::new(named.collect(), Network::Regtest, Active::default()) }
}

fn look(servers: &Servers, token: Option<&[u8]>) -> Result<LookAnswer, ChainDown> {
    servers.look(&LookRequest {
        token,
        birth_height: None,
        watch: &Nothing,
        scripts: no_scripts(),
        is_woken: false,
    })
}

#[test]
fn the_next_server_is_asked_while_the_first_is_silent() {
    let (first, second) = (Fake::on(Network::Regtest), Fake::on(Network::Regtest));
    let servers = servers_of(&[&first, &second], Duration::from_secs(3_600));
    look(&servers, None).unwrap();
    first.is_down.store(true, Ordering::SeqCst);
    look(&servers, None).unwrap();
    first.is_down.store(false, Ordering::SeqCst);
    look(&servers, None).unwrap();
    assert_eq!((first.looks(), second.looks()), (1, 2), "a failed server is not asked again yet");
    let servers = Servers { retried_after: Duration::ZERO, ..servers };
    look(&servers, None).unwrap();
    assert_eq!((first.looks(), second.looks()), (2, 2));
}

#[test]
fn only_a_third_tip_change_in_a_row_switches_the_server() {
    let (first, second) = (Fake::on(Network::Regtest), Fake::on(Network::Regtest));
    let servers = servers_of(&[&first, &second], Duration::from_secs(3_600));
    for _ in 0..3 {
        first.changes.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            assert!(look(&servers, None).unwrap_err().is_tip_changed());
        }
        first.changes.store(false, Ordering::SeqCst);
        look(&servers, None).unwrap();
    }
    assert_eq!((first.looks(), second.looks()), (3, 0));
    first.changes.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        look(&servers, None).unwrap_err();
    }
    look(&servers, None).unwrap();
    first.changes.store(false, Ordering::SeqCst);
    look(&servers, None).unwrap();
    assert_eq!(
        (first.looks(), second.looks()),
        (3, 2),
        "a server whose tip changes in each look counts as failed"
    );
}

#[test]
fn software_is_that_of_the_server_that_answers() {
    let (first, second) = (Fake::on(Network::Bitcoin), Fake::on(Network::Regtest));
    let servers = servers_of(&[&first, &second], Duration::from_secs(3_600));
    assert_eq!(servers.software(), Ok(Some("a fake on regtest".to_owned())));
}

#[test]
fn one_look_uses_one_server_and_fails_with_it() {
    let (first, second) = (Fake::on(Network::Regtest), Fake::on(Network::Regtest));
    let servers = servers_of(&[&first, &second], Duration::from_secs(3_600));
    first.more.store(true, Ordering::SeqCst);
    let part = look(&servers, None).unwrap();
    first.is_down.store(true, Ordering::SeqCst);
    assert!(look(&servers, Some(&part.token)).is_err(), "the second may know another chain");
    assert_eq!(second.looks(), 0);
    look(&servers, None).unwrap();
    assert_eq!(second.looks(), 1);
}

#[test]
fn server_of_another_network_is_asked_only_for_its_network() {
    let (other, ours) = (Fake::on(Network::Bitcoin), Fake::on(Network::Regtest));
    let servers = servers_of(&[&other, &ours], Duration::ZERO);
    servers.identity().unwrap();
    look(&servers, None).unwrap();
    servers.broadcast(&[]).unwrap();
    servers.fee_rates(6).unwrap();
    assert_eq!((other.asked.load(Ordering::SeqCst), other.looks()), (0, 0));
    ours.is_down.store(true, Ordering::SeqCst);
    let why = servers.tip().unwrap_err().0;
    assert!(
        why.message.contains("server 0")
            && why.message.contains("take it out of backendUrl")
            && why.message.contains("server 1"),
        "{why}"
    );
}
