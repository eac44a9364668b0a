//! The text of the window's title and of the tray: the environment that the window shows, and the
//! tasks that wait in each environment.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tauri::{AppHandle, Manager};
use tillgate_machine::environment::Environment;

use crate::waiting::Waiting;
use crate::words::Words;
use crate::{tray, window};

/// The facts from which the text is made, kept as Tauri state.
#[derive(Debug, Default)]
pub struct Standing(Mutex<TitleFacts>);

#[derive(Debug, Default)]
struct TitleFacts {
    /// The environment that the window shows; absent until the panel reports it.
    shown: Option<Environment>,
    /// Tasks that wait for a person, by the environment's name.
    waiting: BTreeMap<&'static str, Waiting>,
    words: Words,
}

/// Records that the window now shows this environment, and the panel's words.
pub fn shows(app: &AppHandle, environment: Environment, words: Option<Words>) {
    change(app, |facts| {
        facts.shown = Some(environment);
        if let Some(words) = words {
            facts.words = words;
        }
    });
}

/// Records the tasks that wait in one environment.
pub fn waits(app: &AppHandle, environment: Environment, waiting: Waiting) {
    change(app, |facts| {
        facts.waiting.insert(environment.as_str(), waiting);
    });
}

fn change(app: &AppHandle, act: impl FnOnce(&mut TitleFacts)) {
    let Some(standing) = app.try_state::<Standing>() else { return };
    // The data behind a poisoned lock is still valid. The lock is held while the text is set, so
    // that the newest text is set last.
    let mut facts = standing.0.lock().unwrap_or_else(PoisonError::into_inner);
    act(&mut facts);
    tray::tell(app, &facts.words, facts.waiting().as_deref(), facts.is_production_waiting());
    window::tell(app, &facts.title());
}

impl TitleFacts {
    /// The waiting tasks, production first.
    fn waiting(&self) -> Option<String> {
        let line = |environment: &Environment| {
            let tasks = self.words.tasks(self.waiting_in(*environment))?;
            Some(format!("{}: {tasks}", self.words.name(*environment)))
        };
        let all: Vec<String> =
            [Environment::Production, Environment::Test].iter().filter_map(line).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn is_production_waiting(&self) -> bool {
        self.waiting_in(Environment::Production) != Waiting::default()
    }

    fn waiting_in(&self, environment: Environment) -> Waiting {
        self.waiting.get(environment.as_str()).copied().unwrap_or_default()
    }

    fn title(&self) -> String {
        let shown = self.shown.map_or("Tillgate", |shown| self.words.title(shown));
        self.waiting().map_or_else(|| shown.to_owned(), |tasks| format!("{shown} – {tasks}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_waiting_task_is_shown_with_its_environment() {
        let mut facts = TitleFacts::default();
        assert_eq!((facts.title().as_str(), facts.waiting()), ("Tillgate", None));
        facts.shown = Some(Environment::Test);
        assert_eq!(facts.title(), "Tillgate (test environment)");
        facts.waiting.insert("test", Waiting { offers: 2, ..Waiting::default() });
        assert_eq!(
            facts.title(),
            "Tillgate (test environment) – Test: 2 payouts wait for approval"
        );
        assert!(!facts.is_production_waiting());
        facts.waiting.insert("production", Waiting { reversals: 1, ..Waiting::default() });
        facts.shown = Some(Environment::Production);
        let both = "Tillgate (production) – Production: 1 payment reversed; Test: 2 payouts wait for approval";
        assert_eq!(facts.title(), both);
        assert!(facts.is_production_waiting());
    }

    #[test]
    fn the_panels_words_take_the_place_of_the_english_ones() {
        let environment = |name: &str, title: &str| json!({ "name": name, "title": title });
        let counted = |one: &str, many: &str| json!({ "one": one, "many": many });
        let words = serde_json::from_value(json!({
            "show": "Tillgate zeigen",
            "quit": "Tillgate beenden",
            "test": environment("Test", "Tillgate (Testumgebung)"),
            "production": environment("Produktion", "Tillgate (Produktion)"),
            "reversals": counted("# Zahlung rückgängig", "# Zahlungen rückgängig"),
            "offers": counted("# Auszahlung wartet auf Freigabe", "# Auszahlungen warten auf Freigabe"),
            "noBackup": "kein nächtliches Backup",
        }));
        let waiting = BTreeMap::from([("production", Waiting { offers: 3, ..Waiting::default() })]);
        let facts = TitleFacts { shown: Some(Environment::Test), waiting, words: words.unwrap() };
        assert_eq!(
            facts.title(),
            "Tillgate (Testumgebung) – Produktion: 3 Auszahlungen warten auf Freigabe"
        );
    }
}
