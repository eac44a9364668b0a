use bitcoin::{Address, Network, Txid};
use tillgate_gateway::testing::World;
use tillgate_store::payments::PaymentRow;

use crate::payments::ShowPayment;
use crate::payouts::ShowPayout;
use crate::wallet::{ImportLabels, ImportedLabels, WalletInfo, WalletLabels};
use crate::{Actor, CommandError, ask};

const FOREIGN: &str = "f91d0a8a78462bc59398f2c5d7a84fcff491c26ba54c4833478b202796c8aafd";

/// A world in which a customer paid into the wallet, with the payment and its transaction.
async fn paid() -> (World, PaymentRow, String) {
    let world = World::new().await;
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    let txid = world.customer_pays(&payment, 1_000_000).to_string();
    world.mine(2).await;
    world.look().await;
    (world, payment, txid)
}

async fn import(world: &World, bytes: impl AsRef<[u8]>) -> Result<ImportedLabels, CommandError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("labels.jsonl");
    std::fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap().to_owned();
    ask(&world.app, ImportLabels { file }, &Actor::panel()).await
}

/// All lines of the export.
async fn exported(world: &World) -> Vec<String> {
    let (mut lines, mut after) = (Vec::new(), None);
    loop {
        let page =
            ask(&world.app, WalletLabels { after, limit: None }, &Actor::panel()).await.unwrap();
        lines.extend(page.items.iter().map(|label| serde_json::to_string(label).unwrap()));
        after = page.next;
        if after.is_none() {
            return lines;
        }
    }
}

async fn labels_of(world: &World, payment: &PaymentRow) -> Vec<String> {
    let payment_id = payment.payment.id.to_string();
    ask(&world.app, ShowPayment { payment_id }, &Actor::panel()).await.unwrap().labels
}

