//! `tillgate serve` for a program that runs the gateway inside itself: the desktop. It takes the same flags
//! and environment variables, prints no ready line, and ends when its host says so.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use tokio_util::sync::CancellationToken;

use super::args::{Common, ServeArgs};
use super::{Failure, log, serve};
use crate::environment::Environment;
use crate::gateway::Gateway;

/// Take Bitcoin on your own machine: the window around the gateway.
#[derive(Debug, Parser)]
#[command(name = "tillgate-desktop", version, max_term_width = 110)]
pub struct Hosted {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    serve: ServeArgs,
}

impl Hosted {
    /// Reads the program's arguments, starts its log, and makes its files its owner's alone.
    ///
    /// # Errors
    /// How to end, after help was shown or wrong usage explained.
    pub fn parse() -> Result<Self, ExitCode> {
        let hosted = <Self as Parser>::try_parse().map_err(super::explain)?;
        super::keep_files_private();
        log::start(hosted.common.log_format, "info");
        Ok(hosted)
    }

    /// The environment that it serves.
    #[must_use]
    pub fn environment(&self) -> Environment {
        self.common.environment
    }

    /// Opens the gateway and serves until `shutdown`; `ready` is called once it takes payments.
    ///
    /// # Errors
    /// Why it does not run (any more), and what to do: a sentence.
    pub async fn serve(&self, ready: impl FnOnce(&Arc<Gateway>), shutdown: CancellationToken) -> Result<(), String> {
        let served =
            serve::until_stopped(&self.common, self.serve.clone(), |gateway, _| ready(gateway), shutdown).await;
        served.map_err(|Failure(why)| why)
    }

    /// Waits for SIGTERM or Ctrl-C.
    ///
    /// # Errors
    /// When the system does not let signals be heard.
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
        let line =
            ["tillgate-desktop", "--data-dir", "/d", "--listen", "127.0.0.1:0", "--public-url", "https://a.example"];
        let hosted = <Hosted as Parser>::try_parse_from(line).unwrap();
        assert_eq!(hosted.environment(), Environment::Test);
        assert_eq!(hosted.serve.listen.unwrap().port(), 0);
        assert!(<Hosted as Parser>::try_parse_from(["tillgate-desktop", "keys"]).is_err());
    }
}
