//! `tillgate serve` for the desktop program, which runs the gateway inside itself. It takes the
//! same flags and environment variables, prints no ready line, and stops when its host cancels the
//! token.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use tillgate_console::{Refusal, StatusView};
use tillgate_gateway::App;
use tillgate_machine::data_dir;
use tillgate_machine::environment::Environment;
use tillgate_told::Telling;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::args::{CommonArgs, ServeArgs};
use super::failure::Failure;
use super::options::options;
use super::{call, environment, log, privacy, runtime, serve, usage};

/// The arguments of the gateway with a window.
#[derive(Debug, Parser)]
#[command(name = "tillgate-desktop", version, max_term_width = 110)]
pub struct Hosted {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    serve: ServeArgs,
}

/// Why a program does not serve: a sentence with the remedy.
#[derive(Debug)]
pub enum NotServing {
    /// Another process serves the same data, which is no failure.
    Elsewhere(Refusal),
    /// No process serves.
    Failed(Refusal),
}

impl Hosted {
    /// Reads the program's arguments, starts its log, and keeps its files and memory private.
    ///
    /// # Errors
    /// The exit code, after help was shown or wrong usage explained.
    pub fn parse() -> Result<Self, ExitCode> {
        let hosted = Self::from_command_line().map_err(usage::explain)?;
        privacy::keep_private();
        log::start(hosted.common.log_format, "info");
        if hosted.environments().len() > 1 {
            usage::check_shared(&hosted.common, &hosted.serve)?;
        }
        Ok(hosted)
    }

    /// Parses the line of this process.
    fn from_command_line() -> Result<Self, clap::Error> {
        let about = "Take Bitcoin on your own machine: the gateway with a window";
        let mut grammar = Self::command().about(about);
        let matches = grammar.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut grammar))
    }

    /// The environments to serve: the named one, or both, so that production can be set up in the
    /// window.
    #[must_use]
    pub fn environments(&self) -> Vec<Environment> {
        self.common
            .environment
            .map_or_else(|| Environment::ALL.to_vec(), |environment| vec![environment])
    }

    /// The environment to show if none was chosen before: production once it has a wallet.
    #[must_use]
    pub fn first(&self) -> Environment {
        let live = || {
            if environment::is_live(&self.common).unwrap_or(true) {
                Environment::Production
            } else {
                Environment::Test
            }
        };
        self.common.environment.unwrap_or_else(live)
    }

    /// The folder of this installation's data, which tells installations apart; empty if it is
    /// unknown.
    #[must_use]
    pub fn folder(&self) -> String {
        data_dir::base(self.common.data_dir.as_deref())
            .map(|base| base.display().to_string())
            .unwrap_or_default()
    }

    /// A runtime for one environment alone. The log begins lines of its threads with the
    /// environment's name.
    ///
    /// # Errors
    /// The system creates no threads.
    pub fn threads(environment: Environment) -> std::io::Result<Runtime> {
        runtime::of_environment(environment)
    }

    /// Opens the gateway of one environment and serves until `shutdown`; `ready` is called once it
    /// takes payments.
    ///
    /// # Errors
    /// The reason that the gateway does not run, and the remedy.
    pub async fn serve(
        &self,
        environment: Environment,
        ready: impl FnOnce(&Arc<App>),
        shutdown: CancellationToken,
    ) -> Result<(), NotServing> {
        let gateways = self.environments().len();
        let served = match options(&self.common.in_environment(environment)) {
            Ok(options) => {
                serve::until_stopped(
                    options,
                    self.serve.clone(),
                    gateways,
                    |app, _| ready(app),
                    shutdown,
                )
                .await
            }
            Err(failure) => Err(failure),
        };
        let Err(Failure(why)) = served else { return Ok(()) };
        Err(match call::running(&self.common.in_environment(environment)).await {
            Some(StatusView { api: Some(api), .. }) => {
                NotServing::Elsewhere(Refusal::GatewayElsewhere { api, why })
            }
            Some(StatusView { api: None, .. }) | None => {
                NotServing::Failed(Refusal::GatewayDown { why: Telling::of_text(why) })
            }
        })
    }

    /// Waits for SIGTERM or Ctrl-C.
    ///
    /// # Errors
    /// The system installs no signal handler.
    pub async fn signalled() -> std::io::Result<()> {
        serve::on_signal()?.cancelled().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_desktop_takes_the_flags_of_serve() {
        Hosted::command().debug_assert();
        let line = [
            "tillgate-desktop",
            "--data-dir",
            "/d",
            "--listen",
            "127.0.0.1:0",
            "--public-url",
            "https://a.example",
        ];
        let hosted = <Hosted as Parser>::try_parse_from(line).unwrap();
        assert_eq!(hosted.environments(), Environment::ALL);
        assert_eq!(hosted.serve.listen.unwrap().port(), 0);
        let named =
            <Hosted as Parser>::try_parse_from(["tillgate-desktop", "--environment", "production"])
                .unwrap();
        assert_eq!(
            (named.environments(), named.first()),
            (vec![Environment::Production], Environment::Production)
        );
        assert!(<Hosted as Parser>::try_parse_from(["tillgate-desktop", "keys"]).is_err());
    }
}
