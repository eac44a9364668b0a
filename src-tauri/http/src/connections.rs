//! Limits the open connections, in total and for each peer, so that file descriptors remain for
//! files, the control socket and calls to shops. At the limit, the connection that was quiet
//! longest is closed for a new one. A connection is quiet while it has no request, or a request
//! whose body is incomplete. Authenticated connections are closed after all others, and connections
//! with a payment page's events last.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::peer::network_of;

/// Limit of open connections. A shop needs a handful, and each costs memory.
const CONNECTIONS_MAX: u64 = 1_024;

/// File descriptors reserved for databases, the control socket, calls to shops and the runtime.
const DESCRIPTORS_LEFT: u64 = 256;

/// A client that takes no byte of its answer for this long is disconnected, because the answer
/// holds memory.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The bounds of all listeners of a gateway together.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections in total.
    pub connections: usize,
    /// Open connections of one peer address. A trusted proxy carries requests of many clients, so
    /// it has the total limit.
    pub connections_per_peer: usize,
    /// Time for which a client may take no byte of its answer.
    pub write_timeout: Duration,
}

impl Limits {
    /// The limits for a process that may have this many file descriptors.
    #[must_use]
    pub fn with_descriptors(descriptors: u64) -> Self {
        // With very few descriptors, connections get half of them.
        let left = DESCRIPTORS_LEFT.min(descriptors / 2);
        let connections =
            usize::try_from(CONNECTIONS_MAX.min(descriptors - left)).unwrap_or(usize::MAX).max(2);
        Self { connections, connections_per_peer: connections / 2, write_timeout: WRITE_TIMEOUT }
    }
}

/// The connections that are held.
pub struct Connections {
    limits: Limits,
    held: Mutex<Held>,
    /// Notified when a connection has ended.
    ended: Notify,
    /// Counts the changes to quiet. The numbers order connections by their quiet time without a
    /// clock.
    moments: AtomicU64,
}

#[derive(Default)]
struct Held {
    next_number: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

/// The state of one connection.
struct Connection {
    /// The peer's network: addresses that count as one peer.
    network: IpAddr,
    /// The number of the change to quiet; [`BUSY`] while a request is handled.
    quiet_since: AtomicU64,
    /// Whether a request over it was authenticated.
    signed_in: AtomicBool,
    /// Whether the rest of a request's body is missing.
    owes_body: AtomicBool,
    /// Whether it carries a payment page's events.
    streams: AtomicBool,
    /// Cancelled when the connection must end because another needs its permit.
    give_way: CancellationToken,
}

/// Greater than the number of any change to quiet.
const BUSY: u64 = u64::MAX;

/// The other end of a request's connection.
#[derive(Clone)]
pub struct Peer {
    pub address: SocketAddr,
    pub permit: Arc<ConnectionPermit>,
}

/// The permit for one connection. A drop returns the permit.
pub struct ConnectionPermit {
    connections: Arc<Connections>,
    number: u64,
    connection: Arc<Connection>,
}

/// Marks the connection as busy until it is dropped.
pub struct Work {
    permit: Arc<ConnectionPermit>,
}

/// Marks the connection as carrying events until it is dropped.
pub struct Streaming {
    permit: Arc<ConnectionPermit>,
}

enum Admission {
    Given(ConnectionPermit),
    /// The connection chosen to be closed has not ended yet.
    Soon,
    /// Every other connection is busy.
    Refused,
}

impl Connections {
    pub fn new(limits: Limits) -> Self {
        Self { limits, held: Mutex::default(), ended: Notify::new(), moments: AtomicU64::new(0) }
    }

    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// A permit for a connection from `peer`. At the limit, waits until another connection was
    /// closed for it; `None` if all that could be closed are busy.
    pub async fn admit(self: &Arc<Self>, peer: IpAddr, is_proxy: bool) -> Option<ConnectionPermit> {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            // Registered before the check, so that a connection that ends before the wait is
            // noticed.
            ended.as_mut().enable();
            match self.try_admit(network_of(peer), is_proxy) {
                Admission::Given(permit) => return Some(permit),
                Admission::Refused => return None,
                Admission::Soon => ended.await,
            }
        }
    }

