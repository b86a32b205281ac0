//! Two ends of QUIC, by quinn, rustls and tokio.
//!
//!     quic serve ADDRESS CERTIFICATE KEY          each stream asks for so many bytes, and gets them
//!     quic get HOST:PORT CERTIFICATE BYTES COUNT  so many bytes on each of so many streams at once
//!
//! One thread: which of several runs first would be nobody's to say.

use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::pem::PemObject;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig};

type Outcome<T> = Result<T, Box<dyn Error>>;

const LARGEST: u64 = 1 << 30;

async fn answer(connection: Connection) -> Outcome<()> {
    loop {
        let (mut send, mut receive) = connection.accept_bi().await?;
        tokio::spawn(async move {
            let asked = receive.read_to_end(32).await.unwrap_or_default();
            let bytes: u64 = String::from_utf8_lossy(&asked).parse().unwrap_or_default();
            let block = [0; 16384];
            let mut left = bytes.min(LARGEST);
            while left > 0 {
                let some = left.min(block.len() as u64) as usize;
                if send.write_all(&block[..some]).await.is_err() {
                    return;
                }
                left -= some as u64;
            }
            let _ = send.finish();
        });
    }
}

async fn serve(address: &str, certificate: &str, key: &str) -> Outcome<()> {
    let chain = vec![CertificateDer::from_pem_file(certificate)?];
    let config = ServerConfig::with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    let endpoint = Endpoint::server(config, resolve(address)?)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                let _ = answer(connection).await;
            }
        });
    }
    Ok(())
}

async fn take(connection: Connection, bytes: u64) -> Result<u64, String> {
    let (mut send, mut receive) = connection.open_bi().await.map_err(|e| e.to_string())?;
    send.write_all(bytes.to_string().as_bytes()).await.map_err(|e| e.to_string())?;
    send.finish().map_err(|e| e.to_string())?;
    let mut taken = 0;
    while let Some(chunk) = receive.read_chunk(65536, true).await.map_err(|e| e.to_string())? {
        taken += chunk.bytes.len() as u64;
    }
    Ok(taken)
}

async fn get(server: &str, certificate: &str, bytes: u64, count: usize) -> Outcome<()> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let mut endpoint = Endpoint::client(SocketAddr::from(([0, 0, 0, 0], 0)))?;
    endpoint.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    let connection = endpoint.connect(resolve(server)?, host)?.await?;
    let streams: Vec<_> = (0..count).map(|_| tokio::spawn(take(connection.clone(), bytes))).collect();
    let mut taken = 0;
    for stream in streams {
        taken += stream.await??;
    }
    println!("{taken} bytes on {count} streams");
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

fn resolve(address: &str) -> Outcome<SocketAddr> {
    address.to_socket_addrs()?.next().ok_or_else(|| format!("{address}: no such address").into())
}

async fn run(words: &[&str]) -> Outcome<()> {
    match words {
        ["serve", address, certificate, key] => serve(address, certificate, key).await,
        ["get", server, certificate, bytes, count] => {
            get(server, certificate, bytes.parse()?, count.parse()?).await
        }
        _ => Err("quic serve ADDRESS CERTIFICATE KEY | quic get HOST:PORT CERTIFICATE BYTES COUNT".into()),
    }
}

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(&words))
}
