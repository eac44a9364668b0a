//! Which connections are held: bounded in all and for one peer, with descriptors left for files, the control socket
//! and calls to shops. Where a new one finds no place, the one that has been quiet for the longest gives way, as one does
//! that waits for a request's body. Where its caller signed in, it gives way after those, and a page's events last.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::peer::network_of;

/// Connections at once; a shop needs a handful, and each costs memory.
const CONNECTIONS_MAX: u64 = 1_024;

/// File descriptors that are left for databases, the control socket, calls to shops and the runtime.
const DESCRIPTORS_KEPT: u64 = 256;

/// A client that takes nothing of what it asked for in this time is gone, or wants to hold memory.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The bounds of all listeners of a gateway together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Connections of one peer address at once; of a trusted proxy, whose peers are many, as many as there may be.
    pub connections_per_peer: usize,
    /// How long an answer may wait without any progress until its client takes more of it.
    pub write_timeout: Duration,
}

impl Limits {
    /// For a process that may have so many file descriptors.
    #[must_use]
    pub(crate) fn with_descriptors(descriptors: u64) -> Self {
        // Where there are very few, connections and all else share them by halves.
        let kept = DESCRIPTORS_KEPT.min(descriptors / 2);
        let connections = usize::try_from(CONNECTIONS_MAX.min(descriptors - kept)).unwrap_or(usize::MAX).max(2);
        Self { connections, connections_per_peer: connections / 2, write_timeout: WRITE_TIMEOUT }
    }
}

/// The connections that are held.
pub(super) struct Connections {
    limits: Limits,
    held: Mutex<Held>,
    /// Told when a connection has left.
    left: Notify,
    /// Counts the moments at which connections fell quiet, so that the oldest is found without a clock.
    moments: AtomicU64,
}

#[derive(Default)]
struct Held {
    next: u64,
    places: HashMap<u64, Arc<Line>>,
}

/// What is known of one connection.
struct Line {
    network: IpAddr,
    /// Since when its client has asked for nothing, or owes the rest of a request; [`BUSY`] while a request of it is
    /// worked on.
    quiet_since: AtomicU64,
    signed_in: AtomicBool,
    /// Whether its client owes the rest of a request's body.
    owes_body: AtomicBool,
    /// Whether a payment page's events go over it.
    streams: AtomicBool,
    give_way: CancellationToken,
}

const BUSY: u64 = u64::MAX;

/// The other end of a request's connection.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// The connection's place.
    pub(super) place: Arc<Place>,
}

/// A connection's place; free again when dropped.
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
    line: Arc<Line>,
}

/// A request is worked on as long as this lives.
pub(super) struct Work {
    place: Arc<Place>,
}

/// Events go to the client as long as this lives.
pub(super) struct Streaming {
    place: Arc<Place>,
}

enum Admission {
    Given(Place),
    /// One that gives way has not left yet.
    Soon,
    /// All are busy.
    Refused,
}

impl Connections {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, held: Mutex::default(), left: Notify::new(), moments: AtomicU64::new(0) }
    }

    pub(super) const fn limits(&self) -> Limits {
        self.limits
    }

    /// A place for a connection from `peer`, as soon as one that gives way for it has left. `None` where every one that
    /// could give way is busy with a request.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr, is_proxy: bool) -> Option<Place> {
        loop {
            let mut left = std::pin::pin!(self.left.notified());
            // From here on it hears of each that leaves, also before it waits.
            left.as_mut().enable();
            match self.try_admit(network_of(peer), is_proxy) {
                Admission::Given(place) => return Some(place),
                Admission::Refused => return None,
                Admission::Soon => left.await,
            }
        }
    }

    fn try_admit(self: &Arc<Self>, network: IpAddr, is_proxy: bool) -> Admission {
        let mut held = self.lock();
        let share = if is_proxy { self.limits.connections } else { self.limits.connections_per_peer };
        let of_peer = || held.places.values().filter(|line| line.network == network);
        let leaver = if of_peer().count() >= share {
            Some(quietest(of_peer()))
        } else if held.places.len() >= self.limits.connections {
            Some(quietest(held.places.values()))
        } else {
            None
        };
        match leaver {
            None => {}
            Some(None) => return Admission::Refused,
            Some(Some(line)) => {
                line.give_way.cancel();
                return Admission::Soon;
            }
        }
        let line = Arc::new(Line {
            network,
            quiet_since: AtomicU64::new(self.next_moment()),
            signed_in: AtomicBool::new(false),
            owes_body: AtomicBool::new(false),
            streams: AtomicBool::new(false),
            give_way: CancellationToken::new(),
        });
        let number = held.next;
        held.next += 1;
        held.places.insert(number, Arc::clone(&line));
        Admission::Given(Place { connections: Arc::clone(self), number, line })
    }

    fn next_moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }
}

