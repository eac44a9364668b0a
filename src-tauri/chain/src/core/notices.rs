//! Listens to a node's notices over ZeroMQ. A task holds the connection and reconnects with pauses;
//! a notice wakes a look. Notices only make looks earlier.

mod hints;
mod zmtp;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::Txid;
use hints::{Hints, Notice, TOPIC};
use parking_lot::Mutex;
use tillgate_machine::outgoing::{Proxy, connect};
use tillgate_told::{Telling, Told};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use zmtp::{Message, Subscription};

use crate::waker::Waker;

/// The time to reach a node through a proxy, which may be Tor.
const REACHED_BY_PROXY_WITHIN: Duration = Duration::from_secs(30);

/// The longest pause between two connections. Each useless connection doubles the pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Messages and commands read in a second at most: many times what the network produces.
const MESSAGES_MAX: u32 = 20_000;

/// The messages read in the current second.
struct Second {
    began: Instant,
    messages: u32,
}

#[derive(Debug, Clone)]
pub struct NoticesOptions {
    /// The node's `-zmqpubsequence` address, such as `tcp://127.0.0.1:28332`.
    pub url: String,
    /// The proxy for a node on another machine.
    pub proxy: Option<Proxy>,
    pub pace: NoticesPace,
    /// Wakes a look after a notice that needs one.
    pub waker: Waker,
}

/// Time limits of the connection.
#[derive(Debug, Clone, Copy)]
pub struct NoticesPace {
    /// The time limit for a connection and its handshake.
    pub reached_within: Duration,
    /// The pause after a useful connection.
    pub pause: Duration,
    /// A connection without a message for this time is made anew: the way to the node may be gone.
    pub silent_at_most: Duration,
}

impl NoticesPace {
    /// A quiet network brings a block every ten minutes.
    pub const USUAL: Self = Self {
        reached_within: Duration::from_secs(5),
        pause: Duration::from_secs(1),
        silent_at_most: Duration::from_secs(3_600),
    };
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error(
    "{0:?} is no address at which Bitcoin Core publishes: set backendZmq to one like tcp://127.0.0.1:28332"
)]
pub struct BadAddress(pub String);

/// A node's notices, received until this is dropped.
pub struct Notices {
    shared: Arc<Shared>,
    listening: JoinHandle<()>,
    runtime: Handle,
    tried: watch::Receiver<bool>,
}

struct Shared {
    options: NoticesOptions,
    host: String,
    port: u16,
    heard: Mutex<Heard>,
    /// Whether the first attempt has ended.
    tried: watch::Sender<bool>,
}

#[derive(Default)]
struct Heard {
    hints: Hints,
    /// The reason why there is no connection.
    fault: Option<String>,
    /// The publisher's own count of its last message over this connection.
    count: Option<u32>,
}

impl Notices {
    /// Starts listening on `runtime`.
    ///
    /// # Errors
    /// When the URL is invalid.
    pub fn listen(options: NoticesOptions, runtime: Handle) -> Result<Self, BadAddress> {
        let bad = || BadAddress(options.url.clone());
        let url = url::Url::parse(&options.url)
            .ok()
            .filter(|url| url.scheme() == "tcp")
            .ok_or_else(bad)?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(bad)?.to_owned();
        let port = url.port().ok_or_else(bad)?;
        let (tries, tried) = watch::channel(false);
        let shared = Shared { options, host, port, heard: Mutex::default(), tried: tries };
        let shared = Arc::new(shared);
        let listening = runtime.spawn(listen(Arc::clone(&shared)));
        Ok(Self { shared, listening, runtime, tried })
    }

    /// The announced transactions that no look has asked about yet.
    pub fn take(&self) -> BTreeSet<Txid> {
        self.shared.heard.lock().hints.take()
    }

    /// The reason why no notices arrive, as a sentence.
    pub fn fault(&self) -> Option<Telling> {
        let why = self.shared.heard.lock().fault.clone();
        why.map(|why| self.shared.told(why).telling())
    }

    /// The same, once the first attempt to reach the node has ended. Blocks until then.
    pub fn fault_once_tried(&self) -> Option<Telling> {
        let mut tried = self.tried.clone();
        // A connection attempt takes no longer than this.
        let _ = self.runtime.block_on(async {
            timeout(REACHED_BY_PROXY_WITHIN, tried.wait_for(|tried| *tried)).await
        });
        self.fault()
    }

