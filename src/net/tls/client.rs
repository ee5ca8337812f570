//! TLS towards the agent: verified by default, with the system's roots or given ones.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use serde::Deserialize;
use tokio_rustls::TlsConnector;

use crate::net::addr::Authority;
use crate::net::stream::{Socket, Stream};
use crate::net::tls::verify::AnyCertificate;
use crate::net::tls::{H2, HTTP_1_1, TlsError, certificates, private_key, provider};

/// `tls:` of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientTlsConfig {
    /// Trusted beside the system's roots, PEM.
    pub ca: Option<PathBuf>,
    /// Whether any certificate is taken.
    pub insecure: bool,
    /// The name to ask for and to verify, when it is not the host's.
    pub server_name: Option<String>,
    /// A certificate of our own, for agents that want one, PEM.
    pub cert: Option<PathBuf>,
    /// Its key, PEM.
    pub key: Option<PathBuf>,
}

/// What is offered to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alpn {
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone: for gRPC.
    Http2,
    /// Both, HTTP/2 first.
    Either,
}

/// Ready to make TLS connections. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClientTls {
    http1: Arc<ClientConfig>,
    http2: Arc<ClientConfig>,
    either: Arc<ClientConfig>,
    server_name: Option<String>,
}

impl ClientTls {
    /// By a configuration. Reads the system's roots unless nothing is verified.
    pub fn new(config: &ClientTlsConfig) -> Result<Self, TlsError> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?;
        let builder = if config.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate::new()))
        } else {
            builder.with_root_certificates(roots(config)?)
        };
        let mut rustls = match (&config.cert, &config.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(cert), Some(key)) => {
                builder.with_client_auth_cert(certificates(cert)?, private_key(key)?)?
            }
            (Some(_), None) | (None, Some(_)) => return Err(TlsError::HalfPair),
        };
        let mut with = |names: &[&[u8]]| {
            rustls.alpn_protocols = names.iter().map(|name| name.to_vec()).collect();
            Arc::new(rustls.clone())
        };
        Ok(Self {
            http1: with(&[HTTP_1_1]),
            http2: with(&[H2]),
            either: with(&[H2, HTTP_1_1]),
            server_name: config.server_name.clone(),
        })
    }

    /// Shakes hands with the agent at `authority`.
    pub async fn connect(
        &self,
        socket: Socket,
        authority: &Authority,
        alpn: Alpn,
    ) -> io::Result<Stream> {
        let name = self.server_name.clone().unwrap_or_else(|| authority.host());
        let name = ServerName::try_from(name)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let config = match alpn {
            Alpn::Http1 => &self.http1,
            Alpn::Http2 => &self.http2,
            Alpn::Either => &self.either,
        };
        let tls = TlsConnector::from(Arc::clone(config)).connect(name, socket).await?;
        Ok(Stream::Tls(Box::new(tls.into())))
    }
}

fn roots(config: &ClientTlsConfig) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    // Single bad certificates of the system are its own business; none at all is ours.
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if let Some(path) = &config.ca {
        for certificate in certificates(path)? {
            roots.add(certificate)?;
        }
    }
    if roots.is_empty() { Err(TlsError::NoRoots) } else { Ok(roots) }
}
