//! What an honest server fails at or is busy at because strangers chose the question, payees and customers, while it answers all others.

use bitcoin::ScriptBuf;

use super::headers;
use super::in_vain::InVain;
use super::server::{NoAnswer, Server};
use crate::chain::untold::Untold;

/// What came of questions that strangers chose.
#[derive(Default)]
pub(super) struct Strangers {
    /// Payees of whom not all was told. Scripts of this wallet are counted apart: that the server is busy clears this count, and would hold up
    /// every payout anew for a script of ours that it never tells.
    pub in_vain: InVain,
    /// Payees of whom the server did not tell all, however often it was asked.
    pub payees: Untold<ScriptBuf>,
    /// Paths under which it is asked about others' transactions.
    paths: Untold<String>,
    /// A payee cut the last look short that asked about any: the next asks about none, so that all else has its turn.
    pub has_cut_short: bool,
    /// How often the server had wanted to be left alone when it last did so at a payee.
    silences: u64,
}

impl Strangers {
    /// Notes that not all of a payee was told although it was asked about. Once that happened often enough, it is asked about with the next
    /// block, and then ever more rarely.
    pub(super) fn note_in_vain(&mut self, payee: ScriptBuf, height: u32) {
        self.in_vain.note(payee.clone());
        if self.in_vain.is_untold(&payee) {
            self.payees.note(&payee, height);
        }
    }

    /// The server wanted to be left alone at a payee, as it had this often `before`. Where it did so elsewhere too since it last did at one,
    /// it is busy, and that says nothing of payees.
    pub(super) fn hear_busy_at(&mut self, payee: ScriptBuf, before: u64, height: u32) {
        if self.silences != before {
            self.in_vain.clear();
        }
        self.silences = before.saturating_add(1);
        self.note_in_vain(payee, height);
    }

    /// All was told of a payee.
    pub(super) fn cover(&mut self, payee: &ScriptBuf) {
        self.in_vain.forget(payee);
        self.payees.forget(payee);
    }

    /// Whether the server is not to be asked under a path, for it failed there.
    pub(super) fn rests(&self, path: &String, height: u32) -> bool {
        self.paths.holds(path, height)
    }

    /// Takes over what it answered under a path; `None` where nobody knows, for it failed. Once may be chance; if it does so again, it is
    /// asked with the next block, and then ever more rarely.
    pub(super) fn hear<T>(
        &mut self,
        path: String,
        height: u32,
        answer: Result<Option<T>, NoAnswer>,
    ) -> Result<Option<T>, NoAnswer> {
        match answer {
            Err(NoAnswer::Failed(why) | NoAnswer::TooMuch(why)) => {
                tracing::warn!(path, %why, "what became of others' transactions is unknown");
                self.paths.note_break(&[path], height);
                Ok(None)
            }
            answer => {
                if matches!(answer, Ok(Some(_))) {
                    self.paths.forget(&path);
                }
                answer
            }
        }
    }
}

/// What a server meant that answered so to a question that strangers chose, after it had wanted to be left alone this often `before`. That it
/// wants it now may be about that question alone: where it tells its best block all the same, it failed at the question. Else it is left
/// alone as long as it said.
pub(super) fn meant<T>(server: &Server, before: u64, answer: Result<T, NoAnswer>) -> Result<T, NoAnswer> {
    match answer {
        // Whoever broadcasts may have heard it.
        Err(NoAnswer::Busy(why)) if server.bucket.silences() != before => {
            let until = server.bucket.put_off_silence();
            match headers::tip_hash(server) {
                Ok(_) => Err(NoAnswer::Failed(why)),
                Err(NoAnswer::Busy(why)) => Err(NoAnswer::Busy(why)),
                Err(_) => {
                    server.bucket.be_silent_until(until);
                    Err(NoAnswer::Busy(why))
                }
            }
        }
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payee_at_whom_alone_the_server_is_busy_is_given_up_and_none_while_it_is_busy_elsewhere_too() {
        let payee = ScriptBuf::from_bytes(vec![1]);
        let heard = |elsewhere: u64| {
            let mut strangers = Strangers::default();
            (0..20).for_each(|time| strangers.hear_busy_at(payee.clone(), time * (1 + elsewhere), 100));
            strangers.in_vain.is_untold(&payee)
        };
        assert!(heard(0) && !heard(1));
    }
}
