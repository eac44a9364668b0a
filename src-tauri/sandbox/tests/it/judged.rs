//! The sandbox and Bitcoin Core accept and refuse the same blocks. A separate program that holds
//! Core's consensus engine judges every block. `TILLGATE_JUDGE` names it; `make consensus` builds
//! it and runs these tests.

use std::cell::{Cell, RefCell};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bitcoin::consensus::encode::serialize_hex;
use bitcoin::hashes::Hash as _;
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::{
    Amount, Block, BlockHash, OutPoint, ScriptBuf, Sequence, Target, Transaction, TxIn,
    TxMerkleNode, TxOut, Txid, Witness, absolute, transaction,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::common::{Fixture, NOW_MS, unsigned};
use crate::laws::{run, step};

/// Number of random histories or transactions in one run, unless `TILLGATE_JUDGE_CASES` gives
/// another.
const CASES: u32 = 20;

/// The judge's answer about a block.
struct Verdict {
    /// The judge's best block after it processed this block.
    tip: BlockHash,
    /// Why the block was refused; empty if it was accepted.
    refused: String,
}

/// The program, and the blocks that it has in common with the sandbox.
struct Judge {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The sandbox's blocks that the judge accepted, by height from 1 on.
    has: Vec<BlockHash>,
    _folder: tempfile::TempDir,
}

impl Judge {
    /// `None` if `TILLGATE_JUDGE` names no program.
    fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("TILLGATE_JUDGE").filter(|name| !name.is_empty())
        else {
            println!("not run: TILLGATE_JUDGE names no judge; `make consensus` builds it");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(program)
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) =
            (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        Some(Self { process, to, from, has: Vec::new(), _folder: folder })
    }

    fn judge(&mut self, block: &Block) -> Verdict {
        writeln!(self.to, "{}", serialize_hex(block)).unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let mut words = line.trim_end().splitn(3, ' ').skip(1);
        let tip = words
            .next()
            .unwrap_or_else(|| panic!("the judge ended at {}", block.block_hash()))
            .parse()
            .unwrap();
        Verdict { tip, refused: words.next().unwrap_or_default().to_owned() }
    }

    /// Sends the sandbox's new blocks to the judge, which must accept each and end at the sandbox's
    /// tip.
    fn must_follow(&mut self, f: &Fixture) {
        let height = f.sandbox.tip().unwrap().height;
        self.has.truncate(height as usize);
        let is_there = |height: usize, hash: &BlockHash| {
            f.sandbox.block(height as u32).unwrap().is_some_and(|block| block.block_hash() == *hash)
        };
        while self.has.last().is_some_and(|hash| !is_there(self.has.len(), hash)) {
            self.has.pop();
        }
        let mut tip = None;
        for height in self.has.len() as u32 + 1..=height {
            let block = f.sandbox.block(height).unwrap().unwrap();
            let verdict = self.judge(&block);
            assert_eq!(verdict.refused, "", "Core refuses block {height}: {block:?}");
            self.has.push(block.block_hash());
            tip = Some(verdict.tip);
        }
        assert!(
            tip.is_none_or(|tip| tip == f.sandbox.tip().unwrap().hash),
            "Core is on another branch"
        );
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn cases() -> u32 {
    std::env::var("TILLGATE_JUDGE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..Default::default()
    })
}

#[test]
fn core_accepts_every_block_of_any_history() {
    if Judge::start().is_none() {
        return;
    }
    let histories = prop::collection::vec(step(), 1..40);
    let outcome = runner().run(&histories, |steps| {
        let (mut f, mut seen, mut judge) = (Fixture::new(), Vec::new(), Judge::start().unwrap());
        judge.must_follow(&f);
        for step in &steps {
            f = run(f, &mut seen, step);
            judge.must_follow(&f);
        }
        Ok(())
    });
    outcome.unwrap();
}

/// An alteration of a spend of the shop's coin. The result is signed properly, unless the signature
/// is altered.
#[derive(Debug, Clone, Copy)]
enum Bend {
    Nothing,
    MoreThanItsInputs { by: u64 },
    OtherSignature { byte: usize },
    SignedForAnotherSum,
    NoWitness,
    SpentBefore,
    SameCoinTwice,
    UnknownCoin,
    LockedUntil { blocks_from_now: i32 },
    OldEnoughFrom { blocks: u16 },
    Version { version: i32 },
    NoOutputs,
    MoreThanThereIs,
}

fn bend() -> impl Strategy<Value = Bend> {
    prop_oneof![
        2 => Just(Bend::Nothing),
        1 => (1u64..3).prop_map(|by| Bend::MoreThanItsInputs { by }),
        2 => (0usize..72).prop_map(|byte| Bend::OtherSignature { byte }),
        1 => Just(Bend::SignedForAnotherSum),
        1 => Just(Bend::NoWitness),
        1 => Just(Bend::SpentBefore),
        1 => Just(Bend::SameCoinTwice),
        1 => Just(Bend::UnknownCoin),
        3 => (-2i32..3).prop_map(|blocks_from_now| Bend::LockedUntil { blocks_from_now }),
        3 => (0u16..6).prop_map(|blocks| Bend::OldEnoughFrom { blocks }),
        1 => any::<i32>().prop_map(|version| Bend::Version { version }),
        1 => Just(Bend::NoOutputs),
        1 => Just(Bend::MoreThanThereIs),
    ]
}

/// A spend of one of the shop's coins, altered as `bend` says.
fn bent(f: &Fixture, coin: (OutPoint, u64), bend: Bend) -> Transaction {
    let mut coins = vec![coin];
    let mut tx = unsigned(
        &coins,
        vec![TxOut { value: Amount::from_sat(coin.1), script_pubkey: f.shop.script.clone() }],
    );
    let (tip, value) = (f.sandbox.tip().unwrap().height, &mut tx.output[0].value);
    match bend {
        Bend::Nothing | Bend::OtherSignature { .. } | Bend::NoWitness => {}
        Bend::MoreThanItsInputs { by } => *value = Amount::from_sat(coin.1 + by),
        Bend::MoreThanThereIs => *value = Amount::from_sat(Amount::MAX_MONEY.to_sat() + 1),
        Bend::SignedForAnotherSum => coins[0].1 += 1,
        Bend::SpentBefore => {
            let first = f.shop.spend(&coins, 500);
            f.sandbox.mine_transactions(&[first], NOW_MS).unwrap();
        }
        Bend::SameCoinTwice => {
            let again = tx.input[0].clone();
            tx.input.push(again);
            coins.push(coin);
        }
        Bend::UnknownCoin => {
            coins[0].0.txid = Txid::from_byte_array([3; 32]);
            tx.input[0].previous_output = coins[0].0;
        }
        Bend::LockedUntil { blocks_from_now } => {
            let height = tip.saturating_add_signed(1 + blocks_from_now);
            tx.lock_time = absolute::LockTime::from_height(height).unwrap();
        }
        Bend::OldEnoughFrom { blocks } => tx.input[0].sequence = Sequence::from_height(blocks),
        Bend::Version { version } => tx.version = transaction::Version(version),
        Bend::NoOutputs => tx.output.clear(),
    }
    f.shop.sign(&mut tx, &coins);
    if let Bend::OtherSignature { byte } = bend {
        let mut items = tx.input[0].witness.to_vec();
        let at = byte % items[0].len();
        items[0][at] ^= 1;
        tx.input[0].witness = Witness::from_slice(&items);
    }
    if let Bend::NoWitness = bend {
        tx.input[0].witness = Witness::new();
    }
    tx
}

/// A block on the sandbox's tip that holds this transaction and is otherwise valid.
fn block_of(f: &Fixture, tx: Transaction) -> Block {
    let tip = f.sandbox.tip().unwrap();
    let mut header = f.sandbox.block(tip.height).unwrap().unwrap().header;
    let script = Builder::new()
        .push_int(i64::from(tip.height) + 1)
        .push_int(7)
        .push_slice([9; 8])
        .into_script();
    let input = TxIn {
        previous_output: OutPoint::null(),
        script_sig: script,
        sequence: Sequence::MAX,
        witness: Witness::from_slice(&[[0; 32]]),
    };
    let output =
        vec![TxOut { value: Amount::from_sat(1_000), script_pubkey: f.shop.script.clone() }];
    let coinbase = Transaction {
        version: transaction::Version::TWO,
        lock_time: absolute::LockTime::ZERO,
        input: vec![input],
        output,
    };
    header.prev_blockhash = tip.hash;
    header.time += 1;
    header.merkle_root = TxMerkleNode::all_zeros();
    let mut block = Block { header, txdata: vec![coinbase, tx] };
    let root = block.witness_root().unwrap();
    let mut commitment = PushBytesBuf::from([0xaa, 0x21, 0xa9, 0xed]);
    commitment
        .extend_from_slice(Block::compute_witness_commitment(&root, &[0; 32]).as_byte_array())
        .unwrap();
    let commitment = ScriptBuf::new_op_return(commitment);
    block.txdata[0].output.push(TxOut { value: Amount::ZERO, script_pubkey: commitment });
    block.header.merkle_root = block.compute_merkle_root().unwrap();
    while block.header.validate_pow(Target::MAX_ATTAINABLE_REGTEST).is_err() {
        block.header.nonce += 1;
    }
    block
}

#[test]
fn core_and_the_sandbox_refuse_the_same_transactions() {
    let Some(judge) = Judge::start() else { return };
    let (judge, f) = (RefCell::new(judge), Fixture::new());
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let outcome = runner().run(&(bend(), 0u32..4), |(bend, age)| {
        // Each case has its own coin, so that no two cases conflict.
        let txid = *f.sandbox.pay(pay(&f), NOW_MS).unwrap().first().unwrap();
        f.sandbox.mine(1 + age, false, NOW_MS).unwrap();
        let tx = bent(&f, f.shop_coin(txid), bend);
        judge.borrow_mut().must_follow(&f);
        let before = f.sandbox.tip().unwrap().hash;
        let verdict = judge.borrow_mut().judge(&block_of(&f, tx.clone()));
        let core_accepts = verdict.refused.is_empty() && verdict.tip != before;
        let mined = f.sandbox.mine_transactions(&[tx], NOW_MS);
        assert_eq!(
            core_accepts,
            mined.is_ok(),
            "{bend:?} at age {age}: Core {:?}, the sandbox {mined:?}",
            verdict.refused
        );
        let count = if core_accepts { &accepted } else { &refused };
        count.set(count.get() + 1);
        // One more block makes the sandbox's branch longer than the judged block's, so that Core
        // switches to it.
        f.sandbox.mine(1, true, NOW_MS).unwrap();
        judge.borrow_mut().must_follow(&f);
        Ok(())
    });
    outcome.unwrap();
    let (accepted, refused) = (accepted.get(), refused.get());
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 0 && refused > 0);
}

fn pay(f: &Fixture) -> tillgate_sandbox::Pay {
    let script = f.shop.script.clone();
    tillgate_sandbox::Pay {
        script,
        amount_sats: 1_000_000,
        parts: 1,
        fee_rate_sat_vb: None,
        confirmations: 0,
    }
}
