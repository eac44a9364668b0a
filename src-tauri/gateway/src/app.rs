//! One environment's gateway with what works on it: what the shells and the sandbox's calls are given.

use std::sync::Arc;

use crate::gateway::Gateway;
use crate::notifications::Notifier;
use crate::sender::Sender;
use crate::watcher::Watcher;

/// There are no globals: a desktop opens one of these for each environment.
pub struct App {
    /// The resources that all share.
    pub gateway: Arc<Gateway>,
    /// Looks at the chain.
    pub watcher: Watcher,
    /// Sends payouts.
    pub sender: Sender,
    /// Sends notifications.
    pub notifier: Arc<Notifier>,
}
