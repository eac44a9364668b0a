//! A real Bitcoin Core in its own process that follows a sandbox's chain. It receives each block
//! and each transaction of the mempool, and judges them by its own rules. A refusal shows a fault
//! of the sandbox or of this module.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitcoin::consensus::encode::serialize_hex;
use bitcoin::{BlockHash, Txid};
use serde_json::{Value, json};
use tillgate_sandbox::Sandbox;

/// Interval between attempts while the node starts or ends.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// Number of attempts: at least a minute in total.
const TRIES: u32 = 3_000;

/// Ten years, in seconds. If the tip is older than this, the node believes that it is still
/// downloading the chain.
const TIP_AGE_S: u32 = 315_360_000;

/// How the node is started, each time.
struct Start {
    program: PathBuf,
    folder: PathBuf,
    rpc_port: u16,
    /// The port for other nodes.
    peer_port: u16,
    /// The port of the ZeroMQ publisher, if there is one.
    zmq_port: Option<u16>,
    /// Whether the node relays no transactions (`-blocksonly`).
    blocks_only: bool,
}

/// A node that runs until it is dropped.
pub struct Bitcoind {
    start: Start,
    /// Number of starts of the node.
    starts: AtomicU64,
    process: Mutex<Child>,
}

impl Bitcoind {
    /// The program named by the environment variable `BITCOIND_EXE`, if it is set.
    #[must_use]
    pub fn program() -> Option<PathBuf> {
        std::env::var_os("BITCOIND_EXE").filter(|name| !name.is_empty()).map(PathBuf::from)
    }

    /// Starts `program` with an empty regtest chain in `folder`.
    ///
    /// # Errors
    /// The node does not start, or does not answer.
    pub fn start(program: &Path, folder: &Path) -> io::Result<Self> {
        Self::start_with(program, folder, None, false)
    }

    /// Starts a node that relays blocks alone (`-blocksonly`).
    ///
    /// # Errors
    /// The node does not start, or does not answer.
    pub fn start_with_blocks_only(program: &Path, folder: &Path) -> io::Result<Self> {
        Self::start_with(program, folder, None, true)
    }

    /// Starts a node as [`Self::start`] does, with a ZeroMQ publisher.
    ///
    /// # Errors
    /// The node does not start, for example because it lacks ZeroMQ, or does not answer.
    pub fn start_publishing(program: &Path, folder: &Path) -> io::Result<Self> {
        Self::start_with(program, folder, Some(free_port()?), false)
    }

    fn start_with(
        program: &Path,
        folder: &Path,
        zmq_port: Option<u16>,
        blocks_only: bool,
    ) -> io::Result<Self> {
        let start = Start {
            program: program.to_owned(),
            folder: folder.to_owned(),
            rpc_port: free_port()?,
            peer_port: free_port()?,
            zmq_port,
            blocks_only,
        };
        let process = Mutex::new(start.spawn()?);
        let node = Self { start, starts: AtomicU64::new(1), process };
        node.answers()?;
        Ok(node)
    }

    /// Connects to another node, and waits until both know it.
    ///
    /// # Errors
    /// A node does not answer, or the connection does not come about.
    pub fn connect(&self, other: &Self) -> io::Result<()> {
        self.call("addnode", &json!([format!("127.0.0.1:{}", other.start.peer_port), "onetry"]))?;
        for _ in 0..TRIES {
            let peers = [self, other].map(|node| node.call("getconnectioncount", &json!([])));
            if peers
                .into_iter()
                .collect::<io::Result<Vec<_>>>()?
                .iter()
                .all(|count| count.as_u64() > Some(0))
            {
                return Ok(());
            }
            std::thread::sleep(TRY_EVERY);
        }
        Err(io::Error::other("the nodes do not connect"))
    }

