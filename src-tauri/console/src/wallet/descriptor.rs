//! The wallet's public descriptors.

use serde::{Deserialize, Serialize};
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::records::qr;
use tillgate_gateway::setup::SetupError;
use ts_rs::TS;

use super::existing::existing_wallet;
use crate::ask::{Ask, Asker};
use crate::error::CommandError;

/// Asks for the wallet's public descriptors. A person who has them sees every payment, but cannot
/// spend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WalletDescriptor {}

/// The public descriptors, with checksums. Sparrow, Specter, Liana and Bitcoin Core read them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WalletDescriptorView {
    /// One descriptor of both keychains.
    pub descriptor: String,
    /// The descriptor of the addresses for customers.
    pub external: String,
    /// The descriptor of change addresses.
    pub internal: String,
    /// The QR code of `descriptor`, a whole SVG document.
    #[serde(default)]
    pub qr_svg: String,
}

impl Ask for WalletDescriptor {
    type Answer = WalletDescriptorView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletDescriptorView, CommandError> {
        WalletDescriptorView::from_gateway(by.gateway())
    }
}

impl WalletDescriptorView {
    /// # Errors
    /// There is no wallet yet.
    pub fn from_gateway(gateway: &Gateway) -> Result<Self, CommandError> {
        let wallet = existing_wallet(gateway)?;
        let descriptors = wallet.keychains.descriptors();
        let descriptor = descriptors.multipath().map_err(SetupError::from)?;
        Ok(Self {
            qr_svg: qr::svg(&descriptor),
            descriptor,
            external: descriptors.external.clone(),
            internal: descriptors.internal.clone(),
        })
    }
}
