//! A SOCKS5 proxy, such as Tor.

use std::sync::{Arc, Mutex};

use tillgate_machine::outgoing::Proxy;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that leads every connection to `server` (an address with a port), whatever the requested
/// name. Also returns the requested names.
pub async fn leading_to(server: &str) -> (Proxy, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("socks5h://{}", listener.local_addr().unwrap()).parse().unwrap();
    let names = Arc::new(Mutex::new(Vec::new()));
    let (asked, server) = (Arc::clone(&names), server.to_owned());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut greeting = [0; 3];
            stream.read_exact(&mut greeting).await.unwrap();
            assert_eq!(greeting, [5, 1, 0]);
            stream.write_all(&[5, 0]).await.unwrap();
            let mut head = [0; 5];
            stream.read_exact(&mut head).await.unwrap();
            assert_eq!(head[..4], [5, 1, 0, 3], "a name, not an address");
            let mut name = vec![0; usize::from(head[4]) + 2];
            stream.read_exact(&mut name).await.unwrap();
            let (name, port) = name.split_at(name.len() - 2);
            let port = u16::from_be_bytes([port[0], port[1]]);
            asked.lock().unwrap().push(format!("{}:{port}", String::from_utf8_lossy(name)));
            let mut inner = TcpStream::connect(&server).await.unwrap();
            stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).await.unwrap();
            tokio::spawn(
                async move { tokio::io::copy_bidirectional(&mut stream, &mut inner).await },
            );
        }
    });
    (proxy, names)
}

/// A proxy that does not exist.
pub fn gone() -> Proxy {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("socks5h://{}", listener.local_addr().unwrap()).parse().unwrap()
}
