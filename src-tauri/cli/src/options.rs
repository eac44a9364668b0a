//! The options to open a gateway with, from flags and environment variables.

use std::collections::BTreeMap;

use tillgate_gateway::open::Options;
use tillgate_gateway::settings::{Override, SETTINGS};
use tillgate_machine::data_dir::IfMissing;
use tillgate_machine::secrets::SecretsLocation;

use super::args::Common;
use super::failure::Failure;
use super::passphrase;

/// The options to open a gateway with. Flags override environment variables, which override the
/// stored settings.
pub fn options(common: &Common) -> Result<Options, Failure> {
    let secrets = match &common.secrets_file {
        Some(file) => SecretsLocation::File {
            file: file.clone(),
            passphrase: passphrase::of_secrets_file(common)?,
        },
        None => SecretsLocation::Keyring,
    };
    Ok(Options {
        environment: common.environment,
        data_dir: common.data_dir.clone(),
        if_missing: IfMissing::Make,
        overrides: overrides_of_environment(),
        secrets,
    })
}

/// Settings given by environment variables.
pub fn overrides_of_environment() -> BTreeMap<String, Override> {
    overrides(|variable| std::env::var(variable).ok())
}

/// Settings given by variables, like `merchantName` by `TILLGATE_MERCHANT_NAME`. An empty variable
/// is ignored.
fn overrides(variable: impl Fn(&str) -> Option<String>) -> BTreeMap<String, Override> {
    SETTINGS
        .iter()
        .filter_map(|setting| {
            let by = variable_name(setting.name);
            let value = variable(&by).filter(|value| !value.is_empty())?;
            Some((setting.name.to_owned(), Override { value, by }))
        })
        .collect()
}

fn variable_name(setting: &str) -> String {
    let mut name = "TILLGATE_".to_owned();
    for character in setting.chars() {
        if character.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(character.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_a_variable() {
        assert_eq!(variable_name("tolerancePerMille"), "TILLGATE_TOLERANCE_PER_MILLE");
        let given = overrides(|name| match name {
            "TILLGATE_MERCHANT_NAME" => Some("Café".to_owned()),
            "TILLGATE_PUBLIC_URL" => Some(String::new()),
            _ => None,
        });
        assert_eq!(given.len(), 1);
        assert_eq!(given["merchantName"].value, "Café");
        assert_eq!(given["merchantName"].by, "TILLGATE_MERCHANT_NAME");
    }
}
