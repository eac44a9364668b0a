//! The state that all listeners of a gateway share.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use tillgate_gateway::App;
use tillgate_machine::threads;
use tokio_util::task::LocalPoolHandle;

use super::connections::{Connections, Limits};
use super::read_permits::ReadPermits;
use super::stream_permits::StreamPermits;
use super::throttle::Throttle;

/// Limit of threads that serve connections. Each may read from the database (`read_permits`).
const THREADS_MAX: usize = 4;

/// The state that all listeners of a gateway share.
pub struct Http {
    pub app: Arc<App>,
    pub connections: Arc<Connections>,
    pub throttle: Throttle,
    pub read_permits: ReadPermits,
    pub stream_permits: Arc<StreamPermits>,
    /// The threads that serve connections. Each has its own runtime, so that a request is read and
    /// answered without waking another thread.
    pub threads: LocalPoolHandle,
}

impl Http {
    /// The shared state for the listeners of `app`, within these limits.
    #[must_use]
    pub fn new(app: Arc<App>, limits: Limits) -> Arc<Self> {
        let count = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
        let threads = LocalPoolHandle::new(count);
        let environment = threads::current_environment();
        for index in 0..count {
            // The environment is set before the first connection, because each thread runs its
            // tasks in order.
            drop(threads.spawn_pinned_by_idx(
                move || async move { threads::works_for(environment) },
                index,
            ));
        }
        Arc::new(Self {
            app,
            connections: Arc::new(Connections::new(limits)),
            throttle: Throttle::default(),
            read_permits: ReadPermits::default(),
            stream_permits: Arc::default(),
            threads,
        })
    }
}