    fn try_admit(self: &Arc<Self>, network: IpAddr, is_proxy: bool) -> Admission {
        let mut held = self.lock();
        let share =
            if is_proxy { self.limits.connections } else { self.limits.connections_per_peer };
        let of_peer =
            || held.connections.values().filter(|connection| connection.network == network);
        let gives_way = if of_peer().count() >= share {
            Some(quietest(of_peer()))
        } else if held.connections.len() >= self.limits.connections {
            Some(quietest(held.connections.values()))
        } else {
            None
        };
        match gives_way {
            None => {}
            Some(None) => return Admission::Refused,
            Some(Some(connection)) => {
                connection.give_way.cancel();
                return Admission::Soon;
            }
        }
        let connection = Arc::new(Connection {
            network,
            quiet_since: AtomicU64::new(self.next_moment()),
            signed_in: AtomicBool::new(false),
            owes_body: AtomicBool::new(false),
            streams: AtomicBool::new(false),
            give_way: CancellationToken::new(),
        });
        let number = held.next_number;
        held.next_number += 1;
        held.connections.insert(number, Arc::clone(&connection));
        Admission::Given(ConnectionPermit { connections: Arc::clone(self), number, connection })
    }

    fn next_moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }
}

/// The connection that gives way. First comes one that was already told to close. Then comes the
/// longest quiet one among those that did not sign in or owe a body, then among those that signed
/// in, then among those with events. So a client that signed in cannot keep others out by requests
/// that never end.
fn quietest<'a>(
    connections: impl Iterator<Item = &'a Arc<Connection>>,
) -> Option<&'a Arc<Connection>> {
    let order = |it: &&Arc<Connection>| {
        let stays = !it.give_way.is_cancelled();
        let streams = it.streams.load(Ordering::Relaxed);
        let signed_in =
            it.signed_in.load(Ordering::Relaxed) && !it.owes_body.load(Ordering::Relaxed);
        (stays, streams, signed_in, it.quiet_since.load(Ordering::Relaxed))
    };
    let quiet = |it: &&Arc<Connection>| {
        it.give_way.is_cancelled() || it.quiet_since.load(Ordering::Relaxed) != BUSY
    };
    connections.filter(quiet).min_by_key(order)
}

impl ConnectionPermit {
    /// Waits until another connection needs the permit.
    pub async fn must_give_way(&self) {
        self.connection.give_way.cancelled().await;
    }

    /// Marks the connection as busy until the returned value is dropped.
    pub fn work(self: &Arc<Self>) -> Work {
        self.connection.quiet_since.store(BUSY, Ordering::Relaxed);
        Work { permit: Arc::clone(self) }
    }

    /// Marks the rest of a request's body as missing. Returns the number of this change to quiet,
    /// or `since` if given: a client that sends byte by byte must not seem less quiet.
    pub fn owes_body(&self, since: Option<u64>) -> u64 {
        let since = since.unwrap_or_else(|| self.connections.next_moment());
        self.connection.owes_body.store(true, Ordering::Relaxed);
        self.connection.quiet_since.store(since, Ordering::Relaxed);
        since
    }

    /// Marks the connection as busy again after more of the body arrived.
    pub fn goes_on(&self) {
        self.connection.owes_body.store(false, Ordering::Relaxed);
        self.connection.quiet_since.store(BUSY, Ordering::Relaxed);
    }

    /// Marks the connection as carrying events until the returned value is dropped.
    pub fn streams(self: &Arc<Self>) -> Streaming {
        self.connection.streams.store(true, Ordering::Relaxed);
        Streaming { permit: Arc::clone(self) }
    }

