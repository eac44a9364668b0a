//! The text of the window's title and of the tray: the environment that the window shows, and the tasks that wait in
//! each environment.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tauri::{AppHandle, Manager};
use tillgate_gateway::Environment;

use crate::{tray, window};

/// The facts from which the text is made, kept as Tauri state.
#[derive(Debug, Default)]
pub struct Standing(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    /// The environment that the window shows; absent until the panel reports it.
    shown: Option<Environment>,
    /// Tasks that wait for a person, by the environment's name.
    waiting: BTreeMap<&'static str, String>,
}

/// An environment's name at the start of a sentence.
pub const fn name_of(environment: Environment) -> &'static str {
    match environment {
        Environment::Test => "Test",
        Environment::Production => "Production",
    }
}

/// Records that the window now shows this environment.
pub fn shows(app: &AppHandle, environment: Environment) {
    change(app, |said| said.shown = Some(environment));
}

/// Records the tasks that wait in one environment; `None` if there are none.
pub fn waits(app: &AppHandle, environment: Environment, words: Option<String>) {
    change(app, |said| match words {
        Some(words) => drop(said.waiting.insert(environment.as_str(), words)),
        None => drop(said.waiting.remove(environment.as_str())),
    });
}

fn change(app: &AppHandle, act: impl FnOnce(&mut Said)) {
    let Some(standing) = app.try_state::<Standing>() else { return };
    // The data behind a poisoned lock is still valid. The lock is held while the text is set, so that the newest text
    // is set last.
    let mut said = standing.0.lock().unwrap_or_else(PoisonError::into_inner);
    act(&mut said);
    tray::tell(app, said.waiting().as_deref(), said.is_production_waiting());
    window::tell(app, &said.title());
}

impl Said {
    /// The waiting tasks, production first.
    fn waiting(&self) -> Option<String> {
        let of = |environment: &Environment| {
            let words = self.waiting.get(environment.as_str())?;
            Some(format!("{}: {words}", name_of(*environment)))
        };
        let all: Vec<String> = [Environment::Production, Environment::Test].iter().filter_map(of).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn is_production_waiting(&self) -> bool {
        self.waiting.contains_key(Environment::Production.as_str())
    }

    fn title(&self) -> String {
        let shown = match self.shown {
            None => "Tillgate",
            Some(Environment::Test) => "Tillgate (test environment)",
            Some(Environment::Production) => "Tillgate (production)",
        };
        self.waiting().map_or_else(|| shown.to_owned(), |words| format!("{shown} – {words}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waiting_task_is_shown_with_its_environment() {
        let mut said = Said::default();
        assert_eq!((said.title().as_str(), said.waiting()), ("Tillgate", None));
        said.shown = Some(Environment::Test);
        assert_eq!(said.title(), "Tillgate (test environment)");
        said.waiting.insert("test", "2 payouts wait for approval".to_owned());
        assert_eq!(said.title(), "Tillgate (test environment) – Test: 2 payouts wait for approval");
        assert!(!said.is_production_waiting());
        said.waiting.insert("production", "1 payment reversed".to_owned());
        said.shown = Some(Environment::Production);
        let both = "Tillgate (production) – Production: 1 payment reversed; Test: 2 payouts wait for approval";
        assert_eq!(said.title(), both);
        assert!(said.is_production_waiting());
    }
}
