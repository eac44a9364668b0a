use std::collections::BTreeMap;

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;
use tillgate_domain::time::Timestamp;
use tillgate_machine::environment::Environment;
use tillgate_store::backups::FolderRow;
use tillgate_store::{Store, Tx};

mod bounds;
mod page;

use super::forms::Network;
use super::*;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("tillgate.db")).unwrap();
    (folder, store)
}

fn live(store: &Store) -> LiveSettings {
    LiveSettings::load(Environment::Test, &BTreeMap::new(), store).unwrap()
}

const ACT: Act<'static> = Act { actor: "cli", at: Timestamp::from_ms(1_000) };

#[test]
fn a_default_is_read_back_as_it_is_shown() {
    for environment in [Environment::Test, Environment::Production] {
        let defaults = Settings::defaults(environment);
        for setting in SETTINGS.iter() {
            let mut settings = defaults.clone();
            setting.apply(&mut settings, &(setting.text)(&defaults)).unwrap();
            assert_eq!(settings, defaults, "{}", setting.name);
        }
    }
}

#[test]
fn each_setting_has_a_unique_name_and_a_sentence() {
    for (index, setting) in SETTINGS.iter().enumerate() {
        assert!(
            SETTINGS.iter().skip(index + 1).all(|other| other.name != setting.name),
            "{}",
            setting.name
        );
        assert!(setting.about.ends_with('.') && !setting.form.ends_with('.'), "{}", setting.name);
    }
}

#[tokio::test]
async fn a_set_value_takes_effect_at_once_and_survives_a_restart() {
    let (_folder, store) = store();
    let settings = live(&store);
    let shown = settings.set(&store, "publicUrl", "https://Pay.Example/", ACT).await.unwrap();
    assert_eq!((shown.value.as_str(), shown.default.as_str()), ("https://pay.example", ""));
    assert_eq!(settings.snapshot().public_url.as_deref(), Some("https://pay.example"));
    assert_eq!(live(&store).snapshot().public_url.as_deref(), Some("https://pay.example"));
    settings.unset(&store, "publicUrl", ACT).await.unwrap();
    assert_eq!(settings.snapshot().public_url, None);
    assert_eq!(live(&store).snapshot().public_url, None);
}

#[tokio::test]
async fn a_refused_value_changes_nothing() {
    let (_folder, store) = store();
    let settings = live(&store);
    assert!(matches!(
        settings.set(&store, "tolerancePerMille", "101", ACT).await,
        Err(SettingError::Value { name: "tolerancePerMille", .. })
    ));
    assert!(matches!(
        settings.set(&store, "nothing", "1", ACT).await,
        Err(SettingError::Unknown(_))
    ));
    assert_eq!(*settings.snapshot(), Settings::defaults(Environment::Test));
}

#[tokio::test]
async fn the_floor_of_fee_rates_is_never_above_their_cap() {
    let (_folder, store) = store();
    let settings = live(&store);
    let is_refused = |changed| matches!(changed, Err(SettingError::FloorAboveCap { .. }));
    assert!(is_refused(settings.set(&store, "feeFloorSatVb", "201", ACT).await));
    settings.set(&store, "feeCapSatVb", "300", ACT).await.unwrap();
    settings.set(&store, "feeFloorSatVb", "300", ACT).await.unwrap();
    assert!(is_refused(settings.set(&store, "feeCapSatVb", "299", ACT).await));
    assert!(is_refused(settings.unset(&store, "feeCapSatVb", ACT).await));
    let again = live(&store).snapshot();
    assert_eq!((again.fee_floor_sat_vb, again.fee_cap_sat_vb), (300, 300));
    let given = Override { value: "10".to_owned(), by: "TILLGATE_FEE_CAP_SAT_VB".to_owned() };
    let overrides = BTreeMap::from([("feeCapSatVb".to_owned(), given)]);
    assert!(is_refused(
        LiveSettings::load(Environment::Test, &overrides, &store)
            .map(|_| settings.list().remove(0))
    ));
}

