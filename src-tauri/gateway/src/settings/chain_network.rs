//! The values of the setting `network`.

/// The chain of an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainNetwork {
    /// The private chain inside the program.
    Sandbox,
    /// The main network, with real coins.
    Bitcoin,
    Testnet4,
    Signet,
    /// The private test chain of the merchant's own node.
    Regtest,
}

impl ChainNetwork {
    pub const ALL: [Self; 5] =
        [Self::Sandbox, Self::Bitcoin, Self::Testnet4, Self::Signet, Self::Regtest];

    /// The value of the setting `network`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Bitcoin => "bitcoin",
            Self::Testnet4 => "testnet4",
            Self::Signet => "signet",
            Self::Regtest => "regtest",
        }
    }

    /// The network of its addresses.
    #[must_use]
    pub const fn network(self) -> bitcoin::Network {
        match self {
            Self::Sandbox | Self::Regtest => bitcoin::Network::Regtest,
            Self::Bitcoin => bitcoin::Network::Bitcoin,
            Self::Testnet4 => bitcoin::Network::Testnet4,
            Self::Signet => bitcoin::Network::Signet,
        }
    }
}
