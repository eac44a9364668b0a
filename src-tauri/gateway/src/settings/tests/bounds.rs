use super::*;

#[test]
fn values_at_the_bounds_are_accepted_and_beyond_refused() {
    for (name, good, bad) in [
        ("overpayment", &["confirm", "invalidate"][..], &["", "Confirm", "maybe"][..]),
        ("tolerancePerMille", &["0", "100"], &["-1", "101", "1.5", "", "+1", "x"]),
        ("confirmationTiers", &["*:1", "10:1,*:144"], &["", "10:1", "*:145"]),
        (
            "zeroConfUpTo",
            &["0", "19.9", "1000000", "20 EUR"],
            &["-1", "1000000.01", "1e3", "", "20 eur", "20EUR"],
        ),
        ("zeroConfQuietSeconds", &["0", "3600"], &["3601", "-1"]),
        ("anomalyConfirmations", &["1", "144"], &["0", "145"]),
        ("offlineGraceMinutes", &["0", "1440"], &["1441"]),
        ("currencies", &["USD", "CHF,ZAR"], &["", "usd", "BTC", "USD,,EUR"]),
        ("spreadPerMille", &["0", "200"], &["201"]),
        ("minFreshSources", &["1", "10"], &["0", "11"]),
        (
            "rateSources",
            &["kraken", "mempool,coinbase,bitstamp,coingecko,kraken"],
            &["", "Kraken", "kraken,sandbox", "fixed", "kraken,,mempool"],
        ),
        (
            "fixedRates",
            &["", "USD:50000.00,EUR:46000.00", "JPY:7500000"],
            &[
                "USD",
                "USD:0",
                "USD:-1",
                "USD:1e5",
                "XXX:1",
                "USD:1,USD:2",
                "USD:50000.00;EUR:46000.00",
                "usd:1",
            ],
        ),
        (
            "proxy",
            &["", "socks5h://127.0.0.1:9050", "socks5h://[::1]:9050"],
            &[
                "127.0.0.1:9050",
                "socks5://127.0.0.1:9050",
                "http://127.0.0.1:9050",
                "socks5h://a:b@127.0.0.1:9050",
            ],
        ),
        ("keyRequestsPerSecond", &["0", "200", "100000"], &["100001", "-1"]),
        ("keyOpenPayments", &["0", "100000000"], &["100000001", ""]),
        (
            "allowedHosts",
            &["", "pay.example", "10.0.0.1,[::1]"],
            &["a b", "http://x", "x:80", "a/b"],
        ),
        (
            "publicUrl",
            &["", "https://pay.example", "http://x:8080/shop"],
            &["pay.example", "ftp://x", "https://u:p@x", "https://x?q=1"],
        ),
        (
            "trustedProxies",
            &["", "10.0.0.1", "10.0.0.0/8,fd00::/8"],
            &["10.0.0.0/33", "proxy", "10.0.0.1/"],
        ),
        ("merchantName", &["M", "Café"], &["", " ", "a\u{7}b"]),
        ("merchantColor", &["", "#00ff7f"], &["red", "#fff", "#gggggg"]),
        (
            "merchantLogo",
            &["", "data:image/png;base64,AAAA"],
            &["https://x/logo.png", "data:text/html;base64,AAAA"],
        ),
        (
            "notices",
            &["", "paid", "shop,payout,attention,reversed,paid"],
            &["all", "paid;shop", "Paid"],
        ),
        ("noticeSounds", &["", "reversed"], &["on"]),
        ("addressType", &["bip84", "bip86"], &["bip44", ""]),
        ("offerValidityMinutes", &["1", "1440"], &["0", "1441"]),
        ("batchSeconds", &["0", "3600"], &["3601", "-1"]),
        ("queueTimeoutHours", &["1", "168"], &["0", "169"]),
        ("stuckAfterHours", &["1", "720"], &["0", "721"]),
        (
            "dailyLimitBtc",
            &["0", "0.1", "21000000"],
            &["", "-1", "21000000.00000001", "0.000000001", "x", "."],
        ),
        ("minPayoutBtc", &["0.00000546", "21000000"], &["0", "0.00000545", "21000001"]),
        ("feeFloorSatVb", &["1", "1000"], &["0", "1001", "1.5"]),
        ("feeCapSatVb", &["1", "10000"], &["0", "10001"]),
        ("feeFallbackSatVb", &["0", "1000"], &["1001", "-1", "1.5", ""]),
        ("spendConfirmations", &["1", "100"], &["0", "101"]),
        (
            "backendZmq",
            &["", "tcp://127.0.0.1:28332", "tcp://[::1]:28332", "tcp://node.lan:28332"],
            &[
                "127.0.0.1:28332",
                "tcp://127.0.0.1",
                "tcp://127.0.0.1:0",
                "tcp://*:28332",
                "ipc:///tmp/zmq",
                "ssl://127.0.0.1:28332",
                "http://127.0.0.1:28332",
                "tcp://user@127.0.0.1:28332",
                "tcp://127.0.0.1:28332/topic",
                "tcp://127.0.0.1:28332,tcp://127.0.0.1:28333",
            ],
        ),
    ] {
        let setting = Setting::named(name).unwrap();
        let mut settings = Settings::defaults(Environment::Test);
        for value in good {
            setting.apply(&mut settings, value).unwrap();
            assert_eq!((setting.text)(&settings), *value, "{name}");
        }
        for value in bad {
            let error = setting.apply(&mut settings, value).unwrap_err();
            let is_address = ["backendUrl", "backendZmq", "publicUrl", "proxy"].contains(&name);
            if is_address && !value.is_empty() && !value.contains("://") {
                assert!(
                    matches!(error, SettingError::NoScheme { .. }),
                    "{name} {value:?}: {error}"
                );
            } else {
                assert_eq!(
                    error.to_string(),
                    format!("{name} must be {}", setting.form),
                    "{name} {value:?}"
                );
            }
        }
    }
}