    /// Whether a program was built with ZeroMQ.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn can_publish(program: &Path) -> io::Result<bool> {
        let help = Command::new(program).arg("-help").output()?;
        Ok(String::from_utf8_lossy(&help.stdout).contains("-zmqpubsequence"))
    }

    /// The address of the ZeroMQ publisher, if there is one.
    #[must_use]
    pub fn zmq_url(&self) -> Option<String> {
        self.start.zmq_port.map(zmq_url)
    }

    /// The address of the RPC server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.start.rpc_port)
    }

    /// Number of starts of the node. A program that connected before the last start must connect
    /// again.
    pub(crate) fn starts(&self) -> u64 {
        self.starts.load(Ordering::SeqCst)
    }

    pub(crate) const fn rpc_port(&self) -> u16 {
        self.start.rpc_port
    }

    /// The file with the RPC cookie.
    #[must_use]
    pub fn cookie_file(&self) -> PathBuf {
        self.start.folder.join("regtest").join(".cookie")
    }

    /// Brings the node to the sandbox's chain, mempool and time.
    ///
    /// # Errors
    /// The node does not answer, or refuses a block or a transaction that the sandbox accepted.
    pub fn follow(&self, sandbox: &Sandbox, now_ms: i64) -> io::Result<()> {
        let time = json!([now_ms.div_euclid(1_000)]);
        let mut told =
            self.calls(&[("setmocktime", time.clone()), ("getblockcount", json!([]))])?;
        let count =
            told.pop().and_then(|count| count.as_u64()).and_then(|count| u32::try_from(count).ok());
        self.follow_blocks(sandbox, count.unwrap_or(0))?;
        let wanted: Vec<Txid> = sandbox.status().map_err(io::Error::other)?.mempool;
        let has = self.mempool()?;
        let missing: Vec<Txid> =
            wanted.iter().copied().filter(|txid| !has.contains(txid)).collect();
        // A node drops a single transaction only for a replacement. To drop any other transaction,
        // the node is restarted with an empty mempool.
        let sent = self.send(sandbox, &missing);
        if has.len() + missing.len() == wanted.len()
            || (sent.is_ok() && self.mempool()? == wanted.iter().copied().collect())
        {
            return sent;
        }
        self.restart()?;
        self.call("setmocktime", &time)?;
        self.send(sandbox, &wanted)
    }

    /// Ends the node and starts it again. The node keeps its chain and loses its mempool.
    ///
    /// # Errors
    /// The node does not end, or does not start.
    pub fn restart(&self) -> io::Result<()> {
        let mut process = self.lock();
        end(&mut process)?;
        *process = self.start.spawn()?;
        drop(process);
        self.starts.fetch_add(1, Ordering::SeqCst);
        self.answers()
    }

    /// Makes one call to the node and returns its result.
    ///
    /// # Errors
    /// The node cannot be reached, or refuses the call.
    pub fn call(&self, method: &str, params: &Value) -> io::Result<Value> {
        Ok(self.calls(&[(method, params.clone())])?.pop().unwrap_or_default())
    }

    /// Makes several calls in one request, because each request takes time in the node's HTTP
    /// server. Returns their results.
    ///
    /// # Errors
    /// The node cannot be reached, or refuses a call. The error names the first refused call.
    pub fn calls(&self, calls: &[(&str, Value)]) -> io::Result<Vec<Value>> {
        let batch = calls.iter().zip(0u32..);
        let batch = batch
            .map(|((method, params), id)| json!({"id": id, "method": method, "params": params}));
        let body = Value::Array(batch.collect()).to_string();
        let cookie = std::fs::read_to_string(self.cookie_file())?;
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.start.rpc_port))?;
        let head = format!(
            "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            STANDARD.encode(cookie.trim()),
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let start = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .map_or(answer.len(), |at| at + 4);
        let replies: Vec<Value> = serde_json::from_slice(answer.get(start..).unwrap_or_default())?;
        let results =
            calls.iter().zip(replies).map(|((method, _), mut reply)| match reply["error"].take() {
                Value::Null => Ok(reply["result"].take()),
                error => Err(io::Error::other(format!("{method}: {error}"))),
            });
        results.collect()
    }

    fn follow_blocks(&self, sandbox: &Sandbox, count: u32) -> io::Result<()> {
        let tip = sandbox.tip().map_err(io::Error::other)?;
        let mut common = count.min(tip.height);
        while common > 0 && self.hash_at(common)? != block(sandbox, common)?.block_hash() {
            common -= 1;
        }
        let missing = (common + 1..=tip.height).map(|height| {
            let block = block(sandbox, height)?;
            Ok(("submitblock", json!([serialize_hex(&block)])))
        });
        let missing = missing.collect::<io::Result<Vec<_>>>()?;
        if missing.is_empty() {
            return Ok(());
        }
        for (verdict, height) in self.calls(&missing)?.into_iter().zip(common + 1..) {
            // The node validates a block at once only if its branch has the most work.
            if !matches!(
                verdict.as_str(),
                None | Some("inconclusive" | "duplicate" | "duplicate-inconclusive")
            ) {
                return Err(io::Error::other(format!(
                    "the node refuses block {height}: {verdict}"
                )));
            }
        }
        if self.hash_at(tip.height)? == tip.hash {
            Ok(())
        } else {
            Err(io::Error::other(format!("the node does not adopt block {}", tip.height)))
        }
    }

    fn hash_at(&self, height: u32) -> io::Result<BlockHash> {
        Ok(serde_json::from_value(self.call("getblockhash", &json!([height]))?)?)
    }

    fn mempool(&self) -> io::Result<HashSet<Txid>> {
        Ok(serde_json::from_value(self.call("getrawmempool", &json!([]))?)?)
    }

    /// Sends transactions of the sandbox's mempool, parents before children.
    fn send(&self, sandbox: &Sandbox, txids: &[Txid]) -> io::Result<()> {
        let calls = txids.iter().map(|txid| {
            let view = sandbox.transaction(*txid).map_err(io::Error::other)?;
            let view =
                view.ok_or_else(|| io::Error::other(format!("the sandbox does not know {txid}")))?;
            // 0 turns off the node's limit of the fee rate, because the customer may pay any fee.
            Ok(("sendrawtransaction", json!([serialize_hex(&view.tx), 0])))
        });
        let calls = calls.collect::<io::Result<Vec<_>>>()?;
        if calls.is_empty() { Ok(()) } else { self.calls(&calls).map(|_| ()) }
    }

    /// Waits until the node answers.
    fn answers(&self) -> io::Result<()> {
        let mut answer = Ok(Value::Null);
        for _ in 0..TRIES {
            answer = self.call("getblockcount", &json!([]));
            if answer.is_ok() {
                break;
            }
            // The node ends if another program took its port, and is then started again.
            let mut process = self.lock();
            if process.try_wait()?.is_some() {
                *process = self.start.spawn()?;
            }
            drop(process);
            std::thread::sleep(TRY_EVERY);
        }
        answer.map(|_| ())
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bitcoind {
    fn drop(&mut self) {
        let mut process = self.lock();
        let _ = process.kill();
        let _ = process.wait();
    }
}

fn block(sandbox: &Sandbox, height: u32) -> io::Result<bitcoin::Block> {
    let block = sandbox.block(height).map_err(io::Error::other)?;
    block.ok_or_else(|| io::Error::other(format!("the sandbox has no block {height}")))
}

/// A port that is free now. A program that finds it taken fails to start.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn zmq_url(port: u16) -> String {
    format!("tcp://127.0.0.1:{port}")
}