/// The one to give way: one that was told to already, else the longest quiet of those that never signed in or owe a
/// body, else of those that signed in, else of those over which events go. Who signed in and never ends a request keeps
/// nobody out.
fn quietest<'a>(lines: impl Iterator<Item = &'a Arc<Line>>) -> Option<&'a Arc<Line>> {
    let order = |line: &&Arc<Line>| {
        let stays = !line.give_way.is_cancelled();
        let streams = line.streams.load(Ordering::Relaxed);
        let signed_in = line.signed_in.load(Ordering::Relaxed) && !line.owes_body.load(Ordering::Relaxed);
        (stays, streams, signed_in, line.quiet_since.load(Ordering::Relaxed))
    };
    let quiet = |line: &&Arc<Line>| line.give_way.is_cancelled() || line.quiet_since.load(Ordering::Relaxed) != BUSY;
    lines.filter(quiet).min_by_key(order)
}

impl Place {
    /// Waits until another connection needs the place.
    pub(super) async fn must_give_way(&self) {
        self.line.give_way.cancelled().await;
    }

    /// A request of it is being worked on, until what this answers is dropped.
    pub(super) fn work(self: &Arc<Self>) -> Work {
        self.line.quiet_since.store(BUSY, Ordering::Relaxed);
        Work { place: Arc::clone(self) }
    }

    /// The client owes the rest of a request's body, since the moment that this answers (`since`, where it owed some
    /// before: who sends it byte by byte is no newer for it).
    pub(super) fn owes_body(&self, since: Option<u64>) -> u64 {
        let since = since.unwrap_or_else(|| self.connections.next_moment());
        self.line.owes_body.store(true, Ordering::Relaxed);
        self.line.quiet_since.store(since, Ordering::Relaxed);
        since
    }

    /// What was owed came: the request is worked on again.
    pub(super) fn goes_on(&self) {
        self.line.owes_body.store(false, Ordering::Relaxed);
        self.line.quiet_since.store(BUSY, Ordering::Relaxed);
    }

    /// Events go over it, until what this answers is dropped.
    pub(super) fn streams(self: &Arc<Self>) -> Streaming {
        self.line.streams.store(true, Ordering::Relaxed);
        Streaming { place: Arc::clone(self) }
    }

