//! A real program that follows a real node. This module starts the program, waits until it shows
//! the node's state, and restarts it if it ended.

use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tillgate_sandbox::Sandbox;

use crate::bitcoind::Bitcoind;

/// Interval between checks whether the program shows the node's state.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// Number of checks: a minute and more in total.
const TRIES: u32 = 3_000;

/// Starts the program over a node.
type Start = Box<dyn Fn(&Bitcoind) -> io::Result<Child> + Send + Sync>;

/// A program that runs until this is dropped.
pub(crate) struct Follower {
    start: Start,
    running: Mutex<Running>,
}

struct Running {
    process: Child,
    /// The node's number of starts when the program was started.
    node_starts: u64,
    /// The last change of the sandbox that the program has shown.
    shown: Option<i64>,
}

impl Follower {
    /// Starts the program.
    pub(crate) fn new(
        node: &Bitcoind,
        start: impl Fn(&Bitcoind) -> io::Result<Child> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let running =
            Mutex::new(Running { process: start(node)?, node_starts: node.starts(), shown: None });
        Ok(Self { start: Box::new(start), running })
    }

    /// Waits until `shows` finds that the program shows the sandbox's state. The node must show
    /// this state already.
    pub(crate) fn follow(
        &self,
        sandbox: &Sandbox,
        node: &Bitcoind,
        shows: impl Fn() -> io::Result<bool>,
    ) -> io::Result<()> {
        let change = sandbox.last_change().map_err(io::Error::other)?;
        let mut running = self.lock();
        // The program does not reconnect to a restarted node, so it is restarted too.
        if running.node_starts != node.starts() {
            let _ = running.process.kill();
        } else if running.shown == Some(change) {
            return Ok(());
        }
        let mut shown = Ok(false);
        for _ in 0..TRIES {
            if running.process.try_wait()?.is_some() {
                let process = (self.start)(node)?;
                *running = Running { process, node_starts: node.starts(), shown: None };
            }
            shown = shows();
            if let Ok(true) = shown {
                running.shown = Some(change);
                break;
            }
            std::thread::sleep(TRY_EVERY);
        }
        if shown? { Ok(()) } else { Err(io::Error::other("the server does not follow the node")) }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut running = self.lock();
        let _ = running.process.kill();
        let _ = running.process.wait();
    }
}