impl Start {
    fn spawn(&self) -> io::Result<Child> {
        let mut options: HashMap<&str, String> = HashMap::from([
            ("datadir", self.folder.display().to_string()),
            ("rpcport", self.rpc_port.to_string()),
            ("maxtipage", TIP_AGE_S.to_string()),
            ("persistmempool", "0".to_owned()),
            ("acceptnonstdtxn", "0".to_owned()),
            ("listen", "1".to_owned()),
            ("port", self.peer_port.to_string()),
            ("bind", format!("127.0.0.1:{}", self.peer_port)),
            ("blocksonly", u8::from(self.blocks_only).to_string()),
            ("dbcache", "8".to_owned()),
            ("rest", "1".to_owned()),
        ]);
        options.extend(self.zmq_port.map(|port| ("zmqpubsequence", zmq_url(port))));
        let options = options.into_iter().map(|(name, value)| format!("-{name}={value}"));
        let output = Stdio::null;
        Command::new(&self.program)
            .arg("-regtest")
            .args(options)
            .stdin(output())
            .stdout(output())
            .stderr(output())
            .spawn()
    }
}

/// Ends a node by SIGTERM, so that it writes its state.
fn end(process: &mut Child) -> io::Result<()> {
    let pid = process.id().to_string();
    Command::new("kill").arg(&pid).status()?;
    for _ in 0..TRIES {
        if process.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(TRY_EVERY);
    }
    Err(io::Error::other("the node does not end"))
}