#[tokio::test]
async fn the_fallback_fee_rate_is_one_on_regtest_unless_it_is_set() {
    let (_folder, store) = store();
    let settings = live(&store);
    let shown = |settings: &LiveSettings| {
        let SettingNow { value, default, .. } = settings.show("feeFallbackSatVb").unwrap();
        (value, default, settings.snapshot().fee_fallback_sat_vb)
    };
    let is = |value: &str, default: &str| {
        (value.to_owned(), default.to_owned(), value.parse::<u32>().unwrap())
    };
    assert_eq!(shown(&settings), is("0", "0"));
    settings.set(&store, "network", "regtest", ACT).await.unwrap();
    assert_eq!(shown(&settings), is("1", "1"));
    assert_eq!(shown(&live(&store)), is("1", "1"));
    settings.set(&store, "feeFallbackSatVb", "0", ACT).await.unwrap();
    assert_eq!(shown(&live(&store)), is("0", "1"));
    settings.unset(&store, "feeFallbackSatVb", ACT).await.unwrap();
    assert_eq!(shown(&settings), is("1", "1"));
}

#[tokio::test]
async fn a_daily_limit_below_the_minimum_is_refused_unless_it_is_zero() {
    let (_folder, store) = store();
    let settings = live(&store);
    let both = [("dailyLimitBtc", Some("0.02")), ("minPayoutBtc", Some("0.5"))];
    let (name, refused) = settings.change(&store, &both, ACT).await.unwrap_err();
    assert_eq!(name, "minPayoutBtc");
    let refused = refused.to_string();
    assert!(
        refused.contains("would be 0.5 above 0.02") && refused.contains("raise the other"),
        "{refused}"
    );
    assert_eq!(
        *settings.snapshot(),
        Settings::defaults(Environment::Test),
        "a refused change must store nothing"
    );

    let is_refused = |changed| matches!(changed, Err(SettingError::MinimumAboveDaily { .. }));
    assert!(is_refused(settings.set(&store, "minPayoutBtc", "1.00000001", ACT).await));
    settings.set(&store, "minPayoutBtc", "1", ACT).await.unwrap();
    assert!(is_refused(settings.set(&store, "dailyLimitBtc", "0.99999999", ACT).await));
    settings.set(&store, "dailyLimitBtc", "0", ACT).await.unwrap();
}

#[tokio::test]
async fn old_limits_without_a_payout_block_no_other_settings_change() {
    let (_folder, store) = store();
    let limits = |tx: &Tx<'_>| {
        tx.put_setting("dailyLimitBtc", "0.02")?;
        tx.put_setting("minPayoutBtc", "0.5")
    };
    store.write(limits).await.unwrap();
    let settings = live(&store);
    settings.set(&store, "merchantName", "Shop", ACT).await.unwrap();
    settings.set(&store, "minPayoutBtc", "0.02", ACT).await.unwrap();
}

#[tokio::test]
async fn fixed_rates_are_refused_in_production() {
    let (_folder, store) = store();
    live(&store).set(&store, "fixedRates", "USD:50000.00", ACT).await.unwrap();
    assert_eq!(
        live(&store).snapshot().rate_rules().fixed,
        [(Currency::USD, Decimal::from(50_000))]
    );

    let (_folder, store) = self::store();
    let production = LiveSettings::load(Environment::Production, &BTreeMap::new(), &store).unwrap();
    let is_refused = |error| matches!(error, SettingError::FixedRatesInProduction);
    assert!(is_refused(production.with(&[("fixedRates", Some("USD:50000.00"))]).unwrap_err().1));
    assert!(is_refused(
        production.set(&store, "fixedRates", "USD:50000.00", ACT).await.unwrap_err()
    ));
    let given =
        Override { value: "USD:50000.00".to_owned(), by: "TILLGATE_FIXED_RATES".to_owned() };
    let overrides = BTreeMap::from([("fixedRates".to_owned(), given)]);
    assert!(is_refused(
        LiveSettings::load(Environment::Production, &overrides, &store).unwrap_err()
    ));
    production.set(&store, "fixedRates", "", ACT).await.unwrap();
}

#[test]
fn the_usd_rate_is_asked_for_whatever_the_currencies() {
    let mut settings = Settings::defaults(Environment::Test);
    settings.currencies = vec![Currency::from_code("CHF").unwrap()];
    assert!(settings.rate_rules().currencies.contains(&Currency::USD));
}

