//! The sandbox's chain, shown by a backend that asks about single scripts. It reports only
//! transactions that pay or spend a script that it was asked about.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::{ScriptBuf, TxIn, Txid};
use parking_lot::Mutex;
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::checks::conflicts::parents_first;
use tillgate_chain::hot_scripts::HotMark;
use tillgate_chain::sandbox::facts;
use tillgate_chain::{
    Chain, ChainDown, Covered, HotScripts, LookAnswer, LookRequest, ScriptState, Sees, Tip,
    TxFacts, TxPosition,
};
use tillgate_sandbox::Sandbox;

/// More changes than a test makes.
const ALL: usize = 1_000_000;

pub struct ByScript {
    chain: Arc<dyn Chain>,
    sandbox: Arc<Sandbox>,
    hot: Mutex<Subscribed>,
    /// The last report of each unsettled transaction.
    followed: Mutex<HashMap<Txid, String>>,
    /// The number of scripts to ask about in one look: first the required ones, then the hot ones,
    /// then the rest.
    pub asks: AtomicUsize,
    pub asked: AtomicUsize,
}

#[derive(Default)]
struct Subscribed {
    mark: Option<HotMark>,
    scripts: HashSet<ScriptBuf>,
}

impl ByScript {
    pub fn new(chain: Arc<dyn Chain>, sandbox: Arc<Sandbox>) -> Self {
        let (asks, asked) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
        let (hot, followed) = (Mutex::default(), Mutex::default());
        Self { chain, sandbox, hot, followed, asks, asked }
    }

    fn hot(&self, hot: &HotScripts) -> Vec<ScriptBuf> {
        let mut known = self.hot.lock();
        let changes = hot.changes_since(known.mark);
        if changes.is_all {
            known.scripts.clear();
        }
        known.scripts.extend(changes.hot.into_iter().map(|(script, _)| script));
        changes.cooled.iter().for_each(|script| {
            known.scripts.remove(script);
        });
        known.mark = Some(changes.mark);
        let mut scripts: Vec<_> = known.scripts.iter().cloned().collect();
        scripts.sort();
        scripts
    }
}

/// A server's knowledge of the chain.
struct Histories {
    facts: BTreeMap<Txid, TxFacts>,
    /// All transactions that ever paid or spent each script.
    touched: HashMap<ScriptBuf, BTreeSet<Txid>>,
}

impl Histories {
    fn load(sandbox: &Sandbox) -> (Self, Tip) {
        let changes = sandbox.changes_since(0, ALL).unwrap();
        let tip = tillgate_chain::sandbox::tip(changes.tip);
        let facts: BTreeMap<_, _> =
            changes.txs.into_iter().map(|view| (view.txid, facts(view))).collect();
        let mut touched: HashMap<ScriptBuf, BTreeSet<Txid>> = HashMap::new();
        for (txid, TxFacts { tx, .. }) in &facts {
            let spent = tx.input.iter().filter_map(|TxIn { previous_output: from, .. }| {
                let parent = &facts.get(&from.txid)?.tx;
                parent.output.get(usize::try_from(from.vout).ok()?)
            });
            for output in tx.output.iter().chain(spent) {
                touched.entry(output.script_pubkey.clone()).or_default().insert(*txid);
            }
        }
        (Self { facts, touched }, tip)
    }

    fn of_script(&self, script: &ScriptBuf) -> Vec<(&Txid, &TxFacts)> {
        let txids = self.touched.get(script).into_iter().flatten();
        txids.filter_map(|txid| self.facts.get_key_value(txid)).collect()
    }
}

fn state(history: &[(&Txid, &TxFacts)]) -> Vec<u8> {
    let words: String = history.iter().map(|(_, facts)| format!("{facts:?}")).collect();
    sha256::Hash::hash(words.as_bytes()).to_byte_array().to_vec()
}

impl ChainWrapper for ByScript {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        self.chain.tip()?;
        let (histories, tip) = Histories::load(&self.sandbox);
        let scripts = request.scripts;
        let hot = self.hot(scripts.hot);
        let asks = self.asks.load(Ordering::SeqCst);
        let first: Vec<_> = scripts.required.iter().chain(&hot).take(asks).collect();
        let cold: Vec<_> = scripts.cold.iter().take(asks - first.len()).collect();
        self.asked.store(first.len() + cold.len(), Ordering::SeqCst);
        let (mut told, mut states) = (BTreeMap::new(), Vec::new());
        let covered: HashSet<ScriptBuf> =
            first.iter().chain(&cold).map(|script| (**script).clone()).collect();
        for script in first.iter().chain(&cold) {
            let history = histories.of_script(script);
            let state = state(&history);
            if scripts.known.state(script).as_ref() == Some(&state)
                || (history.is_empty() && scripts.known.state(script).is_none())
            {
                continue;
            }
            // Like a server, it reports no absent transaction, except those that the database
            // knows.
            let is_known = |txid: &Txid| {
                scripts.known.transactions(script).iter().any(|(tx, _)| tx.compute_txid() == *txid)
            };
            let tells = history
                .into_iter()
                .filter(|(txid, facts)| facts.position != TxPosition::Absent || is_known(txid));
            told.extend(tells.map(|(txid, facts)| (*txid, facts.clone())));
            states.push(ScriptState { script: (**script).clone(), state });
        }
        // The rival of an unsettled transaction may be in no history of ours.
        let mut followed = self.followed.lock();
        for tx in request.watch.unsettled(tip.height.saturating_sub(10)) {
            let txid = tx.compute_txid();
            let Some(facts) = histories.facts.get(&txid) else { continue };
            if followed.insert(txid, format!("{facts:?}")) != Some(format!("{facts:?}")) {
                told.insert(txid, facts.clone());
            }
        }
        let mut txs = parents_first(told, |facts| &facts.tx);
        txs.retain(|facts| request.watch.concerns(&facts.tx));
        let from_start = request.token.is_none();
        Ok(LookAnswer {
            token: vec![1],
            from_start,
            left_above: None,
            more: false,
            tip,
            seen_height: tip.height,
            median_time: None,
            txs,
            unknown: Vec::new(),
            covered: Covered::Scripts(covered),
            refused: HashSet::new(),
            cold_taken: cold.len(),
            states,
        })
    }

    fn sees(&self) -> Sees {
        Sees::Scripts
    }
}
