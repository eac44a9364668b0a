//! A real Electrum server, `electrs`, in its own process, over a real Bitcoin Core that follows a
//! sandbox.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::{Script, Txid};
use serde_json::{Value, json};
use tillgate_sandbox::Sandbox;

use crate::bitcoind::{Bitcoind, free_port};
use crate::follower::Follower;

/// Read timeout of a connection.
const SAYS_NOTHING_AFTER: Duration = Duration::from_secs(2);

/// A server that runs until it is dropped.
pub struct Electrs {
    port: u16,
    follower: Follower,
}

impl Electrs {
    /// The program named by the environment variable `ELECTRS_EXE`, if it is set.
    #[must_use]
    pub fn program() -> Option<PathBuf> {
        std::env::var_os("ELECTRS_EXE").filter(|name| !name.is_empty()).map(PathBuf::from)
    }

    /// Starts `program` over a node, with an empty index in `folder`.
    ///
    /// # Errors
    /// The program does not start.
    pub fn start(program: &Path, folder: &Path, node: &Bitcoind) -> io::Result<Self> {
        let port = free_port()?;
        let (program, folder) = (program.to_owned(), folder.to_owned());
        let follower = Follower::new(node, move |node| spawn(&program, &folder, port, node))?;
        Ok(Self { port, follower })
    }

    /// The address of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("tcp://127.0.0.1:{}", self.port)
    }

    /// Waits until the server shows the tip and the mempool of the sandbox. The node must show them
    /// already.
    ///
    /// # Errors
    /// The server does not show them within about a minute.
    pub fn follow(&self, sandbox: &Sandbox, node: &Bitcoind) -> io::Result<()> {
        self.follower.follow(sandbox, node, || self.shows(sandbox))
    }

    /// Whether the server shows the sandbox's tip, and exactly the transactions of its mempool.
    fn shows(&self, sandbox: &Sandbox) -> io::Result<bool> {
        let status = sandbox.status().map_err(io::Error::other)?;
        let mut connection = Connection::open(self.port)?;
        let tip = connection.ask("blockchain.headers.subscribe", &json!([]))?;
        let header = tip["hex"]
            .as_str()
            .and_then(|hex| bitcoin::consensus::encode::deserialize_hex(hex).ok());
        if header.map(|header: bitcoin::block::Header| header.block_hash()) != Some(status.tip_hash)
        {
            return Ok(false);
        }
        let mempool: HashSet<Txid> = status.mempool.iter().copied().collect();
        // The sandbox knows the scripts of all its transactions, so the histories of these scripts
        // contain the whole mempool.
        let all = sandbox.changes_since(0, usize::MAX >> 1).map_err(io::Error::other)?.txs;
        let scripts: HashSet<_> =
            all.iter().flat_map(|view| &view.tx.output).map(|out| &out.script_pubkey).collect();
        let scripts = scripts.into_iter().filter(|script| !script.is_op_return());
        let mut shown = HashSet::new();
        for script in scripts {
            let history = connection
                .ask("blockchain.scripthash.get_history", &json!([script_hash(script)]))?;
            let unconfirmed = history
                .as_array()
                .into_iter()
                .flatten()
                .filter(|entry| entry["height"].as_i64() <= Some(0));
            shown.extend(
                unconfirmed.filter_map(|entry| entry["tx_hash"].as_str()?.parse::<Txid>().ok()),
            );
        }
        Ok(shown == mempool)
    }
}

/// A connection that makes one call after another.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        // electrs does not answer while it is still catching up with the node.
        stream.set_read_timeout(Some(SAYS_NOTHING_AFTER))?;
        let stream = BufReader::new(stream);
        let mut connection = Self { stream };
        connection.ask("server.version", &json!(["tillgate-nodes", "1.4"]))?;
        Ok(connection)
    }

    fn ask(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params});
        self.stream.get_mut().write_all(format!("{request}\n").as_bytes())?;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::Error::other("electrs hung up"));
            }
            let mut answer: Value = serde_json::from_str(&line)?;
            if answer.get("id").is_none_or(Value::is_null) {
                continue;
            }
            return match answer["error"].take() {
                Value::Null => Ok(answer["result"].take()),
                error => Err(io::Error::other(format!("{method}: {error}"))),
            };
        }
    }
}

/// The protocol's hash of a script: SHA-256 in reverse byte order.
fn script_hash(script: &Script) -> String {
    let mut hash = sha256::Hash::hash(script.as_bytes()).to_byte_array();
    hash.reverse();
    hex::encode(hash)
}

fn spawn(program: &Path, folder: &Path, port: u16, node: &Bitcoind) -> io::Result<Child> {
    let options = [
        ("network", "regtest".to_owned()),
        ("db-dir", folder.join("index").display().to_string()),
        ("daemon-dir", folder.display().to_string()),
        ("cookie-file", node.cookie_file().display().to_string()),
        ("daemon-rpc-addr", format!("127.0.0.1:{}", node.rpc_port())),
        ("electrum-rpc-addr", format!("127.0.0.1:{port}")),
        ("monitoring-addr", format!("127.0.0.1:{}", free_port()?)),
        ("wait-duration-secs", "1".to_owned()),
        ("jsonrpc-timeout-secs", "20".to_owned()),
    ];
    let options = options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
    let log =
        std::fs::File::options().create(true).append(true).open(folder.join("electrs.log"))?;
    Command::new(program)
        .arg("--skip-default-conf-files")
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
}
