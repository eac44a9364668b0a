use proptest::prelude::*;

use super::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const MINUTE: i64 = 60_000;

fn quote(source: &'static str, price: &str, at_ms: i64) -> Quote {
    Quote {
        source,
        price: price.parse().unwrap(),
        at: Timestamp::from_ms(at_ms),
        never_stale: false,
        jumped_from: None,
    }
}

fn quotes(prices: &[&str]) -> Vec<Quote> {
    NAMES.iter().zip(prices).map(|(source, price)| quote(source, price, 0)).collect()
}

fn rate(prices: &[&str], wanted: usize) -> Result<String, NoRate> {
    combine(&quotes(prices), wanted).map(|combined| combined.median.normalize().to_string())
}

/// The quote of source `a` after it gave each of these prices, without other sources.
fn said(prices: &[(&str, i64)]) -> Quote {
    let mut known: Option<Quote> = None;
    for (price, at_ms) in prices {
        known = Some(quote("a", price, *at_ms).succeed(known.as_ref(), None, &[]));
    }
    known.unwrap()
}

#[test]
fn a_quote_is_fresh_for_five_minutes_unless_it_never_goes_stale() {
    let quote = quotes(&["65000"])[0];
    let last = Timestamp::from_ms(300_000);
    assert!(quote.is_fresh(last) && !quote.is_fresh(last.plus_ms(1)));
    assert!(Quote { never_stale: true, ..quote }.is_fresh(Timestamp::from_ms(i64::MAX)));
}

#[test]
fn the_rate_is_the_median() {
    assert_eq!(rate(&["65000"], 1).as_deref(), Ok("65000"));
    assert_eq!(rate(&["65000", "65001"], 2).as_deref(), Ok("65000.5"));
    assert_eq!(rate(&["65200", "65000", "65100"], 2).as_deref(), Ok("65100"));
}

#[test]
fn a_source_that_strays_more_than_five_per_cent_is_left_out() {
    let combined = combine(&quotes(&["100", "100.5", "101", "110"]), 2).unwrap();
    assert_eq!(combined.median, Decimal::new(1005, 1));
    assert_eq!(combined.strays.iter().map(|quote| quote.source).collect::<Vec<_>>(), ["d"]);
    assert_eq!(
        rate(&["95", "100", "105"], 3).as_deref(),
        Ok("100"),
        "a difference of five per cent is no stray"
    );
}

#[test]
fn quotes_that_differ_by_over_five_per_cent_give_no_rate() {
    assert_eq!(rate(&["100", "105"], 1).as_deref(), Ok("102.5"));
    assert_eq!(rate(&["100", "105.01"], 1), Err(NoRate::Disagreement));
    assert_eq!(rate(&["100", "100", "120", "120"], 1), Err(NoRate::Disagreement), "two camps");
}

#[test]
fn too_few_fresh_quotes_give_no_rate() {
    assert_eq!(rate(&[], 1), Err(NoRate::NoFreshQuote));
    assert_eq!(rate(&["100"], 2), Err(NoRate::TooFew { fresh: 1, wanted: 2 }));
    assert_eq!(
        rate(&["100", "200", "100"], 3),
        Err(NoRate::Disagreement),
        "a stray quote does not count"
    );
}

#[test]
fn an_older_quote_does_not_replace_a_newer_one() {
    let newer = quote("a", "65000", 2 * MINUTE);
    assert_eq!(quote("a", "60000", MINUTE).succeed(Some(&newer), None, &[]), newer);
    let same_time = quote("a", "65001", 2 * MINUTE);
    assert_eq!(same_time.succeed(Some(&newer), None, &[]), same_time);
}