#[tokio::test]
async fn a_value_given_at_the_start_overrides_the_stored_one() {
    let (_folder, store) = store();
    live(&store).set(&store, "publicUrl", "https://stored.example", ACT).await.unwrap();
    let given =
        Override { value: "https://given.example".to_owned(), by: "--public-url".to_owned() };
    let overrides = BTreeMap::from([("publicUrl".to_owned(), given)]);
    let settings = LiveSettings::load(Environment::Test, &overrides, &store).unwrap();
    assert_eq!(settings.snapshot().public_url.as_deref(), Some("https://given.example"));
    let error = settings.set(&store, "publicUrl", "", ACT).await.unwrap_err();
    assert!(error.to_string().contains("--public-url"), "{error}");
}

#[tokio::test]
async fn the_default_replaces_an_invalid_stored_value() {
    let (_folder, store) = store();
    store.write(|tx| tx.put_setting("tolerancePerMille", "900")).await.unwrap();
    store.write(|tx| tx.put_setting("ofANewerProgram", "1")).await.unwrap();
    assert_eq!(*live(&store).snapshot(), Settings::defaults(Environment::Test));
}

#[tokio::test]
async fn an_unknown_stored_backend_is_refused_until_another_is_chosen() {
    let (_folder, store) = store();
    store.write(|tx| tx.put_setting("backend", "other")).await.unwrap();
    store.write(|tx| tx.put_setting("backendUrl", "https://node.example")).await.unwrap();
    let settings = live(&store);
    let why = settings.snapshot().backend_refused.clone().unwrap();
    assert!(why.contains("backend must be core or electrum"), "{why}");
    settings.set(&store, "merchantName", "Bakery", ACT).await.unwrap();
    assert!(
        settings.snapshot().backend_refused.is_some(),
        "a change of another setting must keep the refusal"
    );
    let electrum =
        [("backend", Some("electrum")), ("backendUrl", Some("ssl://electrum.example:50002"))];
    assert_eq!(
        settings.with(&electrum).unwrap().backend_refused,
        None,
        "a test of unsaved values from a form must ask the server in that form"
    );
    settings.change(&store, &electrum, ACT).await.unwrap();
    assert_eq!(settings.snapshot().backend_refused, None);
}

