//! Small sales, which are final before a block holds their coins: the setting `zeroConfUpTo` for
//! people.

use serde::{Deserialize, Serialize};
use tillgate_chain::BackendKind;
use tillgate_domain::policy::PriceBound;
use tillgate_gateway::settings::ChainNetwork;
use tillgate_told::{Telling, Told as _};
use ts_rs::TS;

use super::ask::{Ask, Asker, currency, price};
use super::error::CommandError;
use super::refusal::ArgumentFault;
use super::settings::SetSetting;
use super::sums::FiatView;

const SETTING: &str = "zeroConfUpTo";

/// Shows up to which price a sale is final before a block holds its coins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ShowSmallSales {}

/// Changes up to which price a sale is final before a block holds its coins. Payments that exist
/// already keep their rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetSmallSales {
    /// The ISO code of the currency.
    pub currency: String,
    /// The highest price, as the person typed it; empty if each sale waits for a block.
    pub up_to: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SmallSalesView {
    /// The highest price of a small sale; absent if each sale waits for a block.
    pub up_to: Option<FiatView>,
    /// The reason why each sale waits for a block at present, whatever the setting.
    pub obstacle: Option<Telling>,
    /// Whether the Bitcoin server belongs to somebody else, who could make up a payment that no
    /// block holds.
    pub is_server_foreign: bool,
}

/// A missing ability of the Bitcoin server, without which each sale waits for a block. Its text
/// continues the argument's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum SmallSalesObstacle {
    #[error(
        "needs a Bitcoin server that shows payments before a block holds them: choose another server"
    )]
    NoMempool,
    #[error("needs a Bitcoin server that knows which fees are usual: try again in some hours")]
    NoEstimate,
}

impl Ask for ShowSmallSales {
    type Answer = SmallSalesView;

    async fn answer(self, by: &Asker<'_>) -> Result<SmallSalesView, CommandError> {
        let settings = by.gateway().settings.snapshot();
        Ok(SmallSalesView {
            up_to: shown(settings.policy.zero_conf_up_to),
            obstacle: obstacle(by).await.map(|obstacle| obstacle.telling()),
            is_server_foreign: settings.network != ChainNetwork::Sandbox
                && settings.backend == BackendKind::Electrum,
        })
    }
}

impl Ask for SetSmallSales {
    type Answer = SmallSalesView;

    async fn answer(self, by: &Asker<'_>) -> Result<SmallSalesView, CommandError> {
        let currency = currency("currency", &self.currency)?;
        let settings = by.gateway().settings.snapshot();
        let value = match self.up_to.trim() {
            "" => "0".to_owned(),
            typed => {
                let minor = price("upTo", typed, currency)?;
                if !settings.currencies.contains(&currency) {
                    return Err(CommandError::invalid("currency", &ArgumentFault::NoPrices));
                }
                let now = settings.policy.zero_conf_up_to;
                let rises = now.currency() != currency || now.minor() < minor;
                if rises && let Some(obstacle) = obstacle(by).await {
                    return Err(CommandError::invalid("upTo", &obstacle));
                }
                format!("{} {}", currency.format_minor(minor), currency.code())
            }
        };
        SetSetting { name: SETTING.to_owned(), value }.answer(by).await.map_err(of_field)?;
        ShowSmallSales {}.answer(by).await
    }
}

/// A refusal of the setting's value concerns the typed sum.
fn of_field(error: CommandError) -> CommandError {
    CommandError { field: error.field.map(|_| "upTo".to_owned()), ..error }
}

/// The bound for people; `None` if it covers no price. Decimals that the currency does not have are
/// left out.
fn shown(bound: PriceBound) -> Option<FiatView> {
    let minor = bound.minor();
    (minor > 0).then(|| FiatView::from_minor(minor, bound.currency()))
}

async fn obstacle(by: &Asker<'_>) -> Option<SmallSalesObstacle> {
    let gateway = by.gateway();
    if !gateway.backend.chain.has_mempool() {
        return Some(SmallSalesObstacle::NoMempool);
    }
    let known = gateway.fee_rates_of_offers().await?;
    known.rates.estimate.is_none().then_some(SmallSalesObstacle::NoEstimate)
}