    /// An API key signed in over it.
    pub(super) fn signed_in(&self) {
        self.line.signed_in.store(true, Ordering::Relaxed);
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.place.line.streams.store(false, Ordering::Relaxed);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let now = self.place.connections.next_moment();
        self.place.line.owes_body.store(false, Ordering::Relaxed);
        self.place.line.quiet_since.store(now, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().places.remove(&self.number);
        self.connections.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(connections: usize, connections_per_peer: usize) -> Arc<Connections> {
        Arc::new(Connections::new(Limits { connections, connections_per_peer, write_timeout: WRITE_TIMEOUT }))
    }

    fn place(connections: &Arc<Connections>, peer: &str) -> Arc<Place> {
        match connections.try_admit(peer.parse().unwrap(), false) {
            Admission::Given(place) => Arc::new(place),
            Admission::Soon => panic!("one has to leave first"),
            Admission::Refused => panic!("all are busy"),
        }
    }

    /// Which of `places` have to leave when a connection from `peer` comes.
    fn who_gives_way(connections: &Arc<Connections>, peer: &str, places: &[&Arc<Place>]) -> Vec<usize> {
        assert!(matches!(connections.try_admit(peer.parse().unwrap(), false), Admission::Soon));
        // Who comes as well waits for the same one.
        assert!(matches!(connections.try_admit(peer.parse().unwrap(), false), Admission::Soon));
        let told = places.iter().enumerate().filter(|(_, place)| place.line.give_way.is_cancelled());
        told.map(|(index, _)| index).collect()
    }

    #[test]
    fn descriptors_are_left_for_all_else() {
        for (descriptors, expected) in [(u64::MAX, 1_024), (1_280, 1_024), (1_024, 768), (256, 128), (0, 2)] {
            let limits = Limits::with_descriptors(descriptors);
            assert_eq!((limits.connections, limits.connections_per_peer), (expected, expected / 2), "{descriptors}");
        }
    }

    #[test]
    fn the_longest_quiet_gives_way_and_who_signed_in_last_of_all() {
        let held = connections(3, 3);
        let shop = place(&held, "192.0.2.1");
        let (first, second) = (place(&held, "192.0.2.2"), place(&held, "192.0.2.3"));
        shop.signed_in();
        drop(first.work());
        assert_eq!(who_gives_way(&held, "192.0.2.4", &[&shop, &first, &second]), [2], "it asked for nothing yet");
        drop(second);
        let third = place(&held, "192.0.2.4");
        let busy = third.work();
        assert_eq!(who_gives_way(&held, "192.0.2.5", &[&shop, &first, &third]), [1]);
        drop(first);
        let fourth = place(&held, "192.0.2.5");
        let other = fourth.work();
        assert_eq!(who_gives_way(&held, "192.0.2.6", &[&shop, &third, &fourth]), [0], "all others are busy");
        drop(shop);
        let fifth = place(&held, "192.0.2.6");
        let last = fifth.work();
        assert!(matches!(held.try_admit("192.0.2.7".parse().unwrap(), false), Admission::Refused));
        drop((busy, other, last));
    }

    #[test]
    fn who_owes_a_body_gives_way_the_oldest_first_whether_signed_in_or_not() {
        let held = connections(3, 3);
        let (idle, first, second) = (place(&held, "192.0.2.1"), place(&held, "192.0.2.2"), place(&held, "192.0.2.3"));
        idle.signed_in();
        let (work, other) = (first.work(), second.work());
        first.signed_in();
        let since = first.owes_body(None);
        second.owes_body(None);
        first.goes_on();
        assert_eq!(first.owes_body(Some(since)), since, "a byte makes it no newer");
        assert_eq!(who_gives_way(&held, "192.0.2.4", &[&idle, &first, &second]), [1]);
        drop((work, first));
        let third = place(&held, "192.0.2.4");
        let busy = third.work();
        second.goes_on();
        assert_eq!(who_gives_way(&held, "192.0.2.5", &[&idle, &second, &third]), [0], "what is there is worked on");
        drop((other, busy));
    }

    #[test]
    fn silent_connections_give_way_before_events() {
        let held = connections(3, 3);
        let (page, shop, silent) = (place(&held, "192.0.2.1"), place(&held, "192.0.2.2"), place(&held, "192.0.2.3"));
        let streaming = page.streams();
        shop.signed_in();
        assert_eq!(who_gives_way(&held, "192.0.2.4", &[&page, &shop, &silent]), [2]);
        drop(silent);
        let next = place(&held, "192.0.2.4");
        let busy = next.work();
        assert_eq!(who_gives_way(&held, "192.0.2.5", &[&page, &shop, &next]), [1]);
        drop(shop);
        let last = place(&held, "192.0.2.5");
        let work = last.work();
        assert_eq!(who_gives_way(&held, "192.0.2.6", &[&page, &next, &last]), [0], "all others are busy");
        drop((streaming, busy, work));
    }

    #[test]
    fn one_peer_has_its_share_and_a_proxy_all() {
        let held = connections(4, 2);
        let own = [place(&held, "192.0.2.1"), place(&held, "192.0.2.1")];
        let other = place(&held, "192.0.2.2");
        assert_eq!(who_gives_way(&held, "192.0.2.1", &[&own[0], &own[1], &other]), [0]);
        assert!(matches!(held.try_admit("192.0.2.1".parse().unwrap(), true), Admission::Given(_)));
    }

    #[tokio::test]
    async fn a_newcomer_waits_until_the_other_has_left() {
        let held = connections(2, 1);
        let old = place(&held, "192.0.2.1");
        let admitted = held.admit("192.0.2.1".parse().unwrap(), false);
        let leave = async {
            old.must_give_way().await;
            drop(old);
        };
        let (admitted, ()) = tokio::join!(admitted, leave);
        assert_eq!(held.lock().places.len(), 1);
        drop(admitted.unwrap());
        assert!(held.lock().places.is_empty());
    }
}