#[test]
fn a_jump_of_over_20_per_cent_a_minute_makes_no_rate_alone() {
    let at = Timestamp::from_ms(MINUTE);
    for (price, jumped) in
        [("120", false), ("120.01", true), ("80", false), ("79.99", true), ("1000", true)]
    {
        let quote = said(&[("100", 0), (price, MINUTE)]);
        assert_eq!(quote.jumped_from.is_some(), jumped, "{price}");
        let judged = judge(&[quote], at, 1);
        assert_eq!(judged.rate.is_err(), jumped, "{price}");
        assert_eq!(
            judged.quotes[0].1,
            if jumped { Verdict::Jumped } else { Verdict::Used },
            "{price}"
        );
    }
    assert!(
        said(&[("100", 0), ("130", 2 * MINUTE)]).jumped_from.is_none(),
        "15 % in each of two minutes"
    );
    assert!(said(&[("100", 0), ("130", 1_000)]).jumped_from.is_some(), "30 % in a second");
}

#[test]
fn a_jump_is_used_once_another_source_agrees() {
    let jumped = said(&[("100", 0), ("150", MINUTE)]);
    let at = Timestamp::from_ms(MINUTE);
    let agrees = quote("b", "152", MINUTE);
    assert_eq!(judge(&[jumped, agrees], at, 1).rate, Ok(Decimal::from(151)));
    let both = Quote { jumped_from: jumped.jumped_from, ..agrees };
    assert_eq!(
        judge(&[jumped, both], at, 1).rate,
        Ok(Decimal::from(151)),
        "both saw the market rise"
    );
    assert_eq!(judge(&[jumped, quote("b", "100", MINUTE)], at, 1).rate, Err(NoRate::Disagreement));
    // The jump was believed, so the next price is measured from it.
    let next = quote("a", "150", 2 * MINUTE);
    assert_eq!(next.succeed(Some(&jumped), None, &[agrees]).jumped_from, None);
    assert!(next.succeed(Some(&jumped), None, &[quote("b", "100", MINUTE)]).jumped_from.is_some());
    assert!(
        next.succeed(Some(&jumped), None, &[quote("a", "150", MINUTE)]).jumped_from.is_some(),
        "no other source"
    );
}

#[test]
fn a_lone_jump_is_believed_once_the_price_before_is_stale() {
    let mut told = vec![("100", 0), ("150", MINUTE)];
    for minute in 2..=5 {
        told.push(("150", minute * MINUTE));
        assert!(said(&told).jumped_from.is_some(), "minute {minute}");
    }
    told.push(("150", 5 * MINUTE + 1));
    assert!(said(&told).jumped_from.is_none());
    assert!(
        said(&[("100", 0), ("150", MINUTE), ("101", 2 * MINUTE)]).jumped_from.is_none(),
        "back to 101"
    );
}

#[test]
fn the_first_quote_after_a_start_is_compared_to_the_last_rate() {
    let last_known = Some(Known { price: Decimal::from(100), at: Timestamp::from_ms(0) });
    let first = |price, at_ms| quote("a", price, at_ms).succeed(None, last_known, &[]);
    assert!(first("1000", MINUTE).jumped_from.is_some());
    assert!(first("110", MINUTE).jumped_from.is_none());
    assert!(first("1000", 5 * MINUTE + 1).jumped_from.is_none(), "the last rate is stale");
}

#[test]
fn a_simulated_price_may_jump_and_keeps_its_time_if_unchanged() {
    let simulated = |price, at_ms| Quote { never_stale: true, ..quote("sandbox", price, at_ms) };
    let before = simulated("65000", 0);
    assert_eq!(simulated("65000", MINUTE).succeed(Some(&before), None, &[]), before);
    assert_eq!(simulated("1", MINUTE).succeed(Some(&before), None, &[]), simulated("1", MINUTE));
}

#[test]
fn each_quote_gets_a_verdict() {
    let now = Timestamp::from_ms(6 * MINUTE);
    let all = [
        quote("a", "100", 6 * MINUTE),
        quote("b", "101", 5 * MINUTE),
        quote("c", "130", 5 * MINUTE),
        quote("d", "100", MINUTE - 1),
    ];
    let judged = judge(&all, now, 2);
    let verdicts: Vec<Verdict> = judged.quotes.iter().map(|(_, verdict)| *verdict).collect();
    assert_eq!(verdicts, [Verdict::Used, Verdict::Used, Verdict::Stray, Verdict::Stale]);
    assert_eq!(judged.rate, Ok(Decimal::new(1005, 1)));
    let none = judge(&all, now, 3);
    assert!(none.quotes.iter().all(|(_, verdict)| *verdict != Verdict::Used), "{none:?}");
}

