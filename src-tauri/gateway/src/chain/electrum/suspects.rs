//! Strangers' scripts at which the server may have hung up: before one is asked about over the connection of the looks, it is asked about
//! alone over another. Where the server hangs up at that, nothing else is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::call::{self, Answer, Refused, ScriptHash, Whose, subscribe_script};
use super::client::{Client, Connection};

/// Scripts at which the server may hang up so in one answer of a look: each costs a connection, or two, that a public server counts.
const BREAKS_MAX: usize = 3;

/// After so long no further script is tried: looks wait for this.
const TRIED_FOR: Duration = Duration::from_secs(5);

/// What was tried for one answer of a look.
#[derive(Default)]
pub(super) struct Trials {
    began: Option<Instant>,
    connection: Option<Connection>,
    breaks: usize,
    /// The server bears no second connection.
    has_no_way: bool,
    /// Scripts that the server tells of.
    told: BTreeSet<ScriptHash>,
}

/// What came of trying a script.
pub(super) enum Trial {
    /// The server tells of it.
    Told,
    /// It does not, or hangs up.
    Untold,
    /// Nobody asked: there were too many in one look.
    NotTried,
    /// Nobody can ask but over the connection of the looks.
    NoWay,
}

impl Trials {
    /// Tries a script, unless it was in this answer already.
    pub(super) fn of(&mut self, client: &Client, hash: ScriptHash) -> Trial {
        if self.told.contains(&hash) {
            return Trial::Told;
        }
        let is_late = self.began.get_or_insert_with(Instant::now).elapsed() > TRIED_FOR;
        if self.has_no_way || is_late || self.breaks >= BREAKS_MAX {
            return if self.has_no_way { Trial::NoWay } else { Trial::NotTried };
        }
        // One that ended after others were asked about over it may have ended for those.
        let mut answers = self.connection.take().and_then(|connection| self.asked(client, connection, hash));
        if answers.is_none() {
            let connection = match client.aside() {
                Ok(connection) => connection,
                Err(why) => {
                    tracing::debug!(%why, "the server is asked about suspect scripts over the connection of the looks");
                    // After breaks it may be tired of them.
                    self.has_no_way = self.breaks == 0;
                    self.breaks = BREAKS_MAX;
                    return if self.has_no_way { Trial::NoWay } else { Trial::NotTried };
                }
            };
            answers = self.asked(client, connection, hash);
        }
        let Some(answers) = answers else {
            self.breaks = self.breaks.saturating_add(1);
            return Trial::Untold;
        };
        if answers.iter().any(Result::is_err) {
            return Trial::Untold;
        }
        self.told.insert(hash);
        Trial::Told
    }

    /// What the server answers about a script over a connection, which is kept; `None` where it broke off, or was held up.
    fn asked(
        &mut self,
        client: &Client,
        connection: Connection,
        hash: ScriptHash,
    ) -> Option<Vec<Result<Answer, Refused>>> {
        let calls = [subscribe_script(hash, Whose::Strangers), call::history(hash, Whose::Strangers)];
        let answers = client.ask(&connection, &calls).unwrap_or_default();
        let is_held_up =
            |answer: &Result<Answer, Refused>| matches!(answer, Err(Refused::TooSlow | Refused::NotReached));
        if answers.is_empty() || answers.iter().any(is_held_up) {
            return None;
        }
        self.connection = Some(connection);
        Some(answers)
    }
}
