//! A gateway with a notifier, a merchant's server with scripted answers, and servers that
//! misbehave.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use tillgate_domain::id::Id;
use tillgate_domain::notification::SubjectKind;
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::Clock;
use tillgate_machine::entropy::{Entropy, NoEntropy, SystemEntropy};
use tillgate_machine::secrets::{Purpose, Secret, SecretError, SecretStore};
use tillgate_store::StoreError;
use tillgate_store::deliveries::DeliveryRow;
use tillgate_store::notifications::NewNotification;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::gateway::Gateway;
use crate::notifications::Notifier;
use crate::testing::World;

/// Time to wait for loopback servers that never answer.
pub const SHORT: Duration = Duration::from_millis(300);

/// Longest wait for a step. Only a failing test waits this long.
const STUCK: Duration = Duration::from_secs(20);

pub struct ManualClock(AtomicI64);

impl Default for ManualClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_800_000_000_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}

/// Secrets in memory that can be locked.
#[derive(Default)]
pub struct Vault {
    secrets: Mutex<HashMap<Purpose, String>>,
    pub locked: AtomicBool,
}

impl Vault {
    pub fn forget(&self) {
        self.secrets.lock().unwrap().clear();
    }

    fn check(&self) -> Result<(), SecretError> {
        if self.locked.load(Ordering::SeqCst) {
            return Err(SecretError("the vault is locked".to_owned()));
        }
        Ok(())
    }
}

impl SecretStore for Vault {
    fn get(&self, purpose: Purpose) -> Result<Option<Secret>, SecretError> {
        self.check()?;
        Ok(self.secrets.lock().unwrap().get(&purpose).cloned().map(Secret::new))
    }

    fn set(&self, purpose: Purpose, secret: &Secret) -> Result<(), SecretError> {
        self.check()?;
        self.secrets.lock().unwrap().insert(purpose, secret.reveal().to_owned());
        Ok(())
    }

    fn describe(&self) -> String {
        "a vault".to_owned()
    }
}

/// Random bytes, and an error while `is_dry` is set.
#[derive(Default)]
pub struct Tap {
    pub is_dry: AtomicBool,
}

impl Entropy for Tap {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        if self.is_dry.load(Ordering::SeqCst) {
            return Err(NoEntropy);
        }
        SystemEntropy.fill(bytes)
    }
}

pub struct Scene {
    pub gateway: Arc<Gateway>,
    pub notifier: Arc<Notifier>,
    pub clock: Arc<ManualClock>,
    pub vault: Arc<Vault>,
    pub entropy: Arc<Tap>,
    folder: tempfile::TempDir,
    next_id: AtomicU32,
}

impl Scene {
    pub async fn new() -> Self {
        Self::over(World::new().await, Arc::new(ManualClock::default()), Arc::default(), 1, SHORT)
    }

    /// A scene whose attempts do not time out during a test.
    pub async fn patient() -> Self {
        Self::over(World::new().await, Arc::new(ManualClock::default()), Arc::default(), 1, STUCK)
    }

    /// Restarts the gateway with the same database, secrets and clock.
    pub async fn restarted(self) -> Self {
        let Self { gateway, notifier, clock, vault, folder, next_id, .. } = self;
        drop((gateway, notifier));
        Self::over(World::in_folder(folder).await, clock, vault, next_id.into_inner(), SHORT)
    }

    fn over(
        world: World,
        clock: Arc<ManualClock>,
        vault: Arc<Vault>,
        next_id: u32,
        patience: Duration,
    ) -> Self {
        let (mut gateway, folder) = world.into_gateway();
        gateway.time.clock = clock.clone();
        gateway.machine.secrets = vault.clone();
        let entropy = Arc::new(Tap::default());
        gateway.machine.entropy = entropy.clone();
        let gateway = Arc::new(gateway);
        let notifier = Notifier::new(Arc::clone(&gateway), patience).unwrap();
        Self { gateway, notifier, clock, vault, entropy, folder, next_id: AtomicU32::new(next_id) }
    }

    pub fn advance_ms(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Queues a notification of record `subject`. Its body is its number, which is returned.
    pub async fn queue(&self, subject: u32, url: &str) -> u32 {
        self.queue_many(&[subject], url).await
    }

    pub async fn queue_many(&self, subjects: &[u32], url: &str) -> u32 {
        self.queue_by(0, subjects, url).await
    }

    /// Like [`Self::queue_many`], for records of an API key.
    pub async fn queue_by(&self, key_id: i64, subjects: &[u32], url: &str) -> u32 {
        let mut last = 0;
        let mut all = Vec::new();
        for subject in subjects {
            last = self.next_id.fetch_add(1, Ordering::SeqCst);
            all.push(NewNotification {
                id: id(last),
                subject_kind: SubjectKind::Payment,
                subject_id: id(1_000_000 + subject),
                key_id,
                url: url.to_owned(),
                body: last.to_string().into_bytes(),
                is_resend: false,
                at: self.clock.now(),
            });
        }
        self.gateway
            .store
            .write::<_, StoreError>(move |tx| {
                all.iter().try_for_each(|new| tx.queue_notification(new))
            })
            .await
            .unwrap();
        last
    }

    pub async fn pass(&self) -> usize {
        self.notifier.start_due().await.unwrap().started
    }

    /// Waits until no attempt is running.
    pub async fn quiet(&self) {
        self.wait(|scene| scene.notifier.count_under_way() == 0).await;
    }

    /// Runs passes until no notification is due or running.
    pub async fn deliver_all(&self) {
        while self.pass().await > 0 {
            self.quiet().await;
        }
    }

    /// Waits until `done` returns true.
    pub async fn wait(&self, done: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !done(self) {
                self.gateway.signals.notifier.notified().await;
            }
        };
        tokio::time::timeout(STUCK, waiting).await.expect("`done` should have become true in time");
    }

