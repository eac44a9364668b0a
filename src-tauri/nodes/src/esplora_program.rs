//! A real Esplora server, the `electrs` of mempool.space or of Blockstream, started as a process of its own over a real
//! Bitcoin Core that follows a sandbox.

use std::collections::HashSet;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bitcoin::Txid;
use tillgate_sandbox::Sandbox;

use crate::bitcoind::{Bitcoind, free_port};
use crate::follower::Follower;

/// A connection that is silent for so long is given up.
const SAYS_NOTHING_AFTER: Duration = Duration::from_secs(2);

/// A server that runs until it is dropped.
pub struct EsploraProgram {
    port: u16,
    follower: Follower,
}

impl EsploraProgram {
    /// The program that the environment variable `ESPLORA_EXE` names, if it names one.
    #[must_use]
    pub fn program() -> Option<PathBuf> {
        std::env::var_os("ESPLORA_EXE").filter(|name| !name.is_empty()).map(PathBuf::from)
    }

    /// Starts `program` over a node, with an empty index in `folder`.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(program: &Path, folder: &Path, node: &Bitcoind) -> io::Result<Self> {
        let port = free_port()?;
        let (program, folder) = (program.to_owned(), folder.to_owned());
        let follower = Follower::new(node, move |node| spawn(&program, &folder, port, node))?;
        Ok(Self { port, follower })
    }

    /// Where it is reached.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until it shows the tip and the mempool of the sandbox, which the node has reached.
    ///
    /// # Errors
    /// When it does not in a minute or so.
    pub fn follow(&self, sandbox: &Sandbox, node: &Bitcoind) -> io::Result<()> {
        self.follower.follow(sandbox, node, || self.shows(sandbox))
    }

    /// Whether it shows the sandbox's tip, each transaction of its mempool, and none besides.
    fn shows(&self, sandbox: &Sandbox) -> io::Result<bool> {
        let status = sandbox.status().map_err(io::Error::other)?;
        if self.get("/blocks/tip/hash")?.trim() != status.tip_hash.to_string() {
            return Ok(false);
        }
        let shown: HashSet<Txid> = serde_json::from_str(&self.get("/mempool/txids")?)?;
        Ok(shown == status.mempool.into_iter().collect())
    }

    fn get(&self, path: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(SAYS_NOTHING_AFTER))?;
        // An answer of the older protocol is in one piece, and ends with the connection.
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        match answer.split_once("\r\n\r\n") {
            Some((head, body)) if head.contains(" 200 ") => Ok(body.to_owned()),
            _ => Err(io::Error::other(format!("{path}: {answer}"))),
        }
    }
}

fn spawn(program: &Path, folder: &Path, port: u16, node: &Bitcoind) -> io::Result<Child> {
    let here = |port: u16| format!("127.0.0.1:{port}");
    let options = [
        ("network", "regtest".to_owned()),
        ("db-dir", folder.join("esplora-index").display().to_string()),
        ("daemon-dir", folder.display().to_string()),
        ("cookie", std::fs::read_to_string(node.cookie_file())?.trim().to_owned()),
        ("daemon-rpc-addr", here(node.rpc_port())),
        ("electrum-rpc-addr", here(free_port()?)),
        ("monitoring-addr", here(free_port()?)),
        ("http-addr", here(port)),
        ("main-loop-delay", "50".to_owned()),
    ];
    let options = options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
    let log = std::fs::File::options().create(true).append(true).open(folder.join("esplora.log"))?;
    Command::new(program)
        // A node may have its block files in a form of its own: what it says over RPC is in the known one.
        .arg("--jsonrpc-import")
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
}