/// The output of a transaction that pays the payment.
async fn output_of(world: &World, payment: &PaymentRow) -> String {
    let lines = exported(world).await;
    let id = payment.payment.id.to_string();
    let line = lines
        .iter()
        .find(|line| line.contains(r#""type":"output""#) && line.contains(&id))
        .unwrap();
    serde_json::from_str::<serde_json::Value>(line).unwrap()["ref"].as_str().unwrap().to_owned()
}

/// All that a label must not change: the payment, the balance and the notifications.
async fn state_of(world: &World, payment: &PaymentRow) -> String {
    let payment_id = payment.payment.id.to_string();
    let mut view = ask(&world.app, ShowPayment { payment_id }, &Actor::panel()).await.unwrap();
    view.labels.clear();
    let wallet = ask(&world.app, WalletInfo::default(), &Actor::panel()).await.unwrap().record;
    format!("{view:?} {wallet} {:?}", world.notified(&payment.payment.id))
}

#[tokio::test]
async fn labels_of_sparrow_are_shown_and_exported() {
    let (world, payment, txid) = paid().await;
    let before = state_of(&world, &payment).await;
    let (address, output) = (payment.address.clone(), output_of(&world, &payment).await);
    // As Sparrow 2.5 writes it: members of its own, and no `label` where a person gave none.
    let file = [
        r#"{"type":"xpub","ref":"tpubDC5","label":"Till"}"#.to_owned(),
        format!(
            r#"{{"type":"tx","ref":"{txid}","label":"Ann's \"dinner\" für 2","origin":"wpkh([0604bfe6/84h/1h/0h])","height":1,"time":"2026-01-12T12:06:20Z","fee":140,"value":1000000,"rate":{{"USD":50000.0}}}}"#
        ),
        r#"{"type":"addr","ref":"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080","keypath":"/0/9","heights":[]}"#
            .to_owned(),
        format!(
            r#"{{"type":"addr","ref":"{}","label":"Table 4","keypath":"/0/0","heights":[1]}}"#,
            address.to_uppercase()
        ),
        format!(
            r#"{{"type":"output","ref":"{output}","label":"Dinner","spendable":false,"keypath":"/0/0","value":1000000}}"#
        ),
        format!(r#"{{"type":"input","ref":"{txid}:0","label":"Dinner (input)"}}"#),
        format!(r#"{{"type":"tx","ref":"{FOREIGN}","label":"of another wallet"}}"#),
        format!(r#"{{"type":"output","ref":"{FOREIGN}:0","spendable":false}}"#),
        String::new(),
    ];
    let told = import(&world, file.join("\n")).await.unwrap();
    let expected = ImportedLabels {
        imported: 3,
        unchanged: 0,
        foreign: 1,
        foreign_lines: vec![7],
        unkept: 2,
        unkept_types: vec!["input".to_owned(), "xpub".to_owned()],
        cut: 0,
        replaced: 0,
        frozen: 1,
    };
    assert_eq!(told, expected);
    assert_eq!(labels_of(&world, &payment).await, ["Table 4", "Ann's \"dinner\" für 2", "Dinner"]);
    assert_eq!(
        state_of(&world, &payment).await,
        before,
        "a label changes no money, state or notification"
    );
    let lines = exported(&world).await;
    for line in [
        format!(r#"{{"type":"tx","ref":"{txid}","label":"Ann's \"dinner\" für 2"}}"#),
        format!(r#"{{"type":"addr","ref":"{address}","label":"Table 4"}}"#),
        format!(r#"{{"type":"output","ref":"{output}","label":"Dinner"}}"#),
    ] {
        let (thing, _) = line.split_once(r#","label""#).unwrap();
        assert!(lines.contains(&line), "{lines:?}");
        assert_eq!(
            lines.iter().filter(|other| other.contains(thing)).count(),
            1,
            "one label for each thing: {lines:?}"
        );
    }
}

#[tokio::test]
async fn an_import_done_twice_changes_nothing() {
    let (world, _, txid) = paid().await;
    let file = format!(r#"{{"type":"tx","ref":"{txid}","label":"Dinner"}}"#);
    assert_eq!(import(&world, &file).await.unwrap().imported, 1);
    let acts = || world.gateway.store.read(|reader| reader.imported_labels(0, 10)).unwrap();
    let before = acts();
    let again = import(&world, &file).await.unwrap();
    assert_eq!((again.imported, again.unchanged), (0, 1));
    assert_eq!(acts(), before);
}

#[tokio::test]
async fn our_own_export_is_not_kept_as_labels_of_others() {
    let (world, payment, txid) = paid().await;
    let own = exported(&world).await;
    let told = import(&world, own.join("\r\n")).await.unwrap();
    assert_eq!((told.imported, told.unchanged, told.foreign), (0, 3, 0), "{own:?}");
    assert_eq!(labels_of(&world, &payment).await, Vec::<String>::new());
    import(&world, format!(r#"{{"type":"tx","ref":"{txid}","label":"Dinner"}}"#)).await.unwrap();
    assert_ne!(exported(&world).await, own);
    assert_eq!(
        import(&world, own.join("\n")).await.unwrap().imported,
        1,
        "our own label comes back"
    );
    assert_eq!(exported(&world).await, own);
}

#[tokio::test]
async fn one_bad_line_refuses_the_whole_file() {
    let (world, payment, txid) = paid().await;
    let good = format!("{{\"type\":\"tx\",\"ref\":\"{txid}\",\"label\":\"Dinner\"}}\n");
    for (bad, told) in [
        (&b"{\"type\":\"tx\",\"ref\":"[..], "line 2 is no JSON object (EOF while parsing a value)"),
        (b"{\"ref\":\"x\",\"label\":\"y\"}", "line 2 has no text `type`"),
        (b"{\"type\":\"tx\",\"label\":\"y\"}", "line 2 has no text `ref`"),
        (b"{\"type\":\"tx\",\"ref\":7,\"label\":\"y\"}", "line 2 has no text `ref`"),
        (b"{\"type\":\"tx\",\"ref\":\"x\",\"label\":[\"y\"]}", "line 2 has no text `label`"),
        (b"[\"tx\",\"x\",\"y\"]", "line 2 is no JSON object"),
        (b"{\"items\":[]}", "line 2 has no text `type`"),
        (b"f91d0a8a,Dinner", "line 2 is no JSON object"),
        (b"{\"type\":\"tx\",\"ref\":\"x\",\"label\":\"\\ud83c\"}", "line 2 is no JSON object"),
        (b"{\"type\":\"tx\",\"ref\":\"x\",\"label\":\"Caf\xe9\"}", "line 2 is not UTF-8"),
    ] {
        let refusal = import(&world, [good.as_bytes(), bad, b"\n", good.as_bytes()].concat())
            .await
            .unwrap_err();
        assert!(refusal.message.starts_with(told), "{refusal}");
        assert!(refusal.message.ends_with("Nothing was imported"), "{refusal}");
        assert_eq!(
            (refusal.field.as_deref(), refusal.error_type.as_str()),
            (Some("file"), "VALIDATION_FAILED")
        );
        assert_eq!(labels_of(&world, &payment).await, Vec::<String>::new(), "{told}");
    }
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let refusal = import(&world, [b"\xff\xfe".to_vec(), utf16].concat()).await.unwrap_err();
    assert!(
        refusal.message.starts_with("line 1 is not UTF-8: save the file as UTF-8"),
        "{refusal}"
    );
    let missing = ImportLabels { file: "/no/such/file".to_owned() };
    let refusal = ask(&world.app, missing, &Actor::panel()).await.unwrap_err();
    assert!(refusal.message.starts_with("/no/such/file cannot be read (No such file"), "{refusal}");
}

#[tokio::test]
async fn files_of_windows_and_of_other_programs_are_read() {
    let (world, payment, txid) = paid().await;
    let lines = [
        format!(r#"{{ "type" : "tx" , "ref" : " {} " , "label" : " Dinner\nfor two " }}"#, txid.to_uppercase()),
        String::new(),
        format!(r#"{{"type":"tx","ref":"{txid}","label":null}}"#),
        format!(r#"{{"type":"tx","ref":"{txid}","label":"  "}}"#),
        r#"{"type":"address","ref":"x","label":"y"}"#.to_owned(),
        r#"{"type":"addr","ref":"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4","label":"main network"}"#.to_owned(),
        r#"{"type":"tx","ref":"cut off","label":"y"}"#.to_owned(),
    ];
    let told = import(&world, format!("\u{feff}{}", lines.join("\r\n"))).await.unwrap();
    assert_eq!(
        (told.imported, told.foreign_lines, told.unkept_types),
        (1, vec![6, 7], vec!["address".to_owned()])
    );
    assert_eq!(labels_of(&world, &payment).await, ["Dinner for two"]);
}

#[tokio::test]
async fn a_long_label_is_cut_and_a_later_line_holds() {
    let (world, payment, txid) = paid().await;
    let line =
        |label: &str| format!("{{\"type\":\"tx\",\"ref\":\"{txid}\",\"label\":\"{label}\"}}\n");
    let told = import(&world, line("first") + &line(&"ü".repeat(300))).await.unwrap();
    assert_eq!((told.imported, told.cut, told.replaced), (1, 1, 1));
    assert_eq!(labels_of(&world, &payment).await, [format!("{}…", "ü".repeat(254))]);
    let again = import(&world, line(&"ü".repeat(300))).await.unwrap();
    assert_eq!((again.imported, again.unchanged), (0, 1));
}

#[tokio::test]
async fn a_payout_and_its_change_can_have_labels() {
    let (world, _, _) = paid().await;
    let payout = world.approved_payout(300_000).await;
    world.look().await;
    world.send().await;
    let payout_id = payout.to_string();
    let shown = || async {
        ask(&world.app, ShowPayout { payout_id: payout_id.clone() }, &Actor::panel()).await.unwrap()
    };
    let view = shown().await;
    let txid: Txid = view.versions[0].btc_tx_id.parse().unwrap();
    let scripts = world.gateway.store.read(|reader| reader.scripts_without_payment()).unwrap();
    let change = Address::from_script(scripts.iter().next().unwrap(), Network::Regtest).unwrap();
    let file = [
        format!(r#"{{"type":"addr","ref":"{}","label":"Bob"}}"#, view.item.address),
        format!(r#"{{"type":"tx","ref":"{txid}","label":"Flour"}}"#),
        format!(r#"{{"type":"addr","ref":"{change}","label":"the rest"}}"#),
    ];
    let told = import(&world, file.join("\n")).await.unwrap();
    assert_eq!((told.imported, told.foreign), (3, 0));
    assert_eq!(shown().await.labels, ["Bob", "Flour"]);
    assert!(exported(&world).await.contains(&file[2]), "the label of the change is exported");
}
