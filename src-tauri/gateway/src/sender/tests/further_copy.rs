//! Another copy of the wallet uses addresses far beyond those that this copy gave.

use bitcoin::hashes::Hash as _;
use bitcoin::{FeeRate, OutPoint, ScriptBuf, Transaction, WPubkeyHash};
use tillgate_machine::secrets::Purpose;
use tillgate_store::keychains::Keychain;

use crate::testing::World;
use crate::testing::sending::stage_with_coins;
use crate::testing::stage::Backend;
use crate::wallet::spend::{self, FeeWanted, FreshChange, Funding, Payee, SpendableCoin};

/// Number of addresses that the other copy gave after the copy was made. This copy derives more
/// ahead.
const FURTHER: u32 = 150;

/// Spends a whole coin to a stranger, without change.
fn pays_without_change(
    world: &World,
    (outpoint, index): (OutPoint, u32),
    amount_sats: u64,
) -> Transaction {
    let wallet = world.gateway.wallet.get().unwrap();
    let (keychain, height) = (Keychain::External, Some(1));
    let coin = SpendableCoin {
        outpoint,
        amount_sats,
        keychain,
        index,
        height,
        ancestors: 0,
        ancestors_vsize: 0,
        ancestors_fee_sats: 0,
    };
    let funding = Funding {
        required: &[coin],
        optional: &[],
        fee: FeeWanted::at(FeeRate::from_sat_per_vb_u32(3)),
        change: &FreshChange { script: wallet.change.script(0).unwrap(), index: 0 },
        address_type: wallet.keychains.address_type(),
        tip_height: 1,
    };
    let somebody = ScriptBuf::new_p2wpkh(&WPubkeyHash::hash(b"somebody"));
    let payee = Payee { script: somebody, amount_sats: amount_sats - 500 };
    let spend = spend::choose(&[payee], &funding, [7; 32]).unwrap();
    assert!(spend.change.is_none());
    let words = world.gateway.machine.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap();
    spend::sign(&spend, &words, &wallet.keychains).unwrap()
}

fn held_for(world: &World) -> Option<String> {
    world.gateway.store.read(|reader| reader.sender_hold()).unwrap().map(|hold| hold.reason.message)
}

#[tokio::test]
async fn a_copy_further_ahead_that_pays_without_change_is_noticed() {
    for backend in [Backend::Sandbox, Backend::Core] {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let wallet = world.gateway.wallet.get().unwrap();
        let next = world
            .gateway
            .store
            .read(|reader| reader.keychain(Keychain::External))
            .unwrap()
            .unwrap()
            .1;
        let index = next + FURTHER;
        let script = wallet.addresses.script(index).unwrap();
        world.sandbox().send(script.clone(), 500_000, world.now_ms()).unwrap();
        world.mine(2).await;
        assert!(
            held_for(world).is_some(),
            "{backend:?}: a coin of the other copy did not hold the sender"
        );
        assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
        let coin = world.sandbox().outputs_to(&script).unwrap()[0].outpoint;
        let twin = pays_without_change(world, (coin, index), 500_000);
        world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
        world.look().await;
        let reason = held_for(world).expect("a payment of the other copy holds the sender");
        assert!(reason.contains(&twin.compute_txid().to_string()), "{backend:?}: {reason}");
    }
}