    /// The attempts, oldest first.
    pub fn attempts(&self) -> Vec<DeliveryRow> {
        let mut rows = self.gateway.store.read(|reader| reader.deliveries(false, 100, 0)).unwrap();
        rows.retain(|row| row.attempt > 0);
        rows.reverse();
        rows
    }

    pub fn waiting(&self) -> u64 {
        self.gateway.store.read(|reader| reader.count_waiting_notifications()).unwrap()
    }
}

pub fn id(n: u32) -> Id {
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    Id::from_bytes(bytes)
}

/// A request that the merchant's server received.
#[derive(Debug, Clone)]
pub struct Request {
    pub headers: HeaderMap,
    pub body: String,
}

/// A merchant's server: gives the scripted answers, then 200.
#[derive(Clone, Default)]
pub struct Merchant {
    requests: Arc<Mutex<Vec<Request>>>,
    answers: Arc<Mutex<VecDeque<StatusCode>>>,
    always: Arc<Mutex<Option<StatusCode>>>,
    /// If set, each request takes a permit from it before it is answered.
    gate: Arc<Mutex<Option<Arc<tokio::sync::Semaphore>>>>,
    got: Arc<Notify>,
    pub url: String,
}

impl Merchant {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let merchant = Self {
            url: format!("http://{}/hook", listener.local_addr().unwrap()),
            ..Self::default()
        };
        let router = Router::new().fallback(answer).with_state(merchant.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        merchant
    }

    pub fn will_answer(&self, answers: impl IntoIterator<Item = u16>) {
        self.answers
            .lock()
            .unwrap()
            .extend(answers.into_iter().map(|code| StatusCode::from_u16(code).unwrap()));
    }

    pub fn always_answers(&self, code: u16) {
        *self.always.lock().unwrap() = Some(StatusCode::from_u16(code).unwrap());
    }

    /// Makes each further request wait for a permit of the returned semaphore.
    pub fn hold(&self) -> Arc<tokio::sync::Semaphore> {
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        *self.gate.lock().unwrap() = Some(gate.clone());
        gate
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub fn bodies(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.body).collect()
    }

    /// Waits until `count` requests were received.
    pub async fn has_got(&self, count: usize) {
        let waiting = async {
            while self.requests.lock().unwrap().len() < count {
                self.got.notified().await;
            }
        };
        tokio::time::timeout(STUCK, waiting)
            .await
            .expect("the requests should have been received in time");
    }
}

async fn answer(
    State(merchant): State<Merchant>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    merchant
        .requests
        .lock()
        .unwrap()
        .push(Request { headers, body: String::from_utf8(body.to_vec()).unwrap() });
    merchant.got.notify_one();
    let gate = merchant.gate.lock().unwrap().clone();
    if let Some(gate) = gate {
        gate.acquire().await.unwrap().forget();
    }
    let always = merchant.always.lock().unwrap().unwrap_or(StatusCode::OK);
    let code = merchant.answers.lock().unwrap().pop_front().unwrap_or(always);
    (code, format!("said {}", code.as_u16()))
}

/// A server of raw bytes: `serve` gets each connection after its request's head was read.
pub async fn raw_server<F, R>(serve: F) -> String
where
    F: Fn(TcpStream) -> R + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0u8; 1_024];
            if stream.read(&mut head).await.is_ok() {
                tokio::spawn(serve(stream));
            }
        }
    });
    url
}

/// A server that accepts connections and never answers.
pub async fn silent_server() -> String {
    raw_server(|stream| async move {
        let _open = stream;
        std::future::pending::<()>().await;
    })
    .await
}

/// Writes until the other side closes the connection. Returns the number of bytes that were
/// written.
pub async fn write_for_ever(mut stream: TcpStream, head: &str) -> usize {
    let mut written = 0;
    if stream.write_all(head.as_bytes()).await.is_err() {
        return written;
    }
    let chunk = [b'x'; 4_096];
    while stream.write_all(&chunk).await.is_ok() {
        written += chunk.len();
    }
    written
}
