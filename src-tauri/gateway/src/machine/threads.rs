//! Threads that must not end: whoever runs the program hears when one does, and which.

use std::cell::Cell;
use std::io;
use std::thread::{self, JoinHandle};

use tokio::sync::watch;

use crate::machine::environment::Environment;
use crate::machine::fail_points;

thread_local! {
    /// Whose gateway this thread works for, where a process runs several.
    static WORKS_FOR: Cell<Option<Environment>> = const { Cell::new(None) };
}

/// Some threads that work for one owner.
#[derive(Debug, Clone, Default)]
pub(crate) struct Threads {
    /// The first that ended.
    ended: watch::Sender<Option<&'static str>>,
}

/// One thread, to be waited for.
#[derive(Debug)]
pub(crate) struct Thread {
    name: &'static str,
    /// There until it was waited for.
    handle: Option<JoinHandle<()>>,
}

/// Tells of the end of a thread, however it ends.
struct TellsOfEnd {
    threads: Threads,
    name: &'static str,
}

impl Drop for TellsOfEnd {
    fn drop(&mut self) {
        self.threads.end(self.name);
    }
}

/// Says whose gateway this thread works for, and the threads that it starts from now on: the log names it. Where a process
/// runs one gateway alone, nobody need say so.
pub(crate) fn works_for(environment: Option<Environment>) {
    WORKS_FOR.set(environment);
}

/// Whose gateway this thread works for, where that was said.
pub(crate) fn whose() -> Option<Environment> {
    // A thread that ends has forgotten it.
    WORKS_FOR.try_with(Cell::get).unwrap_or_default()
}

impl Threads {
    /// Starts a thread. `name` is for people, as in "… ended unexpectedly"; `short_name` is what the system shows.
    ///
    /// # Errors
    /// When the system gives none.
    pub(crate) fn start(
        &self,
        name: &'static str,
        short_name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<Thread> {
        let tells = TellsOfEnd { threads: self.clone(), name };
        let environment = whose();
        let started = thread::Builder::new().name(short_name.to_owned()).spawn(move || {
            let _tells = tells;
            works_for(environment);
            if !fail_points::ends(thread::current().name()) {
                work();
            }
        });
        Ok(Thread { name, handle: Some(started?) })
    }

    /// Says that the thread of this name does its work no more.
    pub(crate) fn end(&self, name: &'static str) {
        self.ended.send_if_modified(|ended| ended.is_none() && ended.replace(name).is_none());
    }

    /// Whether one of them has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Waits until one of them ends, and tells which. Each does in the end, when its owner stops it: ask while none should.
    pub(crate) async fn ended(&self) -> &'static str {
        let mut ended = self.ended.subscribe();
        // The sender is here: it is never closed.
        match ended.wait_for(Option::is_some).await.map(|name| *name) {
            Ok(Some(name)) => name,
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

impl Thread {
    /// Whether this is the thread that asks.
    #[must_use]
    pub(crate) fn is_current(&self) -> bool {
        self.handle.as_ref().is_some_and(|handle| handle.thread().id() == thread::current().id())
    }

    /// Waits for its end, of which it was told before.
    pub(crate) fn join(&mut self) {
        if self.handle.take().is_some_and(|handle| handle.join().is_err()) {
            tracing::error!(thread = self.name, "a thread had failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn the_first_to_end_is_told_whether_it_returned_or_panicked() {
        for panics in [false, true] {
            let threads = Threads::default();
            let (release, released) = mpsc::channel::<()>();
            let mut other = threads.start("the other", "other", move || while released.recv().is_ok() {}).unwrap();
            let work = move || assert!(!panics, "as the test wants it");
            threads.start("the one", "one", work).unwrap().join();
            assert_eq!(threads.ended().await, "the one");
            drop(release);
            other.join();
            assert_eq!(threads.ended().await, "the one");
        }
    }
}
