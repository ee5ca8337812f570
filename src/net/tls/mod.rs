//! TLS on both sides. ring is the one crypto provider, given explicitly to every configuration: the
//! plain builders panic when two providers meet in one graph.

mod ca;
mod client;
mod server;
mod verify;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use ca::CertificateAuthority;
pub use client::{Alpn, ClientTls, ClientTlsConfig};
use rustls::crypto::CryptoProvider;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
pub use server::{AlpnChoice, Auto, Files, ListenTlsConfig, ServerTls};

/// ALPN's name for HTTP/2.
pub const H2: &[u8] = b"h2";

/// ALPN's name for HTTP/1.1.
pub const HTTP_1_1: &[u8] = b"http/1.1";

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A file holds no certificate or key.
    #[error("{} holds no usable {what} in PEM", path.display())]
    Pem {
        /// Which.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate")]
    Make(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Certificate, key or trust do not fit together.
    #[error("cannot set up TLS")]
    Rustls(#[from] rustls::Error),
    /// No trusted roots.
    #[error("no trusted roots: the system has none; give `tls: {{ ca: FILE }}`")]
    NoRoots,
    /// A pair is incomplete.
    #[error("`cert` and `key` belong together; give both or none")]
    HalfPair,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) | Err(_) => Err(TlsError::Pem { path: path.to_owned(), what: "certificate" }),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let pem = read(path)?;
    PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|_| TlsError::Pem { path: path.to_owned(), what: "private key" })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::File { path: path.to_owned(), source })
}
