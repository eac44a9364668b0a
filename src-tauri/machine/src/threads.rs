//! Threads that must not end. If a thread ends all the same, [`Threads::ended`] returns its name.

use std::cell::Cell;
use std::io;
use std::thread::{self, JoinHandle};

use tokio::sync::watch;

use crate::environment::Environment;
use crate::fail_points;

thread_local! {
    /// The environment whose gateway this thread works for; `None` in a process with one gateway.
    static WORKS_FOR: Cell<Option<Environment>> = const { Cell::new(None) };
}

/// Threads that work for one owner.
#[derive(Debug, Clone, Default)]
pub struct Threads {
    /// Name of the first thread that ended.
    ended: watch::Sender<Option<&'static str>>,
}

/// A thread that can be joined.
#[derive(Debug)]
pub struct Thread {
    name: &'static str,
    /// `None` once it was joined.
    handle: Option<JoinHandle<()>>,
}

/// Reports the end of a thread when dropped, however the thread ends.
struct TellsOfEnd {
    threads: Threads,
    name: &'static str,
}

impl Drop for TellsOfEnd {
    fn drop(&mut self) {
        self.threads.end(self.name);
    }
}

/// Sets the environment that the log names for this thread, and for the threads that
/// [`Threads::start`] starts from it later. A process with one gateway need not call this function.
pub fn works_for(environment: Option<Environment>) {
    WORKS_FOR.set(environment);
}

/// The environment that this thread works for, if it was set.
pub fn current_environment() -> Option<Environment> {
    // An error means that the thread is ending and its value is gone.
    WORKS_FOR.try_with(Cell::get).unwrap_or_default()
}

impl Threads {
    /// Starts a thread. `name` is for people, as in "… ended unexpectedly"; `short_name` is shown
    /// by the system.
    ///
    /// # Errors
    /// When the system starts no thread.
    pub fn start(
        &self,
        name: &'static str,
        short_name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<Thread> {
        let tells = TellsOfEnd { threads: self.clone(), name };
        let environment = current_environment();
        let started = thread::Builder::new().name(short_name.to_owned()).spawn(move || {
            let _tells = tells;
            works_for(environment);
            if !fail_points::ends(thread::current().name()) {
                work();
            }
        });
        Ok(Thread { name, handle: Some(started?) })
    }

    /// Reports that the thread of this name has stopped working.
    pub fn end(&self, name: &'static str) {
        self.ended.send_if_modified(|ended| ended.is_none() && ended.replace(name).is_none());
    }

    pub fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Waits until a thread ends, and returns its name. Call it before the owner stops the threads,
    /// because a stopped thread also counts.
    pub async fn ended(&self) -> &'static str {
        let mut ended = self.ended.subscribe();
        // The sender lives in `self`, so the channel stays open.
        match ended.wait_for(Option::is_some).await.map(|name| *name) {
            Ok(Some(name)) => name,
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

impl Thread {
    /// Whether this is the calling thread.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.handle.as_ref().is_some_and(|handle| handle.thread().id() == thread::current().id())
    }

    /// Waits for the end of the thread. The caller must have told it to stop.
    pub fn join(&mut self) {
        if self.handle.take().is_some_and(|handle| handle.join().is_err()) {
            tracing::error!(thread = self.name, "a thread panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn the_first_thread_to_return_or_panic_is_named() {
        for panics in [false, true] {
            let threads = Threads::default();
            let (release, released) = mpsc::channel::<()>();
            let mut other = threads
                .start("the other", "other", move || while released.recv().is_ok() {})
                .unwrap();
            let work = move || assert!(!panics, "the test ends this thread by a panic");
            threads.start("the one", "one", work).unwrap().join();
            assert_eq!(threads.ended().await, "the one");
            drop(release);
            other.join();
            assert_eq!(threads.ended().await, "the one");
        }
    }
}