    /// Notified when a notice needs a look.
    pub fn wake(&self) -> &Notify {
        self.shared.options.waker.notify()
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn count(&self) -> Option<u32> {
        self.shared.heard.lock().count
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// No notices arrive.
#[derive(Debug, thiserror::Error, Told)]
#[error(
    "nothing is heard of the node at {url} ({why}): see that it runs with -zmqpubsequence set to this address, or unset backendZmq; meanwhile the node is asked each second, so that payments are seen a second later"
)]
pub struct NoNotices {
    url: String,
    why: String,
}

impl Shared {
    fn told(&self, why: String) -> NoNotices {
        NoNotices { url: self.options.url.clone(), why }
    }

    fn begin(&self) {
        let mut heard = self.heard.lock();
        (heard.fault, heard.count) = (None, None);
    }

    /// Notes why the connection ended. Returns whether it had been useful.
    fn end(&self, why: String) -> bool {
        let mut heard = self.heard.lock();
        let before = heard.fault.replace(why.clone());
        let was_useful = heard.count.take().is_some();
        drop(heard);
        if before.as_ref() != Some(&why) {
            tracing::warn!("{}", self.told(why));
        }
        was_useful
    }

    /// Notes a notice. Returns whether a look should follow at once.
    fn note(&self, notice: Notice, count: u32) -> bool {
        let mut heard = self.heard.lock();
        heard.count = Some(count);
        heard.hints.note(notice)
    }
}

/// Keeps one connection, and reconnects when it ends.
async fn listen(shared: Arc<Shared>) {
    let NoticesPace { pause: shortest, reached_within, .. } = shared.options.pace;
    let is_by_proxy = shared.options.proxy.as_ref().is_some_and(|proxy| proxy.serves(&shared.host));
    let within = if is_by_proxy { REACHED_BY_PROXY_WITHIN } else { reached_within };
    let mut pause = shortest;
    loop {
        let reached = timeout(within, reach(&shared)).await;
        let why = match reached.unwrap_or_else(|_| Err("it did not answer in time".to_owned())) {
            Ok(subscription) => {
                shared.begin();
                shared.tried.send_replace(true);
                tracing::debug!(url = shared.options.url, "listening to the node");
                match hear(&shared, subscription).await {
                    Some(why) => why,
                    None => continue,
                }
            }
            Err(why) => why,
        };
        if shared.end(why) {
            pause = shortest;
        }
        shared.tried.send_replace(true);
        sleep(pause).await;
        pause = pause.saturating_mul(2).min(PAUSE_MAX);
    }
}

async fn reach(shared: &Shared) -> Result<Subscription<TcpStream>, String> {
    let stream = connect(&shared.host, shared.port, shared.options.proxy.as_ref()).await;
    let stream = stream.map_err(|error| error.to_string())?;
    Subscription::to(stream, TOPIC).await.map_err(|unheard| unheard.to_string())
}

/// Takes messages until the connection ends. Returns the reason; `None` after a long silence, which
/// is no fault.
async fn hear(shared: &Shared, mut subscription: Subscription<TcpStream>) -> Option<String> {
    let silent_at_most = shared.options.pace.silent_at_most;
    let mut second = Second { began: Instant::now(), messages: 0 };
    loop {
        let Message { parts, commands } = match timeout(silent_at_most, subscription.next()).await {
            Ok(Ok(message)) => message,
            Ok(Err(unheard)) => return Some(unheard.to_string()),
            Err(_) => return None,
        };
        let Some((notice, count)) = Notice::read(&parts) else {
            let why = "it sent a message that is not of Bitcoin Core's topic sequence";
            return Some(why.to_owned());
        };
        if shared.note(notice, count) {
            shared.options.waker.wake();
        }
        if let Some(until) = second.take(commands.saturating_add(1), Instant::now()) {
            // The publisher drops messages that it cannot send.
            sleep_until(until).await;
        }
    }
}

impl Second {
    /// Notes the messages read by `now`. Returns the end of the pause if they are too many.
    fn take(&mut self, messages: u32, now: Instant) -> Option<Instant> {
        if now >= self.began + Duration::from_secs(1) {
            *self = Self { began: now, messages: 0 };
        }
        self.messages = self.messages.saturating_add(messages);
        (self.messages >= MESSAGES_MAX).then_some(self.began + Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_publisher_is_read_at_a_limited_rate() {
        let began = Instant::now();
        let mut second = Second { began, messages: 0 };
        let (half, whole) = (began + Duration::from_millis(500), began + Duration::from_secs(1));
        // Commands count like messages.
        assert!((1..100).all(|_| second.take(200, half).is_none()));
        assert_eq!(second.take(200, half), Some(whole));
        assert_eq!(second.take(1, half), Some(whole), "no further message in this second");
        assert_eq!(second.take(19_999, whole), None, "another second has begun");
        assert_eq!(second.take(1, whole), Some(whole + Duration::from_secs(1)));
    }
}
