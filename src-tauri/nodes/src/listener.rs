//! A listener on loopback with a thread for each connection. All threads end when it is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Read timeout of a connection, after which it checks whether to stop.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// Tells every connection of a server when to stop.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<(Mutex<bool>, Condvar)>);

/// A server that listens until it is dropped.
pub(crate) struct Listener {
    address: SocketAddr,
    stop: Stop,
    accepting: Option<JoinHandle<()>>,
}

impl Stop {
    /// Waits this long, or until the server stops; returns whether it stops.
    pub(crate) fn within(&self, wait: Duration) -> bool {
        let (stopped, told) = &*self.0;
        let guard = stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = told.wait_timeout_while(guard, wait, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn tell(&self) {
        let (stopped, told) = &*self.0;
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
    }
}

impl Listener {
    /// Listens on a free port of loopback; `serve` handles each connection.
    pub(crate) fn start(
        serve: impl Fn(TcpStream, &Stop) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Stop::default();
        let accepting = thread::spawn({
            let stop = stop.clone();
            move || accept(&listener, &stop, &Arc::new(serve))
        });
        Ok(Self { address, stop, accepting: Some(accepting) })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.tell();
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept<F: Fn(TcpStream, &Stop) + Send + Sync + 'static>(
    listener: &TcpListener,
    stop: &Stop,
    serve: &Arc<F>,
) {
    let mut connections = Vec::new();
    for stream in listener.incoming() {
        if stop.within(Duration::ZERO) {
            break;
        }
        let Ok(stream) = stream else { continue };
        if stream.set_read_timeout(Some(LOOKS_EVERY)).is_err() || stream.set_nodelay(true).is_err()
        {
            continue;
        }
        let (serve, stop) = (Arc::clone(serve), stop.clone());
        connections.push(thread::spawn(move || serve(stream, &stop)));
        connections.retain(|connection| !connection.is_finished());
    }
    for connection in connections {
        let _ = connection.join();
    }
}
