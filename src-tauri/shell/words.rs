//! The words of the tray and of the window's title. They are English until the panel has loaded and
//! sends its own.

use serde::Deserialize;
use tillgate_machine::environment::Environment;

use crate::waiting::Waiting;

/// The words, in one language. `#` stands for a number.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Words {
    /// The menu item that shows the window.
    show: String,
    /// The menu item that ends the program.
    quit: String,
    test: OfEnvironment,
    production: OfEnvironment,
    reversals: Counted,
    offers: Counted,
    no_backup: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct OfEnvironment {
    name: String,
    title: String,
}

/// A text for one, and a text for any other number.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Counted {
    one: String,
    many: String,
}

impl Default for Words {
    fn default() -> Self {
        let of = |name: &str, title: &str| OfEnvironment {
            name: name.to_owned(),
            title: title.to_owned(),
        };
        let counted =
            |one: &str, many: &str| Counted { one: one.to_owned(), many: many.to_owned() };
        Self {
            show: "Show Tillgate".to_owned(),
            quit: "Quit Tillgate".to_owned(),
            test: of("Test", "Tillgate (test environment)"),
            production: of("Production", "Tillgate (production)"),
            reversals: counted("# payment reversed", "# payments reversed"),
            offers: counted("# payout waits for approval", "# payouts wait for approval"),
            no_backup: "no nightly backup is made".to_owned(),
        }
    }
}

impl Words {
    pub fn show(&self) -> &str {
        &self.show
    }

    pub fn quit(&self) -> &str {
        &self.quit
    }

    pub fn name(&self, environment: Environment) -> &str {
        &self.in_environment(environment).name
    }

    /// The window's title while it shows an environment.
    pub fn title(&self, environment: Environment) -> &str {
        &self.in_environment(environment).title
    }

    /// The waiting tasks; `None` if there are none.
    pub fn tasks(&self, waiting: Waiting) -> Option<String> {
        let backup = waiting.no_backup.then(|| self.no_backup.clone());
        let counted = [self.reversals.text(waiting.reversals), self.offers.text(waiting.offers)];
        let all: Vec<String> = counted.into_iter().flatten().chain(backup).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    const fn in_environment(&self, environment: Environment) -> &OfEnvironment {
        match environment {
            Environment::Test => &self.test,
            Environment::Production => &self.production,
        }
    }
}

impl Counted {
    fn text(&self, count: u64) -> Option<String> {
        let form = match count {
            0 => return None,
            1 => &self.one,
            _ => &self.many,
        };
        Some(form.replace('#', &count.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_tasks_are_counted_in_the_text() {
        let said = |reversals, offers| {
            Words::default().tasks(Waiting { reversals, offers, no_backup: false })
        };
        assert_eq!(said(0, 0), None);
        assert_eq!(said(1, 0).as_deref(), Some("1 payment reversed"));
        assert_eq!(
            said(12, 1).as_deref(),
            Some("12 payments reversed, 1 payout waits for approval")
        );
        assert_eq!(said(0, 2).as_deref(), Some("2 payouts wait for approval"));
        let both = Waiting { reversals: 1, offers: 0, no_backup: true };
        assert_eq!(
            Words::default().tasks(both).as_deref(),
            Some("1 payment reversed, no nightly backup is made")
        );
    }
}
