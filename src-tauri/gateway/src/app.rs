//! One environment's gateway with its watcher, sender and notifier. The shells and the sandbox's
//! calls take an [`App`].

use std::sync::Arc;

use crate::gateway::Gateway;
use crate::notifications::{Notifier, Receiver};
use crate::sender::Sender;
use crate::watcher::Watcher;

/// A desktop opens one `App` for each environment. It holds all state of the environment; there are
/// no globals.
pub struct App {
    /// The resources that the watcher, the sender and the notifier share.
    pub gateway: Arc<Gateway>,
    /// Looks at the chain.
    pub watcher: Watcher,
    /// Sends payouts.
    pub sender: Sender,
    /// Sends notifications.
    pub notifier: Arc<Notifier>,
    /// Takes notifications in place of a shop's server, in the sandbox.
    pub receiver: Receiver,
}
