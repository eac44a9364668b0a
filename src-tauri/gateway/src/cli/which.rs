//! Chooses the environment for a command line that names none, or refuses the line
//! (docs/decisions/both-environments.md).

use std::net::SocketAddr;

use super::Failure;
use super::args::{CommonArgs, ServeArgs};
use crate::console::Command;
use crate::machine::data_dir::{self, DataDirError};
use crate::machine::environment::Environment;
use crate::machine::wallet_mark;

const BOTH_LIVE: &str = "test and production both run here, and this command changes something: name one of them with \
                         --environment test or --environment production";

/// The environment that one command acts on.
pub(super) struct Chosen {
    pub(super) environment: Environment,
    /// Whether to say which environment it was: none was named, and both live.
    pub(super) is_told: bool,
}

/// The environment of a command that only shows: the named one, or production once it has a wallet, and test before
/// that.
///
/// # Errors The answer is uncertain, because another user may have prepared the folder.
pub(super) fn of_reading(common: &CommonArgs) -> Result<Chosen, DataDirError> {
    if let Some(environment) = common.environment {
        return Ok(Chosen { environment, is_told: false });
    }
    let environment = if is_live(common)? { Environment::Production } else { Environment::Test };
    let base = data_dir::base(common.data_dir.as_deref())?;
    Ok(Chosen { environment, is_told: data_dir::exists(&base, Environment::Production)? })
}

/// The same for a command that changes state, which must name its environment once both live.
///
/// # Errors It names none although both live, or as [`of_reading`].
pub(super) fn of_change(common: &CommonArgs) -> Result<Chosen, Failure> {
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

/// Whether a command changes no state.
pub(super) const fn only_shows(command: &Command) -> bool {
    matches!(
        command,
        Command::Status(_)
            | Command::ListPayments(_)
            | Command::ShowPayment(_)
            | Command::ListAnomalies(_)
            | Command::ShowAnomaly(_)
            | Command::ListPayouts(_)
            | Command::ShowPayout(_)
            | Command::EstimatePayout(_)
            | Command::EstimateBump(_)
            | Command::ShowLimits(_)
            | Command::WalletInfo(_)
            | Command::WalletDescriptor(_)
            | Command::WalletLabels(_)
            | Command::ShowRestore(_)
            | Command::VerifyWords(_)
            | Command::Statement(_)
            | Command::ShowBackups(_)
            | Command::VerifyBackup(_)
            | Command::ListDeliveries(_)
            | Command::ListKeys(_)
            | Command::ListSettings(_)
            | Command::GetSetting(_)
            | Command::TestBackend(_)
            | Command::Doctor(_)
    )
}

/// The environments that `tillgate serve` serves: the named one, or test, and production too once it has a wallet.
pub(super) fn to_serve(common: &CommonArgs) -> Vec<Environment> {
    match common.environment {
        Some(environment) => vec![environment],
        None => match is_live(common) {
            Ok(false) => vec![Environment::Test],
            Ok(true) => Environment::ALL.to_vec(),
            Err(error) => {
                // Serving it shows the error. Without it, shops would reach no gateway and no message would say why.
                tracing::error!(%error, "whether production has a wallet cannot be told; it is served");
                Environment::ALL.to_vec()
            }
        },
    }
}

/// Whether production has a wallet.
///
/// # Errors The answer is uncertain.
pub(super) fn is_live(common: &CommonArgs) -> Result<bool, DataDirError> {
    wallet_mark::is_there(&data_dir::base(common.data_dir.as_deref())?, Environment::Production)
}

/// The refusal of an argument that only one of two gateways could have; `None` if there is no such argument.
/// `variables` are the environment variables that set settings. A port chosen by the system suits both.
pub(super) fn for_one_alone(common: &CommonArgs, serve: &ServeArgs, variables: &[String]) -> Option<String> {
    let is_fixed = |address: Option<SocketAddr>| address.is_some_and(|address| address.port() != 0);
    let given = [
        ("--listen (TILLGATE_LISTEN)", is_fixed(serve.listen)),
        ("--pages-listen (TILLGATE_PAGES_LISTEN)", is_fixed(serve.pages_listen)),
        ("--public-url", serve.public_url.is_some()),
        ("--secrets-file (TILLGATE_SECRETS_FILE)", common.secrets_file.is_some()),
    ];
    let flag = given.into_iter().find_map(|(name, is_given)| is_given.then(|| name.to_owned()));
    let what = flag.or_else(|| variables.first().cloned())?;
    Some(format!(
        "{what} is for one environment, and two would be served, test and production: name one with --environment (a second \
         process may serve the other)"
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Act, Tillgate};
    use crate::machine::data_dir::{DataDir, WhereNone};

    fn line(line: &str) -> (CommonArgs, ServeArgs) {
        let words = std::iter::once("tillgate").chain(line.split(' '));
        let Tillgate { common, act } = Tillgate::try_parse_from(words).unwrap();
        let Act::Serve(serve) = act else { panic!("{line} does not serve") };
        (common, serve)
    }

    #[test]
    fn production_is_meant_once_it_has_a_wallet_and_test_before() {
        let folder = tempfile::tempdir().unwrap();
        let at = |more: &str| line(&format!("serve --data-dir {}{more}", folder.path().display())).0;
        let command = |more: &str| of_reading(&at(more)).unwrap().environment;
        assert_eq!((command(""), to_serve(&at(""))), (Environment::Test, vec![Environment::Test]));
        let production = DataDir::open(folder.path(), Environment::Production, WhereNone::Make).unwrap();
        assert_eq!((command(""), to_serve(&at(""))), (Environment::Test, vec![Environment::Test]), "an empty folder");
        production.mark_wallet().unwrap();
        assert_eq!((command(""), to_serve(&at(""))), (Environment::Production, Environment::ALL.to_vec()));
        assert_eq!(command(" --environment test"), Environment::Test);
        assert_eq!(to_serve(&at(" --environment test")), [Environment::Test]);
    }

    #[test]
    fn an_unnamed_environment_is_told_if_there_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let at = |more: &str| line(&format!("serve --data-dir {}{more}", folder.path().display())).0;
        let is_told = |more: &str| of_reading(&at(more)).unwrap().is_told;
        assert!(!is_told(""), "there is only one");
        let production = DataDir::open(folder.path(), Environment::Production, WhereNone::Make).unwrap();
        std::fs::write(production.database(), "").unwrap();
        assert!(is_told("") && !is_told(" --environment test"));
    }

    #[test]
    fn an_argument_for_one_environment_is_refused_for_two() {
        let refused = |more: &str, variables: &[&str]| {
            let (common, serve) = line(&format!("serve{more}"));
            let variables: Vec<String> = variables.iter().map(|&name| name.to_owned()).collect();
            for_one_alone(&common, &serve, &variables)
        };
        for (more, names) in [
            (" --listen 127.0.0.1:7500", "--listen"),
            (" --pages-listen 127.0.0.1:7500", "--pages-listen"),
            (" --public-url https://a.example", "--public-url"),
            (" --secrets-file /s", "--secrets-file"),
        ] {
            assert!(refused(more, &[]).is_some_and(|why| why.starts_with(names)), "{more}");
        }
        let limit = refused("", &["TILLGATE_DAILY_LIMIT_BTC"]);
        assert!(limit.is_some_and(|why| why.starts_with("TILLGATE_DAILY_LIMIT_BTC")));
        assert_eq!(refused(" --listen 127.0.0.1:0 --tls-self-signed --data-dir /d", &[]), None);
    }
}
