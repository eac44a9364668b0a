use rust_decimal::Decimal;

use super::*;
use crate::rates::fixed::Fixed;
use crate::rates::{Answer, SourceQuote};

const MINUTE: i64 = 60_000;

/// A source with a scripted answer.
struct ScriptedSource {
    name: &'static str,
    never_stale: bool,
    answer: ScriptedAnswer,
}

type ScriptedAnswer = Arc<Mutex<Result<Vec<(Currency, Decimal)>, NoAnswer>>>;

impl RateSource for ScriptedSource {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a> {
        let answer = self.answer.lock().clone();
        Box::pin(async move {
            let quote = |(currency, price)| SourceQuote { currency, price, at: question.at };
            match answer {
                Ok(prices) => Ok(prices.into_iter().map(quote).collect::<Vec<_>>().into()),
                Err(kind) => Err(SourceFailure::of_text("no route", kind)),
            }
        })
    }

    fn never_stale(&self) -> bool {
        self.never_stale
    }
}

fn rules(min_fresh_sources: usize) -> RateRules {
    let (currencies, sources) = (vec![usd()], vec!["a", "b", "c"]);
    RateRules { min_fresh_sources, currencies, sources, fixed: Vec::new(), proxy: None }
}

fn usd() -> Currency {
    Currency::from_code("USD").unwrap()
}

fn says(answer: &ScriptedAnswer, price: Option<i64>) {
    *answer.lock() = Ok(price.map(|price| (usd(), Decimal::from(price))).into_iter().collect());
}

fn source(
    name: &'static str,
    never_stale: bool,
    price: i64,
) -> (Box<dyn RateSource>, ScriptedAnswer) {
    let answer: ScriptedAnswer = Arc::new(Mutex::new(Ok(Vec::new())));
    says(&answer, Some(price));
    (Box::new(ScriptedSource { name, never_stale, answer: Arc::clone(&answer) }), answer)
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
async fn a_stale_quote_gives_no_rate_but_is_the_last_known() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (scripted, answer) = source("a", false, 65_000);
    let rates = Rates::new(vec![scripted], rules(1));
    rates.refresh_once(&store, at(0)).await.unwrap();
    *answer.lock() = Err(NoAnswer::Unreachable);
    rates.refresh_once(&store, at(1)).await.unwrap();
    assert_eq!(price(&rates, at(5)).as_deref(), Some("65000.0000"));
    assert_eq!(price(&rates, at(5).plus_ms(1)), None);
    assert_eq!(rates.last_known(usd()).unwrap().at, at(0));
    let source = &rates.source_rows()[0];
    assert_eq!(
        (source.answered_at, source.failed.as_ref().map(|why| why.message.as_str())),
        (Some(at(0)), Some("no route"))
    );
    assert_eq!(rates.rows(at(6))[0].fresh_at, None);
}

#[tokio::test]
async fn a_simulated_rate_is_valid_until_it_is_withdrawn() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (scripted, answer) = source("sandbox", true, 65_000);
    let rates = Rates::new(vec![scripted], rules(1));
    rates.refresh_once(&store, at(0)).await.unwrap();
    let first = rates.row_id(&store, usd(), &rates.rate_for(usd(), at(1)).unwrap()).await.unwrap();
    rates.refresh_once(&store, at(600)).await.unwrap();
    let rate = rates.rate_for(usd(), at(10_000)).unwrap();
    assert_eq!(
        rates.row_id(&store, usd(), &rate).await.unwrap(),
        first,
        "an unchanged rate is one row"
    );
    says(&answer, None);
    rates.refresh_once(&store, at(10_001)).await.unwrap();
    assert_eq!(price(&rates, at(10_001)), None);
}

