//! The sandbox's network has Bitcoin Core's relay rules and accepts our transactions.

use tillgate_sandbox::Sandbox;

use super::*;

const NOW_MS: i64 = 1_767_225_600_000;

struct Network {
    sandbox: Sandbox,
    purse: Purse,
    _folder: tempfile::TempDir,
}

impl Network {
    /// A wallet with this many confirmed coins of this amount.
    fn with(address_type: AddressType, coins: u32, amount_sats: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::open(&folder.path().join("sandbox.db"), NOW_MS).unwrap();
        let mut purse = Purse::empty(1, address_type);
        for index in 0..coins {
            let script = purse.wallet.script(Keychain::External, index).unwrap();
            let txid = sandbox.send(script.clone(), amount_sats, NOW_MS).unwrap();
            let known = sandbox.changes_since(0, 10_000).unwrap().txs;
            let tx = known.into_iter().find(|known| known.txid == txid).unwrap().tx;
            let vout = tx.output.iter().position(|output| output.script_pubkey == script).unwrap();
            let outpoint = OutPoint { txid, vout: u32::try_from(vout).unwrap() };
            let any = purse.coin(amount_sats, Some(1));
            purse.coins.push(SpendableCoin {
                outpoint,
                index,
                keychain: Keychain::External,
                ..any
            });
        }
        sandbox.mine(1, false, NOW_MS).unwrap();
        Self { sandbox, purse, _folder: folder }
    }

    /// Signs, checks and broadcasts.
    fn sends(&self, spend: &UnsignedSpend, fee: &FeeWanted) -> (Transaction, Paid) {
        let tx = self.purse.signed(spend, fee);
        self.sandbox.broadcast(&tx, NOW_MS).unwrap();
        let vsize = tx.weight().to_vbytes_ceil();
        (tx, Paid { fee_sats: spend.fee_sats, vsize })
    }

    fn funding(&self, fee: FeeWanted) -> Funding<'_> {
        Funding { tip_height: self.sandbox.tip().unwrap().height, ..self.purse.funding(fee) }
    }
}

fn change_coin(spend: &UnsignedSpend, tx: &Transaction, paid: Paid) -> SpendableCoin {
    let change = spend.change.as_ref().unwrap();
    SpendableCoin {
        outpoint: OutPoint { txid: tx.compute_txid(), vout: spend.change_vout().unwrap() },
        amount_sats: change.amount_sats,
        keychain: Keychain::Internal,
        index: change.index,
        height: None,
        ancestors: 1,
        ancestors_vsize: paid.vsize,
        ancestors_fee_sats: paid.fee_sats,
    }
}

#[test]
fn nodes_accept_a_batch_its_child_bumps_and_the_abandonment() {
    for address_type in [AddressType::Bip84, AddressType::Bip86] {
        let mut network = Network::with(address_type, 4, 100_000);
        let payees = network.purse.payees(5, 30_000);
        let fee = FeeWanted::at(sat_vb(2));
        let first = choose(&payees, &network.funding(fee), [1; 32]).unwrap();
        let (first_tx, first_paid) = network.sends(&first, &fee);

        // A second batch spends the change of the first, and pays the higher fee rate for both.
        let spent = |coin: &SpendableCoin| first.inputs.contains(coin);
        network.purse.coins.retain(|coin| !spent(coin));
        let confirmed = network.purse.coins.clone();
        let change = change_coin(&first, &first_tx, first_paid);
        network.purse.change.index += 1;
        network.purse.change.script =
            network.purse.wallet.script(Keychain::Internal, network.purse.change.index).unwrap();
        let payees = network.purse.payees(4, 20_000);
        let fee = FeeWanted::at(sat_vb(5)).paying_for_ancestors(first_paid);
        let second =
            choose(&payees, &Funding { required: &[change], ..network.funding(fee) }, [2; 32])
                .unwrap();
        let (_, paid) = network.sends(&second, &fee);
        let together = (first_paid.fee_sats + paid.fee_sats, first_paid.vsize + paid.vsize);
        assert!(together.0 >= 5 * together.1);

        // Each version asks for 1 sat/vB only, and is still accepted because it outbids the earlier
        // ones.
        let mut versions = vec![paid];
        let mut inputs = second.inputs.clone();
        for _ in 0..5 {
            let fee = FeeWanted::at(sat_vb(1)).replacing(&versions);
            let funding =
                Funding { required: &inputs, optional: &confirmed, ..network.funding(fee) };
            let bump = choose(&payees, &funding, [3; 32]).unwrap();
            versions.push(network.sends(&bump, &fee).1);
            inputs = bump.inputs;
        }
        let fee = FeeWanted::at(sat_vb(1)).replacing(&versions);
        let funding = Funding { required: &inputs, optional: &[], ..network.funding(fee) };
        let (given_up, _) = network.sends(&to_ourselves(&funding, [4; 32]).unwrap(), &fee);

        network.sandbox.mine(1, false, NOW_MS).unwrap();
        let block = network.sandbox.block(network.sandbox.tip().unwrap().height).unwrap().unwrap();
        let mined: Vec<Txid> = block.txdata.iter().skip(1).map(Transaction::compute_txid).collect();
        assert_eq!(mined, [first_tx.compute_txid(), given_up.compute_txid()]);
    }
}

#[test]
fn nodes_accept_a_bump_that_needs_more_coins() {
    let mut network = Network::with(AddressType::Bip84, 6, 100_000);
    let payees = network.purse.payees(3, 30_000);
    let payees: Vec<_> =
        payees.into_iter().map(|payee| Payee { amount_sats: 33_000, ..payee }).collect();
    let coins = network.purse.coins.clone();
    let fee = FeeWanted::at(sat_vb(1));
    let only = Funding { optional: &coins[..1], ..network.funding(fee) };
    let first = choose(&payees, &only, [1; 32]).unwrap();
    let (_, paid) = network.sends(&first, &fee);
    let fee = FeeWanted::at(sat_vb(10)).replacing(&[paid]);
    let funding = Funding { required: &first.inputs, ..network.funding(fee) };
    let bump = choose(&payees, &funding, [2; 32]).unwrap();
    assert!(bump.inputs.len() > first.inputs.len());
    network.sends(&bump, &fee);
    network.sandbox.mine(1, false, NOW_MS).unwrap();
}

#[test]
fn nodes_accept_our_largest_transaction() {
    let mut network = Network::with(AddressType::Bip84, 1, 50_000_000);
    let payees = network.purse.payees(3_000, 600);
    let fee = FeeWanted::at(sat_vb(1));
    let (spend, places) = choose_most(&payees, &network.funding(fee), [1; 32]).unwrap();
    assert!(spend.vsize > MAX_VSIZE_WITH_ANCESTORS - 100, "{}", spend.vsize);
    assert!(places.is_sorted() && places.len() > 2_000);
    network.sends(&spend, &fee);
}
