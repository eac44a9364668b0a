//! What an honest server fails at or is busy at because strangers chose the question, while it answers all others.

use bitcoin::ScriptBuf;

use super::server::NoAnswer;
use super::state::State;

impl State {
    /// Notes that not all of a payee was told although it was asked about. Once that happened often enough, it is asked about with the next block, and then ever more rarely.
    pub(super) fn note_payee_in_vain(&mut self, script: ScriptBuf) {
        self.note_in_vain(script.clone());
        if self.is_untold(&script) {
            let height = self.height();
            self.strangers.payees.note(&script, height);
        }
    }

    /// The server wanted to be left alone at a payee, as it had this often `before`. Where it did so elsewhere too since it last did at one,
    /// it is busy, and that says nothing of payees.
    pub(super) fn hear_busy_at(&mut self, payee: ScriptBuf, before: u64) {
        if self.strangers.silences != before {
            self.in_vain.clear();
        }
        self.strangers.silences = before.saturating_add(1);
        self.note_payee_in_vain(payee);
    }

    /// All was told of a payee.
    pub(super) fn cover_payee(&mut self, script: &ScriptBuf) {
        self.in_vain.remove(script);
        self.strangers.payees.forget(script);
    }

    /// Asks what strangers chose; `None` where nobody knows, for the server fails at it. Once may be chance; if it does so again, it is asked
    /// with the next block, and then ever more rarely.
    pub(super) fn ask_of_strangers<T>(
        &mut self,
        path: String,
        ask: impl FnOnce(&mut Self) -> Result<Option<T>, NoAnswer>,
    ) -> Result<Option<T>, NoAnswer> {
        let height = self.height();
        if self.strangers.paths.holds(&path, height) {
            return Ok(None);
        }
        match ask(self) {
            Err(NoAnswer::Failed(why) | NoAnswer::TooMuch(why)) => {
                tracing::warn!(path, %why, "what became of others' transactions is unknown");
                self.strangers.paths.note_break(&[path], height);
                Ok(None)
            }
            answer => {
                if matches!(answer, Ok(Some(_))) {
                    self.strangers.paths.forget(&path);
                }
                answer
            }
        }
    }
}