#[test]
fn a_network_contains_only_its_own_ip_addresses() {
    for (network, address, within) in [
        ("10.0.0.0/8", "10.255.0.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("0.0.0.0/0", "192.0.2.1", true),
        ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.1", "127.0.0.2", false),
        ("127.0.0.1", "::ffff:127.0.0.1", true),
        ("fd00::/8", "fd12::1", true),
        ("::/0", "192.0.2.1", false),
    ] {
        assert_eq!(
            network.parse::<Network>().unwrap().contains(address.parse().unwrap()),
            within,
            "{network} {address}"
        );
    }
}

#[tokio::test]
async fn several_values_are_judged_and_stored_together() {
    let (_folder, store) = store();
    let live = live(&store);
    let act = Act { actor: "cli:ann", at: Timestamp::from_ms(1) };
    live.set(&store, "backendUrl", "http://127.0.0.1:8332", act).await.unwrap();
    let electrum = "ssl://electrum.example:50002";
    let alone = live.set(&store, "backend", "electrum", act).await.unwrap_err().to_string();
    assert!(alone.contains("backend=electrum backendUrl=ssl://"), "{alone}");
    let both = [("backend", Some("electrum")), ("backendUrl", Some(electrum))];
    let shown = live.change(&store, &both, act).await.unwrap();
    assert_eq!(
        shown.iter().map(|one| one.value.as_str()).collect::<Vec<_>>(),
        ["electrum", electrum]
    );
    let now = live.snapshot();

    for (changes, wrong, part) in [
        (
            &[("batchSeconds", Some("7")), ("backend", Some("core"))][..],
            "backendUrl",
            "set both at once",
        ),
        (
            &[("batchSeconds", Some("7")), ("tolerancePerMille", Some("-1"))],
            "tolerancePerMille",
            "must be",
        ),
        (&[("batchSeconds", Some("7")), ("bogus", None)], "bogus", "no setting"),
        (&[("batchSeconds", Some("7")), ("batchSeconds", None)], "batchSeconds", "named twice"),
        (
            &[("feeFloorSatVb", Some("300")), ("batchSeconds", Some("7"))],
            "batchSeconds",
            "feeCapSatVb",
        ),
    ] {
        let (name, error) = live.change(&store, changes, act).await.unwrap_err();
        assert_eq!(name, wrong, "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(live.snapshot(), now, "a refused change must not take effect in part");
    }
    let stored = store.read(|reader| reader.settings()).unwrap();
    assert_eq!(stored.len(), 2, "{stored:?}");
    let fees = [("feeFloorSatVb", Some("300")), ("feeCapSatVb", Some("400")), ("backendUrl", None)];
    live.change(&store, &fees, act).await.unwrap();
    assert!(live.snapshot().backend_urls.is_empty() && live.snapshot().fee_floor_sat_vb == 300);
}

#[tokio::test]
async fn an_onion_server_is_refused_without_a_proxy() {
    let (_folder, store) = store();
    let live = live(&store);
    let onion = "tcp://2jqyhxmcayjpvvbm6qt3zz4rvfbclogslqs4nnljogpjtc6wsapf7lid.onion:50001";
    let url = [("backend", Some("electrum")), ("backendUrl", Some(onion))];
    for (name, error) in [
        live.change(&store, &url, ACT).await.unwrap_err(),
        live.change(&store, &[("backendUrl", Some("http://Node.Onion:8332"))], ACT)
            .await
            .unwrap_err(),
        live.change(&store, &[("backendZmq", Some("tcp://node.onion:28332"))], ACT)
            .await
            .unwrap_err(),
    ] {
        let told = error.to_string();
        assert!(
            name.starts_with("backend")
                && told.contains(".onion:")
                && told.contains("proxy=socks5h://"),
            "{told}"
        );
    }
    let together = [url.as_slice(), &[("proxy", Some("socks5h://127.0.0.1:9050"))]].concat();
    live.change(&store, &together, ACT).await.unwrap();
    assert_eq!(live.change(&store, &[("proxy", None)], ACT).await.unwrap_err().0, "proxy");
    live.change(&store, &[("proxy", None), ("backendUrl", None)], ACT).await.unwrap();
    assert_eq!(live.snapshot().proxy, None);
}

#[tokio::test]
async fn a_backup_folder_is_never_stored_without_its_mark_files_name() {
    let (_folder, store) = store();
    let live = live(&store);
    let named = |mark: &str| Beside {
        backup_folder: Some(FolderRow { path: "/media/usb".to_owned(), mark: mark.to_owned() }),
        ..Beside::default()
    };
    let change = [("backupFolder", Some("/media/usb"))];
    // The database refuses an empty name of the mark file, so the write fails as in a power cut.
    live.change_with(&store, &change, named(""), ACT).await.unwrap_err();
    assert_eq!(
        store.read(|reader| reader.settings()).unwrap(),
        [],
        "no folder may be stored without a mark"
    );
    live.change_with(&store, &change, named(".tillgate-1"), ACT).await.unwrap();
    assert_eq!(store.read(|reader| reader.backup_folder()).unwrap().unwrap().mark, ".tillgate-1");
    assert_eq!(live.snapshot().backup_folder.as_deref(), Some("/media/usb"));
}

#[test]
fn a_url_without_a_scheme_is_refused_and_the_schemes_are_named() {
    let mut settings = Settings::defaults(Environment::Test);
    for (name, value, told) in [
        (
            "backendUrl",
            "127.0.0.1:50001",
            "put http:// or https:// (Bitcoin Core), tcp:// or ssl:// (Electrum) in front",
        ),
        ("backendZmq", "127.0.0.1:28332", "put tcp:// in front"),
        ("publicUrl", "pay.example", "put https:// or http:// in front"),
        ("proxy", "127.0.0.1:9050", "put socks5h:// in front"),
    ] {
        let refused =
            Setting::named(name).unwrap().apply(&mut settings, value).unwrap_err().to_string();
        assert!(refused.starts_with(name) && refused.ends_with(told), "{refused}");
    }
}
