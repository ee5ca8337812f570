//! Meddler's own certificate authority: made once, kept in two files, used for `listen_tls: auto`.
//!
//! Its subject is a constant, so that key and certificate on disk are all there is to restore: a
//! restart signs with the same authority, and trust that was installed once stays good.

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::net::tls::TlsError;

const CERTIFICATE_FILE: &str = "ca.pem";
const KEY_FILE: &str = "ca.key";
const SUBJECT: &str = "Meddler local CA";

/// How long the authority is good for.
const CA_DAYS: i64 = 3650;

/// How long a leaf is good for: strict clients refuse more than 398 days.
const LEAF_DAYS: i64 = 396;

/// An authority that signs certificates for our listeners.
#[derive(Debug)]
pub struct CertificateAuthority {
    certificate: CertificateDer<'static>,
    certificate_path: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl CertificateAuthority {
    /// The authority kept in `directory`; made there (key readable by its owner only) when there is
    /// none.
    pub fn open(directory: &Path, now: Timestamp) -> Result<Self, TlsError> {
        let certificate_path = directory.join(CERTIFICATE_FILE);
        let key_path = directory.join(KEY_FILE);
        if !key_path.exists() || !certificate_path.exists() {
            make(directory, &certificate_path, &key_path, now)?;
        }
        let key = std::fs::read_to_string(&key_path)
            .map_err(|source| TlsError::File { path: key_path.clone(), source })?;
        let key = KeyPair::from_pem(&key)
            .map_err(|_| TlsError::Pem { path: key_path, what: "private key" })?;
        let certificate = CertificateDer::from_pem_file(&certificate_path)
            .map_err(|_| TlsError::Pem { path: certificate_path.clone(), what: "certificate" })?;
        let issuer = Issuer::new(authority_params(now)?, key);
        Ok(Self { certificate, certificate_path, issuer })
    }

    /// The file with its certificate: what a client is told to trust.
    pub fn certificate_path(&self) -> &Path {
        &self.certificate_path
    }

    /// A chain and a key for these names and addresses, the first of them as its common name.
    pub fn leaf(
        &self,
        names: &[String],
        now: Timestamp,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let mut params = CertificateParams::new(names.to_vec()).map_err(wrong)?;
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, names.first().map_or("meddler", String::as_str));
        params.distinguished_name = subject;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let yesterday = day(now, -1);
        let last = day(now, LEAF_DAYS);
        params.not_before = rcgen::date_time_ymd(yesterday.0, yesterday.1, yesterday.2);
        params.not_after = rcgen::date_time_ymd(last.0, last.1, last.2);
        let key = KeyPair::generate().map_err(wrong)?;
        let leaf = params.signed_by(&key, &self.issuer).map_err(wrong)?;
        let chain = vec![leaf.der().clone(), self.certificate.clone()];
        Ok((chain, PrivateKeyDer::Pkcs8(key.serialize_der().into())))
    }
}

fn authority_params(now: Timestamp) -> Result<CertificateParams, TlsError> {
    let mut params = CertificateParams::new(Vec::new()).map_err(wrong)?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, SUBJECT);
    params.distinguished_name = subject;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let yesterday = day(now, -1);
    let last = day(now, CA_DAYS);
    params.not_before = rcgen::date_time_ymd(yesterday.0, yesterday.1, yesterday.2);
    params.not_after = rcgen::date_time_ymd(last.0, last.1, last.2);
    Ok(params)
}

fn make(
    directory: &Path,
    certificate_path: &Path,
    key_path: &Path,
    now: Timestamp,
) -> Result<(), TlsError> {
    let key = KeyPair::generate().map_err(wrong)?;
    let certificate = authority_params(now)?.self_signed(&key).map_err(wrong)?;
    std::fs::create_dir_all(directory)
        .map_err(|source| TlsError::File { path: directory.to_owned(), source })?;
    write_secret(key_path, key.serialize_pem().as_bytes())?;
    std::fs::write(certificate_path, certificate.pem())
        .map_err(|source| TlsError::File { path: certificate_path.to_owned(), source })
}

fn write_secret(path: &Path, octets: &[u8]) -> Result<(), TlsError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let write = options.open(path).and_then(|mut file| file.write_all(octets));
    write.map_err(|source| TlsError::File { path: path.to_owned(), source })
}

/// Year, month and day, so many days after `now`.
fn day(now: Timestamp, days: i64) -> (i32, u8, u8) {
    let then = now.checked_add(SignedDuration::from_hours(24 * days)).unwrap_or(now);
    let date = TimeZone::UTC.to_datetime(then).date();
    let month = u8::try_from(date.month()).unwrap_or(1);
    (i32::from(date.year()), month, u8::try_from(date.day()).unwrap_or(1))
}

fn wrong(error: rcgen::Error) -> TlsError {
    TlsError::Make(Box::new(error))
}
