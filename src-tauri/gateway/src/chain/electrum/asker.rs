//! Calls over one connection, with typed answers.

use bitcoin::Txid;
use serde::de::DeserializeOwned;

use super::call::{Answer, Call, Refused, typed};
use super::client::{Client, Connection};
use crate::chain::port::ChainDown;

#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    pub client: &'a Client,
    pub connection: &'a Connection,
}

impl Asker<'_> {
    /// The height of the best block as the server last told it.
    pub(super) fn best_height(&self) -> u32 {
        self.connection.session.tip().map_or(0, |tip| tip.height)
    }

    /// Whether the server does not deliver a transaction even if asked for it alone.
    pub(super) fn does_not_tell(&self, txid: &Txid) -> bool {
        self.client.gets.lock().is_put_off(txid, self.best_height())
    }

    /// Makes a call. A refusal is an error.
    pub(super) fn one<T: DeserializeOwned>(&self, call: Call) -> Result<T, ChainDown> {
        let method = call.method;
        let answer = self.tries(&[call])?.pop().unwrap_or(Ok(None)).map_err(|refused| refused.down(method))?;
        typed(method, &answer)
    }

    /// Makes calls side by side; the answers are in their order. A refusal is an error.
    pub(super) fn all<T: DeserializeOwned>(&self, calls: &[Call]) -> Result<Vec<T>, ChainDown> {
        let answers = self.tries(calls)?.into_iter().zip(calls);
        answers
            .map(|(answer, call)| typed(call.method, &answer.map_err(|refused| refused.down(call.method))?))
            .collect()
    }

    /// Makes calls side by side, each of which may be refused.
    pub(super) fn tries(&self, calls: &[Call]) -> Result<Vec<Result<Answer, Refused>>, ChainDown> {
        self.client.ask(self.connection, calls)
    }
}
