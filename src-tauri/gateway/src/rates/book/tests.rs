use super::*;

const MINUTE: i64 = 60_000;

/// A source that says what a test told it to.
struct Told {
    name: &'static str,
    never_stale: bool,
    answer: Answer,
}

type Answer = Arc<Mutex<Result<BTreeMap<Currency, Decimal>, String>>>;

impl RateSource for Told {
    fn name(&self) -> &'static str {
        self.name
    }

    fn quotes(&self) -> Result<BTreeMap<Currency, Decimal>, String> {
        self.answer.lock().clone()
    }

    fn never_stale(&self) -> bool {
        self.never_stale
    }
}

fn usd() -> Currency {
    Currency::from_code("USD").unwrap()
}

fn says(answer: &Answer, price: Option<i64>) {
    *answer.lock() = Ok(price.map(|price| (usd(), Decimal::from(price))).into_iter().collect());
}

fn source(name: &'static str, never_stale: bool, price: i64) -> (Box<dyn RateSource>, Answer) {
    let answer: Answer = Arc::new(Mutex::new(Ok(BTreeMap::new())));
    says(&answer, Some(price));
    (Box::new(Told { name, never_stale, answer: Arc::clone(&answer) }), answer)
}

fn store(folder: &tempfile::TempDir) -> Store {
    Store::open(&folder.path().join("gateway.db")).unwrap()
}

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_ms(minutes * MINUTE)
}

fn price(rates: &Rates, now: Timestamp) -> Option<String> {
    rates.rate_for(usd(), now).ok().map(|rate| rate.rate.format())
}

#[tokio::test]
async fn a_quote_is_stale_after_five_minutes_and_still_the_last_known() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (told, answer) = source("a", false, 65_000);
    let rates = Rates::new(vec![told], 1);
    rates.refresh_once(&store, at(0)).await.unwrap();
    *answer.lock() = Err("no route".to_owned());
    rates.refresh_once(&store, at(1)).await.unwrap();
    assert_eq!(price(&rates, at(5)).as_deref(), Some("65000.0000"));
    assert_eq!(price(&rates, at(5).plus_ms(1)), None);
    assert_eq!(rates.last_known(usd()).unwrap().at, at(0));
    assert_eq!(rates.failures(), [("a", "no route".to_owned())]);
    assert!(!rates.rows(at(6))[0].fresh);
}

#[tokio::test]
async fn a_simulated_rate_stays_until_it_is_withdrawn() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (told, answer) = source("sandbox", true, 65_000);
    let rates = Rates::new(vec![told], 1);
    rates.refresh_once(&store, at(0)).await.unwrap();
    let first = rates.row_id(&store, usd(), &rates.rate_for(usd(), at(1)).unwrap()).await.unwrap();
    rates.refresh_once(&store, at(600)).await.unwrap();
    let rate = rates.rate_for(usd(), at(10_000)).unwrap();
    assert_eq!(rates.row_id(&store, usd(), &rate).await.unwrap(), first, "an unchanged rate is one row");
    says(&answer, None);
    rates.refresh_once(&store, at(10_001)).await.unwrap();
    assert_eq!(price(&rates, at(10_001)), None);
}

#[tokio::test]
async fn the_last_known_rate_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (told, answer) = source("sandbox", true, 65_000);
    {
        let store = store(&folder);
        let rates = Rates::new(vec![told], 1);
        rates.refresh_once(&store, at(0)).await.unwrap();
        says(&answer, Some(66_000));
        rates.refresh_once(&store, at(1)).await.unwrap();
    }
    let store = store(&folder);
    let rates = Rates::new(Vec::new(), 1);
    rates.load_last_known(&store).unwrap();
    assert_eq!(rates.last_known(usd()).unwrap().rate.format(), "66000.0000");
    assert_eq!(price(&rates, at(1)), None, "no price rests on it");
}

#[tokio::test]
async fn a_rate_that_nothing_uses_takes_the_place_of_the_one_before_and_one_in_use_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (told, answer) = source("a", false, 65_000);
    let rates = Rates::new(vec![told], 1);
    let stored = || store.read(|reader| reader.stored_rates(usd())).unwrap();
    let mut used = None;
    for round in 0..6 {
        says(&answer, Some(65_000 + round));
        rates.refresh_once(&store, at(10 * round)).await.unwrap();
        if round == 2 {
            let rate = rates.rate_for(usd(), at(10 * round)).unwrap();
            used = Some(rates.row_id(&store, usd(), &rate).await.unwrap());
        }
    }
    let used = (used.unwrap(), "65002.0000".to_owned());
    assert_eq!(stored().len(), 2, "{:?}", stored());
    assert!(stored().contains(&used) && stored().iter().any(|(_, rate)| rate == "65005.0000"), "{:?}", stored());
    let after_a_restart = Rates::new(Vec::new(), 1);
    after_a_restart.load_last_known(&store).unwrap();
    assert_eq!(after_a_restart.last_known(usd()).unwrap().rate.format(), "65005.0000");
}

#[tokio::test]
async fn production_waits_for_two_sources() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (one, _) = source("a", false, 65_000);
    let (other, answer) = source("b", false, 65_100);
    says(&answer, None);
    let rates = Rates::new(vec![one, other], 2);
    rates.refresh_once(&store, at(0)).await.unwrap();
    let refusal = rates.rate_for(usd(), at(0)).unwrap_err();
    assert!(refusal.to_string().contains("1 of the 2"), "{refusal}");
    says(&answer, Some(65_100));
    rates.refresh_once(&store, at(1)).await.unwrap();
    let rate = rates.rate_for(usd(), at(1)).unwrap();
    assert_eq!(rate.rate.format(), "65050.0000");
    assert_eq!(rate.sources, r#"{"a":"65000","b":"65100"}"#);
}

#[tokio::test]
async fn a_source_that_strays_is_named_with_each_rate_that_it_is_left_out_of() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let sources = [("a", 65_000), ("b", 65_100), ("c", 70_000)].map(|(name, price)| source(name, false, price).0);
    let rates = Rates::new(Vec::from(sources), 2);
    rates.refresh_once(&store, at(0)).await.unwrap();
    let row = &rates.rows(at(0))[0];
    assert_eq!((row.rate.format().as_str(), row.fresh, &row.strays), ("65050.0000", true, &vec!["c"]));
    assert_eq!(rates.rows(at(6))[0].strays, Vec::<&str>::new(), "a stale quote strays from nothing");
}

#[tokio::test]
async fn a_rate_changes_in_the_moment_in_which_one_of_its_quotes_is_stale() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (one, answer) = source("a", false, 65_000);
    let (other, _) = source("b", false, 65_100);
    let rates = Rates::new(vec![one, other], 1);
    rates.refresh_once(&store, at(0)).await.unwrap();
    *answer.lock() = Err("no route".to_owned());
    rates.refresh_once(&store, at(3)).await.unwrap();
    assert_eq!(price(&rates, at(5)).as_deref(), Some("65050.0000"));
    assert_eq!(price(&rates, at(5).plus_ms(1)).as_deref(), Some("65100.0000"));
    assert_eq!(price(&rates, at(2)).as_deref(), Some("65050.0000"), "a clock that was set back");
    rates.set_min_fresh_sources(3);
    assert_eq!(price(&rates, at(3)), None, "the setting holds at once");
}