#[tokio::test]
async fn the_last_known_rate_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (scripted, answer) = source("sandbox", true, 65_000);
    {
        let store = store(&folder);
        let rates = Rates::new(vec![scripted], rules(1));
        rates.refresh_once(&store, at(0)).await.unwrap();
        says(&answer, Some(66_000));
        rates.refresh_once(&store, at(1)).await.unwrap();
    }
    let store = store(&folder);
    let rates = Rates::new(Vec::new(), rules(1));
    rates.load_last_known(&store).unwrap();
    assert_eq!(rates.last_known(usd()).unwrap().rate.format(), "66000.0000");
    assert_eq!(price(&rates, at(1)), None, "the last known rate is not used for prices");
}

#[tokio::test]
async fn an_unused_last_known_rate_is_replaced_and_a_used_one_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (scripted, answer) = source("a", false, 65_000);
    let rates = Rates::new(vec![scripted], rules(1));
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
    assert!(
        stored().contains(&used) && stored().iter().any(|(_, rate)| rate == "65005.0000"),
        "{:?}",
        stored()
    );
    let after_a_restart = Rates::new(Vec::new(), rules(1));
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
    let rates = Rates::new(vec![one, other], rules(2));
    rates.refresh_once(&store, at(0)).await.unwrap();
    let refusal = rates.rate_for(usd(), at(0)).unwrap_err();
    assert!(refusal.to_string().contains("1 of the 2"), "{refusal}");
    says(&answer, Some(65_100));
    rates.refresh_once(&store, at(1)).await.unwrap();
    let rate = rates.rate_for(usd(), at(1)).unwrap();
    assert_eq!(rate.rate.format(), "65050.0000");
    assert_eq!(
        rate.sources,
        r#"[{"name":"a","rate":"65000","time":60000,"used":true},{"name":"b","rate":"65100","time":60000,"used":true}]"#
    );
}

#[tokio::test]
async fn a_quote_far_from_the_others_is_stored_as_stray() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let sources = [("a", 65_000), ("b", 65_100), ("c", 70_000)]
        .map(|(name, price)| source(name, false, price).0);
    let rates = Rates::new(Vec::from(sources), rules(2));
    rates.refresh_once(&store, at(0)).await.unwrap();
    let row = &rates.rows(at(0))[0];
    assert_eq!((row.rate.unwrap().format().as_str(), row.fresh_at), ("65050.0000", Some(at(0))));
    assert_eq!(row.strays().collect::<Vec<_>>(), ["c"]);
    assert_eq!(rates.rows(at(6))[0].strays().count(), 0, "a stale quote is not judged as stray");
    let stored = rates.rate_for(usd(), at(0)).unwrap().sources;
    assert!(
        stored.contains(r#"{"name":"c","rate":"70000","time":0,"used":false,"why":"stray"}"#),
        "{stored}"
    );
}

#[tokio::test]
async fn a_rate_changes_when_one_of_its_quotes_goes_stale() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (one, answer) = source("a", false, 65_000);
    let (other, _) = source("b", false, 65_100);
    let rates = Rates::new(vec![one, other], rules(1));
    rates.refresh_once(&store, at(0)).await.unwrap();
    *answer.lock() = Err(NoAnswer::Unreachable);
    rates.refresh_once(&store, at(3)).await.unwrap();
    assert_eq!(price(&rates, at(5)).as_deref(), Some("65050.0000"));
    assert_eq!(price(&rates, at(5).plus_ms(1)).as_deref(), Some("65100.0000"));
    assert_eq!(price(&rates, at(2)).as_deref(), Some("65050.0000"), "after the clock was set back");
    rates.follow(rules(3));
    assert_eq!(price(&rates, at(3)), None, "the changed setting applies at once");
}

#[tokio::test]
async fn a_source_that_asks_for_a_pause_is_not_asked_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (one, failing) = source("a", false, 65_000);
    let (other, answer) = source("b", false, 65_100);
    let rates = Rates::new(vec![one, other], rules(1));
    *failing.lock() = Err(NoAnswer::TooOften { wait_ms: Some(10 * MINUTE) });
    rates.refresh_once(&store, at(0)).await.unwrap();
    says(&failing, Some(65_000));
    says(&answer, Some(65_200));
    rates.refresh_once(&store, at(9)).await.unwrap();
    assert_eq!(
        price(&rates, at(9)).as_deref(),
        Some("65200.0000"),
        "source a was asked during its pause"
    );
    assert_eq!(rates.next_round_at(at(9)), at(10), "source b is due before source a");
    rates.refresh_once(&store, at(11)).await.unwrap();
    assert_eq!(price(&rates, at(11)).as_deref(), Some("65100.0000"));
    assert!(rates.source_rows().iter().all(|source| source.failed.is_none()));
}

