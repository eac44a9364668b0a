//! The kinds of address.

/// The kind of address that customers pay to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressType {
    /// Native SegWit, `bc1q…`.
    Bip84,
    /// Taproot, `bc1p…`.
    Bip86,
}

impl AddressType {
    /// The type that words may have besides this one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Bip84 => Self::Bip86,
            Self::Bip86 => Self::Bip84,
        }
    }

    /// The value of the setting `addressType`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bip84 => "bip84",
            Self::Bip86 => "bip86",
        }
    }
}
