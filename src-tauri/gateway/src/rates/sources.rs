//! The rate sources of an environment.

use std::sync::Arc;

use tillgate_sandbox::Sandbox;

use super::fixed::Fixed;
use super::live;
use super::rate_source::RateSource;
use super::simulated::Simulated;

/// The sources of an environment: simulated rates with a sandbox, otherwise public sources; and
/// fixed rates. The settings select those that are asked.
#[must_use]
pub fn sources(sandbox: Option<Arc<Sandbox>>) -> Vec<Box<dyn RateSource>> {
    let mut sources: Vec<Box<dyn RateSource>> = match sandbox {
        Some(sandbox) => vec![Box::new(Simulated::new(sandbox))],
        None => live::public(),
    };
    sources.push(Box::new(Fixed));
    sources
}

#[cfg(test)]
mod tests {
    use tillgate_machine::environment::Environment;

    use super::*;
    use crate::rates::live_sources;
    use crate::settings::Settings;

    fn chosen(settings: &Settings) -> Vec<&'static str> {
        let rules = settings.rate_rules();
        sources(None)
            .iter()
            .filter(|source| source.is_chosen(&rules))
            .map(|source| source.name())
            .collect()
    }

    #[test]
    fn without_a_sandbox_the_settings_choose_public_or_fixed_rates() {
        let mut settings = Settings::defaults(Environment::Production);
        assert_eq!(chosen(&settings), live_sources());
        settings.rate_sources = vec!["mempool", "kraken"];
        assert_eq!(chosen(&settings), ["kraken", "mempool"]);
        settings.fixed_rates = vec![(tillgate_domain::money::Currency::USD, 50_000.into())];
        assert_eq!(chosen(&settings), ["fixed"]);
    }
}