#[tokio::test]
async fn new_settings_drop_the_old_quotes_and_ask_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (one, answer) = source("a", false, 65_000);
    let rates = Rates::new(vec![one, Box::new(Fixed)], rules(1));
    rates.refresh_once(&store, at(0)).await.unwrap();
    rates.follow(RateRules { fixed: vec![(usd(), Decimal::from(50_000))], ..rules(1) });
    assert_eq!(price(&rates, at(0)), None, "the quotes of the old sources are dropped");
    rates.refresh_once(&store, at(0)).await.unwrap();
    assert_eq!(
        price(&rates, at(600)).as_deref(),
        Some("50000.0000"),
        "a fixed rate never goes stale"
    );
    assert_eq!(rates.source_rows().iter().map(|source| source.name).collect::<Vec<_>>(), ["fixed"]);
    says(&answer, Some(50_500));
    rates.follow(rules(1));
    rates.refresh_once(&store, at(0)).await.unwrap();
    assert_eq!(
        price(&rates, at(0)).as_deref(),
        Some("50500.0000"),
        "the source was not asked at once"
    );
    tokio::time::timeout(std::time::Duration::from_secs(10), rates.rules_changed())
        .await
        .expect("no wake-up came");
}

#[tokio::test]
async fn a_jump_of_the_only_source_gives_no_rate_for_five_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (one, answer) = source("a", false, 65_000);
    let rates = Rates::new(vec![one], rules(1));
    rates.refresh_once(&store, at(0)).await.unwrap();
    says(&answer, Some(650_000));
    for minute in 1..=5 {
        rates.refresh_once(&store, at(minute)).await.unwrap();
        let refusal = rates.rate_for(usd(), at(minute)).unwrap_err().to_string();
        assert!(refusal.contains("jumped"), "{refusal}");
    }
    assert_eq!(rates.last_known(usd()).unwrap().rate.format(), "65000.0000");
    rates.refresh_once(&store, at(6)).await.unwrap();
    assert_eq!(price(&rates, at(6)).as_deref(), Some("650000.0000"));
}

#[tokio::test]
async fn after_a_restart_a_jump_from_the_last_known_rate_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (one, _) = source("a", false, 65_000);
    Rates::new(vec![one], rules(1)).refresh_once(&store, at(0)).await.unwrap();
    let (again, _) = source("a", false, 6_500);
    let rates = Rates::new(vec![again], rules(1));
    rates.load_last_known(&store).unwrap();
    rates.refresh_once(&store, at(1)).await.unwrap();
    assert!(rates.rate_for(usd(), at(1)).unwrap_err().to_string().contains("jumped"));
}

#[tokio::test]
async fn the_same_rate_from_other_quotes_is_stored_separately() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let (one, _) = source("a", false, 65_000);
    let (other, stray) = source("b", false, 65_000);
    let (third, _) = source("c", false, 65_000);
    says(&stray, Some(90_000));
    let rates = Rates::new(vec![one, other, third], rules(2));
    rates.refresh_once(&store, at(0)).await.unwrap();
    let first = rates.rate_for(usd(), at(0)).unwrap();
    let id = rates.row_id(&store, usd(), &first).await.unwrap();
    let without_it = StoredRate { sources: "[]".to_owned(), ..first.clone() };
    assert_ne!(rates.row_id(&store, usd(), &without_it).await.unwrap(), id);
    let fresh_book = Rates::new(Vec::new(), rules(2));
    assert_eq!(
        fresh_book.row_id(&store, usd(), &first).await.unwrap(),
        id,
        "the same rate was stored twice"
    );
}
