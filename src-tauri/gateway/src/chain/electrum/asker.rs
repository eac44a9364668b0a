//! Questions over one connection, with answers of known types.

use serde::de::DeserializeOwned;

use super::call::{Answer, Call, Refused, typed};
use super::client::{Client, Connection};
use crate::chain::ChainDown;

/// Asks over one connection.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    pub client: &'a Client,
    pub connection: &'a Connection,
}

impl Asker<'_> {
    /// Makes a call. A refusal is a reason not to go on.
    pub(super) fn one<T: DeserializeOwned>(&self, call: Call) -> Result<T, ChainDown> {
        let method = call.method;
        let answer = self.tries(&[call])?.pop().unwrap_or(Ok(None)).map_err(|refused| refused.down(method))?;
        typed(method, &answer)
    }

    /// Makes calls side by side; the answers are in their order. A refusal is a reason not to go on.
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