    /// Marks the connection as authenticated.
    pub fn signed_in(&self) {
        self.connection.signed_in.store(true, Ordering::Relaxed);
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.permit.connection.streams.store(false, Ordering::Relaxed);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let now = self.permit.connections.next_moment();
        self.permit.connection.owes_body.store(false, Ordering::Relaxed);
        self.permit.connection.quiet_since.store(now, Ordering::Relaxed);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.connections.lock().connections.remove(&self.number);
        self.connections.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(connections: usize, connections_per_peer: usize) -> Arc<Connections> {
        Arc::new(Connections::new(Limits {
            connections,
            connections_per_peer,
            write_timeout: WRITE_TIMEOUT,
        }))
    }

    fn permit(connections: &Arc<Connections>, peer: &str) -> Arc<ConnectionPermit> {
        match connections.try_admit(peer.parse().unwrap(), false) {
            Admission::Given(permit) => Arc::new(permit),
            Admission::Soon => panic!("another connection has to end first"),
            Admission::Refused => panic!("all connections are busy"),
        }
    }

    /// The indices in `permits` of the connections that may be closed for a new one from `peer`.
    fn who_gives_way(
        connections: &Arc<Connections>,
        peer: &str,
        permits: &[&Arc<ConnectionPermit>],
    ) -> Vec<usize> {
        assert!(matches!(connections.try_admit(peer.parse().unwrap(), false), Admission::Soon));
        // A further connection waits for the same one to end.
        assert!(matches!(connections.try_admit(peer.parse().unwrap(), false), Admission::Soon));
        let told = permits
            .iter()
            .enumerate()
            .filter(|(_, permit)| permit.connection.give_way.is_cancelled());
        told.map(|(index, _)| index).collect()
    }

    #[test]
    fn file_descriptors_are_reserved_for_other_uses() {
        for (descriptors, expected) in
            [(u64::MAX, 1_024), (1_280, 1_024), (1_024, 768), (256, 128), (0, 2)]
        {
            let limits = Limits::with_descriptors(descriptors);
            assert_eq!(
                (limits.connections, limits.connections_per_peer),
                (expected, expected / 2),
                "{descriptors}"
            );
        }
    }

    #[test]
    fn the_longest_quiet_gives_way_and_authenticated_ones_last() {
        let held = connections(3, 3);
        let shop = permit(&held, "192.0.2.1");
        let (first, second) = (permit(&held, "192.0.2.2"), permit(&held, "192.0.2.3"));
        shop.signed_in();
        drop(first.work());
        assert_eq!(
            who_gives_way(&held, "192.0.2.4", &[&shop, &first, &second]),
            [2],
            "second sent no request yet"
        );
        drop(second);
        let third = permit(&held, "192.0.2.4");
        let busy = third.work();
        assert_eq!(who_gives_way(&held, "192.0.2.5", &[&shop, &first, &third]), [1]);
        drop(first);
        let fourth = permit(&held, "192.0.2.5");
        let other = fourth.work();
        assert_eq!(
            who_gives_way(&held, "192.0.2.6", &[&shop, &third, &fourth]),
            [0],
            "all others are busy"
        );
        drop(shop);
        let fifth = permit(&held, "192.0.2.6");
        let last = fifth.work();
        assert!(matches!(held.try_admit("192.0.2.7".parse().unwrap(), false), Admission::Refused));
        drop((busy, other, last));
    }

    #[test]
    fn a_client_that_owes_a_body_gives_way_even_if_signed_in() {
        let held = connections(3, 3);
        let (idle, first, second) =
            (permit(&held, "192.0.2.1"), permit(&held, "192.0.2.2"), permit(&held, "192.0.2.3"));
        idle.signed_in();
        let (work, other) = (first.work(), second.work());
        first.signed_in();
        let since = first.owes_body(None);
        second.owes_body(None);
        first.goes_on();
        assert_eq!(
            first.owes_body(Some(since)),
            since,
            "a further byte does not renew the quiet time"
        );
        assert_eq!(who_gives_way(&held, "192.0.2.4", &[&idle, &first, &second]), [1]);
        drop((work, first));
        let third = permit(&held, "192.0.2.4");
        let busy = third.work();
        second.goes_on();
        assert_eq!(
            who_gives_way(&held, "192.0.2.5", &[&idle, &second, &third]),
            [0],
            "an arriving body is busy"
        );
        drop((other, busy));
    }

    #[test]
    fn silent_connections_give_way_before_events() {
        let held = connections(3, 3);
        let (page, shop, silent) =
            (permit(&held, "192.0.2.1"), permit(&held, "192.0.2.2"), permit(&held, "192.0.2.3"));
        let streaming = page.streams();
        shop.signed_in();
        assert_eq!(who_gives_way(&held, "192.0.2.4", &[&page, &shop, &silent]), [2]);
        drop(silent);
        let next = permit(&held, "192.0.2.4");
        let busy = next.work();
        assert_eq!(who_gives_way(&held, "192.0.2.5", &[&page, &shop, &next]), [1]);
        drop(shop);
        let last = permit(&held, "192.0.2.5");
        let work = last.work();
        assert_eq!(
            who_gives_way(&held, "192.0.2.6", &[&page, &next, &last]),
            [0],
            "all others are busy"
        );
        drop((streaming, busy, work));
    }

    #[test]
    fn a_peer_is_limited_to_its_share_and_a_proxy_is_not() {
        let held = connections(4, 2);
        let own = [permit(&held, "192.0.2.1"), permit(&held, "192.0.2.1")];
        let other = permit(&held, "192.0.2.2");
        assert_eq!(who_gives_way(&held, "192.0.2.1", &[&own[0], &own[1], &other]), [0]);
        assert!(matches!(held.try_admit("192.0.2.1".parse().unwrap(), true), Admission::Given(_)));
    }

    #[tokio::test]
    async fn a_new_connection_waits_until_the_chosen_one_has_ended() {
        let held = connections(2, 1);
        let old = permit(&held, "192.0.2.1");
        let admitted = held.admit("192.0.2.1".parse().unwrap(), false);
        let end = async {
            old.must_give_way().await;
            drop(old);
        };
        let (admitted, ()) = tokio::join!(admitted, end);
        assert_eq!(held.lock().connections.len(), 1);
        drop(admitted.unwrap());
        assert!(held.lock().connections.is_empty());
    }
}
