//! The setting `confirmationTiers`: the confirmations that a price needs. They are fixed when the
//! payment is made.

use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;

use super::usd::parse_usd;

/// The most confirmations a tier may ask for: about a day of blocks.
pub const MAX_CONFIRMATIONS: u32 = 144;

/// The most tiers a setting may have; more would be a mistake, and the text stays short.
pub const MAX_TIERS: usize = 20;

/// The confirmations that a price needs, by its equivalent in US dollars: the setting
/// `confirmationTiers`, such as `1000:1,10000:3,*:6` : each tier is its highest price, a colon, and
/// the confirmations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmationTiers {
    /// Upper bound (included) and confirmations, both rising.
    bounded: Vec<(Decimal, u32)>,
    /// For prices above all bounds, and for prices whose equivalent is unknown.
    highest: u32,
}

/// Why a text is not a valid `confirmationTiers`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum TiersError {
    /// A part is not `bound:confirmations`.
    #[error("{0:?} is not of the form bound:confirmations")]
    Form(String),
    /// A bound is not a plain positive number.
    #[error("the bound {0:?} is not a positive number like 1000 or 1000.50")]
    Bound(String),
    /// A number of confirmations is out of range.
    #[error("the confirmations {0:?} are not a whole number from 1 to {MAX_CONFIRMATIONS}")]
    Confirmations(String),
    /// The bounds do not rise.
    #[error("the bound {0:?} is not above the one before it")]
    NotRising(String),
    /// More money asks for fewer confirmations.
    #[error("{0:?} asks for fewer confirmations than the tier below it")]
    Falling(String),
    /// The last part is not `*:confirmations`, or another part is.
    #[error("the last tier, and only the last, is *:confirmations")]
    Last,
    /// Too many parts.
    #[error("there may be at most {MAX_TIERS} tiers")]
    TooMany,
}

impl ConfirmationTiers {
    /// The confirmations for a price of this equivalent; the highest tier if it is unknown. The
    /// equivalent is compared unrounded, and a bound belongs to its tier.
    #[must_use]
    pub fn confirmations_for(&self, usd_equivalent: Option<Decimal>) -> u32 {
        let Some(equivalent) = usd_equivalent else { return self.highest };
        let tier = self.bounded.iter().find(|(bound, _)| equivalent <= *bound);
        tier.map_or(self.highest, |(_, confirmations)| *confirmations)
    }
}

impl Default for ConfirmationTiers {
    /// `1000:1,10000:3,*:6`.
    fn default() -> Self {
        Self {
            bounded: vec![(Decimal::new(1_000, 0), 1), (Decimal::new(10_000, 0), 3)],
            highest: 6,
        }
    }
}

impl fmt::Display for ConfirmationTiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bounded
            .iter()
            .try_for_each(|(bound, confirmations)| write!(f, "{bound}:{confirmations},"))?;
        write!(f, "*:{}", self.highest)
    }
}

impl FromStr for ConfirmationTiers {
    type Err = TiersError;

    fn from_str(text: &str) -> Result<Self, TiersError> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > MAX_TIERS {
            return Err(TiersError::TooMany);
        }
        let mut bounded: Vec<(Decimal, u32)> = Vec::new();
        let mut highest = None;
        for part in parts {
            if highest.is_some() {
                return Err(TiersError::Last);
            }
            let (bound, confirmations) =
                part.split_once(':').ok_or_else(|| TiersError::Form(part.to_owned()))?;
            let confirmations = parse_confirmations(confirmations)?;
            if bounded.last().is_some_and(|(_, before)| *before > confirmations) {
                return Err(TiersError::Falling(part.to_owned()));
            }
            if bound == "*" {
                highest = Some(confirmations);
                continue;
            }
            let sum = parse_usd(bound)
                .filter(|sum| !sum.is_zero())
                .ok_or_else(|| TiersError::Bound(bound.to_owned()))?;
            if bounded.last().is_some_and(|(before, _)| *before >= sum) {
                return Err(TiersError::NotRising(bound.to_owned()));
            }
            bounded.push((sum, confirmations));
        }
        Ok(Self { bounded, highest: highest.ok_or(TiersError::Last)? })
    }
}

fn parse_confirmations(text: &str) -> Result<u32, TiersError> {
    let number = text.parse().ok().filter(|number| (1..=MAX_CONFIRMATIONS).contains(number));
    number.ok_or_else(|| TiersError::Confirmations(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Option<Decimal> {
        Some(Decimal::from_str_exact(text).unwrap())
    }

    #[test]
    fn a_bound_belongs_to_its_tier_and_is_compared_unrounded() {
        let tiers: ConfirmationTiers = "1000:1,10000:3,*:6".parse().unwrap();
        assert_eq!(tiers, ConfirmationTiers::default());
        for (equivalent, confirmations) in [
            (usd("0.01"), 1),
            (usd("1000"), 1),
            (usd("1000.0000000001"), 3),
            (usd("10000.00"), 3),
            (usd("10000.001"), 6),
            (None, 6),
        ] {
            assert_eq!(tiers.confirmations_for(equivalent), confirmations, "{equivalent:?}");
        }
    }

    #[test]
    fn tiers_read_back_as_shown() {
        for text in ["*:1", "1000:1,10000:3,*:6", "0.5:1,*:144"] {
            assert_eq!(text.parse::<ConfirmationTiers>().unwrap().to_string(), text);
        }
        assert_eq!(
            " 1000.00:1, *:6".parse::<ConfirmationTiers>().unwrap().to_string(),
            "1000:1,*:6"
        );
    }

    #[test]
    fn each_mistake_in_tiers_has_its_own_error() {
        let text = |text: &str| text.to_owned();
        for (tiers, error) in [
            ("", TiersError::Form(text(""))),
            ("1000", TiersError::Form(text("1000"))),
            ("1000:1", TiersError::Last),
            ("*:6,1000:1", TiersError::Last),
            ("*:6,*:7", TiersError::Last),
            ("0:1,*:6", TiersError::Bound(text("0"))),
            ("-1:1,*:6", TiersError::Bound(text("-1"))),
            ("1e3:1,*:6", TiersError::Bound(text("1e3"))),
            (":1,*:6", TiersError::Bound(text(""))),
            ("1000:0,*:6", TiersError::Confirmations(text("0"))),
            ("1000:1,*:145", TiersError::Confirmations(text("145"))),
            ("1000:1,1000:2,*:6", TiersError::NotRising(text("1000"))),
            ("1000:3,*:2", TiersError::Falling(text("*:2"))),
            (&"1:1,".repeat(20), TiersError::TooMany),
        ] {
            assert_eq!(tiers.parse::<ConfirmationTiers>(), Err(error), "{tiers}");
        }
    }
}
