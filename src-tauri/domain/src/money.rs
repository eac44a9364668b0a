//! Bitcoin and fiat amounts, exchange rates, and every rounding between them.

use rust_decimal::Decimal;

/// A fiat currency: its ISO 4217 code and number of minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency {
    code: [u8; 3],
    minor_units: u8,
}

/// An exchange rate: units of a currency for one Bitcoin, positive, rounded half-even to 4 decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(Decimal);

/// Why a text is no amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not a plain positive decimal number.
    #[error("must be a decimal number like 10.00")]
    NotANumber,
    /// Zero or less.
    #[error("must be more than 0")]
    NotPositive,
    /// More decimals than the currency has.
    #[error("may have at most {0} decimals")]
    TooManyDecimals(u8),
    /// More than can be handled.
    #[error("is too large")]
    TooLarge,
}

impl Currency {
    /// The currency of this ISO 4217 code (three upper-case letters), if it is one that is known.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        let _ = code;
        unimplemented!()
    }

    /// Its ISO code.
    #[must_use]
    pub fn code(&self) -> &str {
        unimplemented!()
    }

    /// Number of decimals of an amount (2 for USD, 0 for JPY).
    #[must_use]
    pub const fn minor_units(&self) -> u8 {
        self.minor_units
    }

    /// Reads an amount into minor units; exact, never rounded.
    ///
    /// # Errors
    /// Says what is wrong with the text.
    pub fn parse_minor(&self, text: &str) -> Result<i64, AmountError> {
        let _ = text;
        unimplemented!()
    }

    /// Shows minor units in plain decimal notation: `10.00`, JPY `1500`, `-0.01`.
    #[must_use]
    pub fn format_minor(&self, minor: i64) -> String {
        let _ = minor;
        unimplemented!()
    }
}

impl Rate {
    /// Rounds half-even to 4 decimals; `None` where nothing positive remains.
    #[must_use]
    pub fn new(rate: Decimal) -> Option<Self> {
        let _ = rate;
        unimplemented!()
    }

    /// The rate with its 4 decimals.
    #[must_use]
    pub const fn decimal(&self) -> Decimal {
        self.0
    }

    /// Plain decimal notation with exactly 4 decimals.
    #[must_use]
    pub fn format(&self) -> String {
        unimplemented!()
    }

    /// The Bitcoin that a price asks for: price / rate, rounded **up** to the satoshi, so that
    /// the merchant never gets less. `None` beyond what fits.
    #[must_use]
    pub fn price_to_sats(&self, price_minor: i64, currency: Currency) -> Option<u64> {
        let _ = (price_minor, currency);
        unimplemented!()
    }

    /// The fiat worth of Bitcoin, rounded **down** to the minor unit. `None` beyond what fits.
    #[must_use]
    pub fn sats_to_minor_floor(&self, sats: u64, currency: Currency) -> Option<i64> {
        let _ = (sats, currency);
        unimplemented!()
    }
}

/// Reads an amount of Bitcoin into satoshis; exact, never rounded; more than 0, at most 21,000,000 BTC.
///
/// # Errors
/// Says what is wrong with the text.
pub fn parse_btc(text: &str) -> Result<u64, AmountError> {
    let _ = text;
    unimplemented!()
}

/// Shows satoshis as Bitcoin with exactly 8 decimals.
#[must_use]
pub fn format_btc(sats: u64) -> String {
    format_btc_signed(i64::try_from(sats).unwrap_or(i64::MAX))
}

/// The same for a difference.
#[must_use]
pub fn format_btc_signed(sats: i64) -> String {
    let _ = sats;
    unimplemented!()
}

/// What a payment's coins are worth in fiat: `floor(paid × rate)` while less than the amount is
/// paid, else the price plus `floor(surplus × rate)`, so that it equals the price exactly when
/// the amount is paid exactly (interface, section 2).
#[must_use]
pub fn paid_minor(price_minor: i64, amount_sats: u64, paid_sats: u64, rate: Rate, currency: Currency) -> i64 {
    let _ = (price_minor, amount_sats, paid_sats, rate, currency);
    unimplemented!()
}
