//! The content of a sale at the till: lines, a tip, and the taxes that the lines contain.

use std::collections::BTreeMap;

/// Most lines of a sale.
pub const LINES_MAX: usize = 200;

/// Highest count of one line.
pub const COUNT_MAX: u32 = 9_999;

/// Highest tax rate, per mille.
pub const TAX_MAX_PER_MILLE: u16 = 1_000;

/// A product or a typed amount, and how often it was sold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleLine {
    /// The product's name; empty for a typed amount.
    pub name: String,
    /// The price of one with its tax, in minor units of the sale's currency.
    pub price_minor: i64,
    /// How many were sold.
    pub count: u32,
    /// The rate of the tax that the price contains, per mille; `None` without tax.
    pub tax_per_mille: Option<u16>,
}

/// Sums are in minor units of the sale's currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basket {
    /// At least one line.
    pub lines: Vec<SaleLine>,
    /// The tip, which contains no tax.
    pub tip_minor: i64,
}

/// The lines of one tax rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaxedSum {
    /// The tax rate.
    pub per_mille: u16,
    /// The sum of the lines with the tax.
    pub gross_minor: i64,
    /// The sum without the tax, rounded half-up.
    pub net_minor: i64,
    /// The difference between both.
    pub tax_minor: i64,
}

/// The taxes of several sales. Each sale is rounded by itself, as on its receipt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SalesTaxes {
    by_rate: BTreeMap<u16, TaxedSum>,
    untaxed_minor: i64,
}

impl SaleLine {
    /// The price of all of them; `None` if it does not fit.
    #[must_use]
    pub fn sum_minor(&self) -> Option<i64> {
        self.price_minor.checked_mul(i64::from(self.count))
    }
}

impl Basket {
    /// The sum of the lines and the tip; `None` if it does not fit.
    #[must_use]
    pub fn total_minor(&self) -> Option<i64> {
        let mut total = self.tip_minor;
        for line in &self.lines {
            total = total.checked_add(line.sum_minor()?)?;
        }
        Some(total)
    }

    /// The sums of the lines with a tax rate, the lowest rate first.
    #[must_use]
    pub fn taxes(&self) -> Vec<TaxedSum> {
        let mut gross_by_rate: BTreeMap<u16, i64> = BTreeMap::new();
        for line in &self.lines {
            if let Some(per_mille) = line.tax_per_mille {
                let gross = gross_by_rate.entry(per_mille).or_default();
                *gross = gross.saturating_add(line.sum_minor().unwrap_or(i64::MAX));
            }
        }
        gross_by_rate.into_iter().map(|(per_mille, gross)| taxed(per_mille, gross)).collect()
    }
}

impl SalesTaxes {
    /// Adds a sale that was paid in full.
    pub fn add(&mut self, basket: &Basket) {
        let mut untaxed_minor = basket.total_minor().unwrap_or(i64::MAX);
        for one in basket.taxes() {
            let nothing = TaxedSum { gross_minor: 0, net_minor: 0, tax_minor: 0, ..one };
            let sum = self.by_rate.entry(one.per_mille).or_insert(nothing);
            sum.gross_minor = sum.gross_minor.saturating_add(one.gross_minor);
            sum.net_minor = sum.net_minor.saturating_add(one.net_minor);
            sum.tax_minor = sum.tax_minor.saturating_add(one.tax_minor);
            untaxed_minor -= one.gross_minor;
        }
        self.untaxed_minor = self.untaxed_minor.saturating_add(untaxed_minor);
    }

    /// The sums of the lines with a tax rate, the lowest rate first.
    pub fn by_rate(&self) -> impl Iterator<Item = TaxedSum> {
        self.by_rate.values().copied()
    }

    /// The sum of the tips, and of the lines without a tax rate.
    #[must_use]
    pub const fn untaxed_minor(&self) -> i64 {
        self.untaxed_minor
    }

    /// The sum of all sales, with their taxes and tips.
    #[must_use]
    pub fn total_minor(&self) -> i64 {
        self.by_rate().fold(self.untaxed_minor, |sum, one| sum.saturating_add(one.gross_minor))
    }
}

fn taxed(per_mille: u16, gross_minor: i64) -> TaxedSum {
    let whole = 1_000 + i128::from(per_mille);
    let net = (i128::from(gross_minor) * 2_000 + whole) / (2 * whole);
    // The net sum is between 0 and the gross sum, so it fits.
    let net_minor = i64::try_from(net).unwrap_or(gross_minor);
    TaxedSum { per_mille, gross_minor, net_minor, tax_minor: gross_minor - net_minor }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(price_minor: i64, count: u32, tax_per_mille: Option<u16>) -> SaleLine {
        SaleLine { name: String::new(), price_minor, count, tax_per_mille }
    }

    #[test]
    fn the_taxes_of_a_coffee_a_cake_and_a_bottle_stand_by_rate() {
        let lines = vec![
            line(350, 2, Some(190)),
            line(420, 1, Some(70)),
            line(25, 1, None),
            line(119, 1, Some(190)),
        ];
        let basket = Basket { lines, tip_minor: 100 };
        assert_eq!(basket.total_minor(), Some(700 + 420 + 25 + 119 + 100));
        let seven = TaxedSum { per_mille: 70, gross_minor: 420, net_minor: 393, tax_minor: 27 };
        let nineteen =
            TaxedSum { per_mille: 190, gross_minor: 819, net_minor: 688, tax_minor: 131 };
        assert_eq!(basket.taxes(), [seven, nineteen]);
    }

    #[test]
    fn the_taxes_of_sales_are_the_sums_of_their_receipts() {
        let coffee = |tip_minor| Basket { lines: vec![line(350, 1, Some(190))], tip_minor };
        let cake = Basket { lines: vec![line(420, 1, Some(70)), line(25, 1, None)], tip_minor: 0 };
        let mut taxes = SalesTaxes::default();
        for sale in [coffee(0), coffee(100), cake.clone()] {
            taxes.add(&sale);
        }
        let rounded_twice = coffee(0).taxes()[0].net_minor * 2;
        let nineteen = TaxedSum {
            per_mille: 190,
            gross_minor: 700,
            net_minor: rounded_twice,
            tax_minor: 700 - rounded_twice,
        };
        assert_eq!(taxes.by_rate().collect::<Vec<_>>(), [cake.taxes()[0], nineteen]);
        assert_eq!((taxes.untaxed_minor(), taxes.total_minor()), (125, 700 + 100 + 445));
    }

    #[test]
    fn a_total_that_does_not_fit_is_none() {
        let basket = Basket { lines: vec![line(i64::MAX, 2, None)], tip_minor: 0 };
        assert_eq!(basket.total_minor(), None);
    }

    proptest! {
        #[test]
        fn net_and_tax_add_up_and_the_net_sum_is_at_most_half_a_unit_off(
            per_mille in 0..=TAX_MAX_PER_MILLE,
            gross in 0i64..=1_000_000_000_000,
        ) {
            let sum = taxed(per_mille, gross);
            prop_assert_eq!(sum.net_minor + sum.tax_minor, gross);
            let whole = 1_000 + i128::from(per_mille);
            let off = (i128::from(sum.net_minor) * whole - i128::from(gross) * 1_000).abs();
            prop_assert!(off * 2 <= whole);
        }
    }
}