fn any_quotes() -> impl Strategy<Value = Vec<Quote>> {
    let one = (1_i64..20_000_000, 0_i64..10 * MINUTE, any::<bool>());
    proptest::collection::vec(one, 0..=5).prop_map(|told| {
        let all = NAMES.iter().zip(told);
        all.map(|(source, (cents, at_ms, jumped))| {
            let price = Decimal::new(cents, 2);
            let at = Timestamp::from_ms(at_ms);
            let jumped_from = jumped.then_some(Known { price: Decimal::ONE, at });
            Quote { source, price, at, never_stale: false, jumped_from }
        })
        .collect()
    })
}

proptest! {
    #[test]
    fn a_rate_lies_within_its_quotes_and_near_the_median_of_all(
        all in any_quotes(), now in 0_i64..10 * MINUTE, wanted in 1_usize..4,
    ) {
        let now = Timestamp::from_ms(now);
        let judged = judge(&all, now, wanted);
        prop_assert_eq!(judged.quotes.len(), all.len());
        let used: Vec<&Quote> =
            judged.quotes.iter().filter(|(_, verdict)| *verdict == Verdict::Used).map(|(quote, _)| quote).collect();
        match judged.rate {
            Ok(rate) => {
                prop_assert!(used.len() >= wanted);
                prop_assert!(used.iter().any(|quote| quote.price <= rate) && used.iter().any(|quote| quote.price >= rate));
                prop_assert!(used.iter().all(|quote| quote.is_fresh(now)));
                prop_assert!(used.len() > 1 || used[0].jumped_from.is_none());
            }
            Err(_) => prop_assert!(used.is_empty()),
        }
    }

    #[test]
    fn the_order_of_the_sources_changes_nothing(all in any_quotes(), now in 0_i64..10 * MINUTE, wanted in 1_usize..4) {
        let reversed: Vec<Quote> = all.iter().rev().copied().collect();
        let now = Timestamp::from_ms(now);
        prop_assert_eq!(judge(&all, now, wanted).rate, judge(&reversed, now, wanted).rate);
    }

    #[test]
    fn a_lying_source_moves_the_rate_only_between_the_honest_two(
        honest in 1_000_000_i64..10_000_000, apart in -100_i64..=100, lie in 1_i64..100_000_000,
    ) {
        // The two honest sources differ by up to 1 %.
        let other = honest + honest * apart / 10_000;
        let price = |cents: i64| Decimal::new(cents, 2).to_string();
        let told = [price(honest), price(other), price(lie)];
        let judged = judge(&quotes(&told.each_ref().map(String::as_str)), Timestamp::from_ms(0), 2);
        let rate = judged.rate.unwrap();
        let (low, high) = (Decimal::new(honest.min(other), 2), Decimal::new(honest.max(other), 2));
        prop_assert!(rate >= low && rate <= high, "{rate} of {told:?}");
    }

    #[test]
    fn a_stale_quote_is_never_fresh_again(at in 0_i64..MINUTE, now in 0_i64..20 * MINUTE, later in 0_i64..20 * MINUTE) {
        let quote = quote("a", "1", at);
        if !quote.is_fresh(Timestamp::from_ms(now)) {
            prop_assert!(!quote.is_fresh(Timestamp::from_ms(now + later)));
        }
    }

    #[test]
    fn a_sources_time_never_goes_back(told in proptest::collection::vec((1_i64..1_000, 0_i64..20 * MINUTE), 1..20)) {
        let mut known: Option<Quote> = None;
        for (price, at_ms) in told {
            let next = quote("a", &price.to_string(), at_ms).succeed(known.as_ref(), None, &[]);
            prop_assert!(known.is_none_or(|known| known.at <= next.at));
            known = Some(next);
        }
    }
}
