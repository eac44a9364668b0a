//! Chooses the environment for a command line that names none, or refuses the line
//! (docs/decisions/both-environments.md).

use tillgate_gateway::wallet::mark;
use tillgate_machine::data_dir::{self, DataDirError};
use tillgate_machine::environment::Environment;

use super::args::CommonArgs;
use super::failure::Failure;

const BOTH_LIVE: &str = "test and production both exist here, and this command changes something: name one of them with \
                         --environment test or --environment production";

/// The environment that one command acts on.
pub struct Chosen {
    pub environment: Environment,
    /// Whether stderr names the environment: the line named none, and production has data.
    pub is_told: bool,
}

/// The environment of a command that only shows: the named one, or production once it has a wallet,
/// and test before that.
///
/// # Errors
/// It is uncertain whether production has a wallet, because another user may have prepared the
/// folder.
pub fn of_reading(common: &CommonArgs) -> Result<Chosen, DataDirError> {
    if let Some(environment) = common.environment {
        return Ok(Chosen { environment, is_told: false });
    }
    let environment = if is_live(common)? { Environment::Production } else { Environment::Test };
    let base = data_dir::base(common.data_dir.as_deref())?;
    Ok(Chosen { environment, is_told: data_dir::exists(&base, Environment::Production)? })
}

/// The environment of a command that changes state. It must be named once production has a wallet
/// and test exists.
///
/// # Errors
/// The environment was not named although it must be, or an error of [`of_reading`].
pub fn of_change(common: &CommonArgs) -> Result<Chosen, Failure> {
    let chosen = of_reading(common)?;
    let base = data_dir::base(common.data_dir.as_deref())?;
    let is_ambiguous = common.environment.is_none()
        && chosen.environment == Environment::Production
        && data_dir::exists(&base, Environment::Test)?;
    if is_ambiguous {
        return Err(Failure(BOTH_LIVE.to_owned()));
    }
    Ok(chosen)
}

/// The environments that `tillgate serve` serves: the named one, or test, and production too once
/// it has a wallet.
pub fn to_serve(common: &CommonArgs) -> Vec<Environment> {
    match common.environment {
        Some(environment) => vec![environment],
        None => match is_live(common) {
            Ok(false) => vec![Environment::Test],
            Ok(true) => Environment::ALL.to_vec(),
            Err(error) => {
                // The attempt to serve production reports the error. Without the attempt, shops
                // would reach no gateway and no message would say why.
                tracing::error!(%error, "cannot tell whether production has a wallet; production is served");
                Environment::ALL.to_vec()
            }
        },
    }
}

/// Whether production has a wallet.
///
/// # Errors
/// As [`of_reading`].
pub fn is_live(common: &CommonArgs) -> Result<bool, DataDirError> {
    mark::is_there(&data_dir::base(common.data_dir.as_deref())?, Environment::Production)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use tillgate_gateway::wallet::mark;
    use tillgate_machine::data_dir::{DataDir, IfMissing};

    use super::*;
    use crate::args::Tillgate;

    fn arguments(line: &str) -> CommonArgs {
        Tillgate::try_parse_from(line.split(' ')).unwrap().common
    }

    #[test]
    fn the_default_is_test_until_production_has_a_wallet() {
        let folder = tempfile::tempdir().unwrap();
        let at = |more: &str| {
            arguments(&format!("tillgate serve --data-dir {}{more}", folder.path().display()))
        };
        let command = |more: &str| of_reading(&at(more)).unwrap().environment;
        assert_eq!((command(""), to_serve(&at(""))), (Environment::Test, vec![Environment::Test]));
        let production =
            DataDir::open(folder.path(), Environment::Production, IfMissing::Make).unwrap();
        assert_eq!(
            (command(""), to_serve(&at(""))),
            (Environment::Test, vec![Environment::Test]),
            "an empty folder"
        );
        mark::write(&production).unwrap();
        assert_eq!(
            (command(""), to_serve(&at(""))),
            (Environment::Production, Environment::ALL.to_vec())
        );
        assert_eq!(command(" --environment test"), Environment::Test);
        assert_eq!(to_serve(&at(" --environment test")), [Environment::Test]);
    }

    #[test]
    fn an_unnamed_environment_is_told_once_production_exists() {
        let folder = tempfile::tempdir().unwrap();
        let at = |more: &str| {
            arguments(&format!("tillgate serve --data-dir {}{more}", folder.path().display()))
        };
        let is_told = |more: &str| of_reading(&at(more)).unwrap().is_told;
        assert!(!is_told(""), "there is no production");
        let production =
            DataDir::open(folder.path(), Environment::Production, IfMissing::Make).unwrap();
        std::fs::write(production.database(), "").unwrap();
        assert!(is_told("") && !is_told(" --environment test"));
    }
}
