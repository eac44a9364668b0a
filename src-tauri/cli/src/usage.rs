//! Wrong usage: arguments that do not parse, and arguments that exclude each other.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::CommandFactory as _;

use super::args::{CommonArgs, ServeArgs, Tillgate};
use super::options::overrides_of_environment;

/// Prints help and version on stdout, wrong usage on stderr.
pub fn explain(error: clap::Error) -> ExitCode {
    // A closed pipe is no error.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Refuses arguments that two gateways in one process cannot share.
///
/// # Errors
/// The exit code of wrong usage, after the reason was printed.
pub fn check_shared(common: &CommonArgs, serve: &ServeArgs) -> Result<(), ExitCode> {
    let variables: Vec<String> =
        overrides_of_environment().into_values().map(|one| one.by).collect();
    let Some(why) = refusal_for_two(common, serve, &variables) else { return Ok(()) };
    Err(explain(Tillgate::command().error(clap::error::ErrorKind::ArgumentConflict, why)))
}

/// The refusal of an argument that only one of two gateways could have; `None` if there is no such
/// argument. `variables` are the environment variables that set settings. A port chosen by the
/// system suits both.
fn refusal_for_two(common: &CommonArgs, serve: &ServeArgs, variables: &[String]) -> Option<String> {
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
        "{what} is for one environment, but test and production would be served: name one with --environment (a second \
         process may serve the other one)"
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Act;

    #[test]
    fn an_argument_for_one_environment_is_refused_for_two() {
        let refused = |more: &str, variables: &[&str]| {
            let line = format!("tillgate serve{more}");
            let Tillgate { common, act } = Tillgate::try_parse_from(line.split(' ')).unwrap();
            let Act::Serve(serve) = act else { panic!("{line} does not serve") };
            let variables: Vec<String> = variables.iter().map(|&name| name.to_owned()).collect();
            refusal_for_two(&common, &serve, &variables)
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
