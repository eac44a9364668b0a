//! The two environments. Each has its own data directory, database, wallet, keys and port.

use std::fmt;
use std::str::FromStr;

/// Environments with and without real coins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Environment {
    /// The built-in sandbox, or a test network.
    Test,
    /// Mainnet.
    Production,
}

impl Environment {
    /// Both environments, in the order in which lists show them.
    pub const ALL: [Self; 2] = [Self::Test, Self::Production];

    /// The name on the command line, in the database and in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Production => "production",
        }
    }

    /// The default port of the API.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Test => 7421,
            Self::Production => 7420,
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Environment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "test" => Ok(Self::Test),
            "production" => Ok(Self::Production),
            _ => Err(format!("the environment is test or production, not {text}")),
        }
    }
}
