//! TLS towards the orchestrator: an own certificate authority, or a certificate that was given.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use serde::Deserialize;
use tokio_rustls::TlsAcceptor;

use crate::base::clock::WallClock;
use crate::net::stream::{Socket, Stream};
use crate::net::tls::{
    CertificateAuthority, H2, HTTP_1_1, TlsError, certificates, private_key, provider,
};

/// Leaves kept: a client that asks for ever new names must not fill the memory.
const LEAVES_MAX: usize = 1_000;

/// `listen_tls:` of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ListenTlsConfig {
    /// `auto`: certificates of Meddler's own authority.
    Auto(Auto),
    /// A given certificate.
    Files(Files),
}

/// The word `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// `auto`
    Auto,
}

/// `listen_tls: { cert, key, client_ca }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// The chain, PEM.
    pub cert: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Who signs the orchestrators' own certificates, PEM; they must show one then.
    #[serde(default)]
    pub client_ca: Option<PathBuf>,
}

/// Ready to take TLS connections. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerTls(Arc<ServerConfig>);

impl ServerTls {
    /// With certificates of our own authority, one for each name or address a client asks for.
    pub fn auto(authority: Arc<CertificateAuthority>, clock: WallClock) -> Result<Self, TlsError> {
        let leaves = Leaves { authority, clock, made: Mutex::default() };
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(leaves));
        Ok(Self::new(config))
    }

    /// With a given certificate.
    pub fn files(files: &Files) -> Result<Self, TlsError> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?;
        let builder = match &files.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = rustls::RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate)?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
                        .build()
                        .map_err(|_| TlsError::Pem { path: path.clone(), what: "certificate" })?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config =
            builder.with_single_cert(certificates(&files.cert)?, private_key(&files.key)?)?;
        Ok(Self::new(config))
    }

    fn new(mut config: ServerConfig) -> Self {
        config.alpn_protocols = vec![H2.to_vec(), HTTP_1_1.to_vec()];
        Self(Arc::new(config))
    }

    /// Shakes hands, within a time. Gives the stream and whether it speaks HTTP/2.
    pub async fn accept(
        &self,
        socket: Socket,
        timeout: Duration,
    ) -> io::Result<(Stream, AlpnChoice)> {
        let handshake = TlsAcceptor::from(Arc::clone(&self.0)).accept(socket);
        let tls = tokio::time::timeout(timeout, handshake)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let choice = match tls.get_ref().1.alpn_protocol() {
            Some(H2) => AlpnChoice::Http2,
            Some(_) => AlpnChoice::Http1,
            None => AlpnChoice::None,
        };
        Ok((Stream::Tls(Box::new(tls.into())), choice))
    }
}

/// What the two sides agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlpnChoice {
    /// HTTP/2.
    Http2,
    /// HTTP/1.1.
    Http1,
    /// The client did not say.
    None,
}

/// Certificates of our own authority, made when they are asked for.
#[derive(Debug)]
struct Leaves {
    authority: Arc<CertificateAuthority>,
    clock: WallClock,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl Leaves {
    fn of(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = made.get(name) {
            return Some(Arc::clone(leaf));
        }
        let mut names = vec![name.to_owned()];
        for also in ["localhost", "127.0.0.1", "::1"] {
            if also != name {
                names.push(also.to_owned());
            }
        }
        names.extend(own_addresses().into_iter().map(|ip| ip.to_string()));
        let leaf = self.authority.leaf(&names, self.clock.now());
        let (chain, key) =
            leaf.inspect_err(|error| tracing::warn!(name, %error, "no leaf")).ok()?;
        let key = provider().key_provider.load_private_key(key).ok()?;
        let leaf = Arc::new(CertifiedKey::new(chain, key));
        if made.len() >= LEAVES_MAX {
            made.clear();
        }
        made.insert(name.to_owned(), Arc::clone(&leaf));
        Some(leaf)
    }
}

impl ResolvesServerCert for Leaves {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // A client that dials an address sends no name: it gets the leaf with our addresses in it.
        let name = hello.server_name().unwrap_or("localhost").trim_end_matches('.');
        self.of(&name.to_ascii_lowercase())
    }
}

/// The address that this machine's packets to the outside carry: for clients that dial by address.
fn own_addresses() -> Vec<IpAddr> {
    // Connecting a UDP socket sends nothing; it only asks the kernel for a route.
    let towards = |from: &str, to: &str| {
        let socket = std::net::UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let mut found = Vec::new();
    found.extend(towards("0.0.0.0:0", "192.0.2.1:9"));
    found.extend(towards("[::]:0", "[2001:db8::1]:9"));
    found
}
