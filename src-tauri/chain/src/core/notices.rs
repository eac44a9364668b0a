//! Listens to a node's notices over ZeroMQ. A task holds the connection and reconnects with pauses;
//! a notice wakes a look. Notices only make looks earlier.

pub mod log;
mod zmtp;

use std::sync::Arc;
use std::time::Duration;

use log::{Change, Listed, Mark, Notice, NoticeFault, NoticeLog, TOPIC};
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
    /// A node that changed counts as silent after this time without a notice.
    pub silent_after: Duration,
    /// The longest time between two lists of the whole mempool.
    pub listed_every: Duration,
}

impl NoticesPace {
    /// Slow nodes announce a block late, so `silent_after` is long. `listed_every` is shorter than
    /// the second between two looks, so that each look without a notice asks for a list.
    pub const USUAL: Self = Self {
        reached_within: Duration::from_secs(5),
        pause: Duration::from_secs(1),
        silent_after: Duration::from_secs(30),
        listed_every: Duration::from_millis(900),
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
    log: Mutex<NoticeLog>,
    /// Tells the task to give up the connection.
    cut: Notify,
    /// Whether the first attempt has ended.
    tried: watch::Sender<bool>,
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
        let shared =
            Shared { options, host, port, log: Mutex::default(), cut: Notify::new(), tried: tries };
        let shared = Arc::new(shared);
        let listening = runtime.spawn(listen(Arc::clone(&shared)));
        Ok(Self { shared, listening, runtime, tried })
    }

    pub fn mark(&self) -> Mark {
        self.shared.log.lock().mark()
    }

    /// See [`NoticeLog::since`].
    pub fn since(&self, mark: &Mark, number: u64) -> Option<Vec<Change>> {
        self.shared.log.lock().since(mark, number)
    }

    /// See [`NoticeLog::compare`]. Reconnects if the node is silent, or the notices come from
    /// another node.
    pub fn compare(&self, listed: &Listed) {
        let gives_up =
            self.shared.log.lock().compare(listed, self.shared.options.pace.silent_after);
        if gives_up {
            self.shared.cut.notify_one();
        }
    }

    /// Reconnects after a false notice.
    pub fn distrust(&self) {
        let gives_up = self.shared.log.lock().distrust();
        if gives_up {
            self.shared.cut.notify_one();
        }
    }

    /// The reason why the notices are useless, as a sentence.
    pub fn fault(&self) -> Option<Telling> {
        let heard = self.shared.log.lock();
        heard.fault().map(|fault| self.shared.sentence(fault))
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

    pub fn listed_every(&self) -> Duration {
        self.shared.options.pace.listed_every
    }

    /// Notified when a notice needs a look.
    pub fn wake(&self) -> &Notify {
        self.shared.options.waker.notify()
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn count(&self) -> Option<u32> {
        self.shared.log.lock().count()
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Why no usable notices arrive, with the remedy.
#[derive(Debug, thiserror::Error, Told)]
pub enum NoNotices {
    #[error(
        "nothing is heard of the node at {url} ({why}): see that it runs with -zmqpubsequence set to this address, or unset backendZmq; meanwhile the node is asked each second, so that payments are seen a second later"
    )]
    Disconnected { url: String, why: String },
    #[error(
        "the node changed, but sent no notice at {url}: see that it runs with -zmqpubsequence set to this address, and not only with other -zmqpub options, or unset backendZmq; meanwhile the node is asked each second, so that payments are seen a second later"
    )]
    Silent { url: String },
    #[error(
        "the notices at {url} do not match the first node in backendUrl: set backendZmq to that node's -zmqpubsequence, or unset backendZmq; meanwhile the node is asked each second, so that payments are seen a second later"
    )]
    OtherNode { url: String },
}

impl Shared {
    fn sentence(&self, fault: &NoticeFault) -> Telling {
        let url = self.options.url.clone();
        match fault {
            NoticeFault::Disconnected(why) => NoNotices::Disconnected { url, why: why.clone() },
            NoticeFault::Silent => NoNotices::Silent { url },
            NoticeFault::OtherNode => NoNotices::OtherNode { url },
        }
        .telling()
    }

    fn end(&self, why: NoticeFault) -> bool {
        let mut heard = self.log.lock();
        let before = heard.fault().cloned();
        let was_of_use = heard.end(why);
        let fault = heard.fault().filter(|fault| before.as_ref() != Some(*fault)).cloned();
        drop(heard);
        if let Some(fault) = fault {
            tracing::warn!("{}", self.sentence(&fault));
        }
        was_of_use
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
                shared.log.lock().begin();
                shared.tried.send_replace(true);
                tracing::debug!(url = shared.options.url, "listening to the node");
                tokio::select! {
                    why = hear(&shared, subscription) => NoticeFault::Disconnected(why),
                    // The log keeps the real reason, noted before the cut.
                    () = shared.cut.notified() => NoticeFault::Disconnected("it was given up".to_owned()),
                }
            }
            Err(why) => NoticeFault::Disconnected(why),
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

/// Takes messages until the connection ends; returns the reason.
async fn hear(shared: &Shared, mut subscription: Subscription<TcpStream>) -> String {
    let mut second = Second { began: Instant::now(), messages: 0 };
    loop {
        let Message { parts, commands } = match subscription.next().await {
            Ok(message) => message,
            Err(unheard) => return unheard.to_string(),
        };
        let Some((notice, count)) = Notice::read(&parts) else {
            return "it sent a message that is not of Bitcoin Core's topic sequence".to_owned();
        };
        if shared.log.lock().take(notice, count) {
            shared.options.waker.wake();
        }
        if let Some(until) = second.take(commands.saturating_add(1), Instant::now()) {
            // The publisher drops messages that it cannot send, and its count shows the gap.
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
