//! Keys for detached signatures (JWS, RFC 7515): one of our own to sign with, key sets of others to
//! verify by.
//!
//! ring does the arithmetic. Our key is P-256 (`ES256`), made once and kept in one file; its name is its
//! thumbprint (RFC 7638), so that it stays the same wherever the file is copied to.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED, ED25519,
    EcdsaKeyPair, KeyPair, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
    VerificationAlgorithm,
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Octets of a coordinate on P-256.
const COORDINATE: usize = 32;

/// Our key.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    kid: String,
    jwks: String,
}

/// The public keys of somebody else.
#[derive(Clone, Debug, Default)]
pub struct KeySet {
    keys: Vec<PublicKey>,
}

/// What a signature is by a key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// One of its keys made it.
    Good,
    /// The key that it names, or every key that could have made it, did not.
    Bad,
    /// The set has no such key, or we do not know the algorithm.
    NoKey,
}

/// A key or a key set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file could not be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file holds no key that we can sign with.
    #[error(
        "{} holds no P-256 key in PKCS #8; `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` makes one",
        path.display()
    )]
    NoKey {
        /// Which.
        path: PathBuf,
    },
    /// A file holds no key set.
    #[error("{} is no key set (JWKS, RFC 7517)", path.display())]
    NoSet {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// The system has no randomness to make a key of.
    #[error("cannot make a key")]
    Make,
}

impl SigningKey {
    /// The algorithm that it signs with.
    pub const ALG: &'static str = "ES256";

    /// The key in this file; made there, readable by its owner only, when there is none.
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        let in_file = |source| KeyError::File { path: path.to_owned(), source };
        let pem = match std::fs::read(path) {
            Ok(pem) => pem,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match make(path)? {
                Made::Here(pem) => pem,
                Made::ByAnother => std::fs::read(path).map_err(in_file)?,
            },
            Err(error) => return Err(in_file(error)),
        };
        let unusable = || KeyError::NoKey { path: path.to_owned() };
        let der = PrivatePkcs8KeyDer::from_pem_slice(&pem).map_err(|_| unusable())?;
        Self::of_pkcs8(der.secret_pkcs8_der()).ok_or_else(unusable)
    }

    fn of_pkcs8(der: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random).ok()?;
        // An uncompressed point: 4, then both coordinates.
        let (_, point) = pair.public_key().as_ref().split_first()?;
        let (x, y) = point.split_at_checked(COORDINATE)?;
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        let members = format!(r#""crv":"P-256","kty":"EC","x":"{x}","y":"{y}""#);
        let kid = URL_SAFE_NO_PAD.encode(Sha256::digest(format!("{{{members}}}")));
        let alg = Self::ALG;
        let jwks = format!(r#"{{"keys":[{{{members},"kid":"{kid}","use":"sig","alg":"{alg}"}}]}}"#);
        Some(Self { pair, kid, jwks })
    }

    /// Its name.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The set of its public half alone, as it is served.
    pub fn jwks(&self) -> &str {
        &self.jwks
    }

    /// Signs. `None` when the system has no randomness.
    pub fn sign(&self, octets: &[u8]) -> Option<Vec<u8>> {
        let signature = self.pair.sign(&SystemRandom::new(), octets).ok()?;
        Some(signature.as_ref().to_vec())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}

enum Made {
    Here(Vec<u8>),
    /// Another process was quicker.
    ByAnother,
}

/// Makes a key in a file beside, then gives it its name: a reader never sees half a key, and of two
/// makers the first wins.
fn make(path: &Path) -> Result<Made, KeyError> {
    let in_file = |path: &Path, source| KeyError::File { path: path.to_owned(), source };
    let document =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .map_err(|_| KeyError::Make)?;
    let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
    let encoded = STANDARD.encode(document.as_ref());
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(64).unwrap_or((rest, ""));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem.push_str("-----END PRIVATE KEY-----\n");
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(|source| in_file(directory, source))?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options.open(&part).and_then(|mut file| {
        file.write_all(pem.as_bytes())?;
        file.sync_all()
    });
    // A link, unlike a rename, does not replace what another has put there.
    let linked = written.and_then(|()| std::fs::hard_link(&part, path));
    // Whatever became of it, the name of the part is of no more use.
    drop(std::fs::remove_file(&part));
    match linked {
        Ok(()) => Ok(Made::Here(pem.into_bytes())),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(Made::ByAnother),
        Err(error) => Err(in_file(path, error)),
    }
}

#[derive(Clone, Debug)]
struct PublicKey {
    kid: Option<String>,
    alg: Option<String>,
    material: Material,
}

#[derive(Clone, Debug)]
enum Material {
    /// A point or a raw public key, and its curve.
    Curve(String, Vec<u8>),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

/// A key set as it is written. Members that are of no concern are passed over, as RFC 7517 asks.
#[derive(Deserialize)]
struct WrittenSet {
    keys: Vec<WrittenKey>,
}

#[derive(Deserialize)]
struct WrittenKey {
    #[serde(default)]
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

/// How a signature is verified.
enum Method {
    Curve { name: &'static str, by: &'static dyn VerificationAlgorithm },
    Rsa(&'static RsaParameters),
}

/// The algorithms of RFC 7518 and 8037 that have a public key and that ring has. `none` and the shared
/// secrets are not among them.
#[rustfmt::skip]
const METHODS: &[(&str, Method)] = &[
    ("ES256", Method::Curve { name: "P-256", by: &ECDSA_P256_SHA256_FIXED }),
    ("ES384", Method::Curve { name: "P-384", by: &ECDSA_P384_SHA384_FIXED }),
    ("EdDSA", Method::Curve { name: "Ed25519", by: &ED25519 }),
    ("Ed25519", Method::Curve { name: "Ed25519", by: &ED25519 }),
    ("RS256", Method::Rsa(&RSA_PKCS1_2048_8192_SHA256)),
    ("RS384", Method::Rsa(&RSA_PKCS1_2048_8192_SHA384)),
    ("RS512", Method::Rsa(&RSA_PKCS1_2048_8192_SHA512)),
    ("PS256", Method::Rsa(&RSA_PSS_2048_8192_SHA256)),
    ("PS384", Method::Rsa(&RSA_PSS_2048_8192_SHA384)),
    ("PS512", Method::Rsa(&RSA_PSS_2048_8192_SHA512)),
];

impl KeySet {
    /// The set in a file.
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        let text = std::fs::read(path)
            .map_err(|source| KeyError::File { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|source| KeyError::NoSet { path: path.to_owned(), source })
    }

    /// Reads a set. Keys that we cannot use are passed over.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let set: WrittenSet = serde_json::from_slice(text)?;
        Ok(Self { keys: set.keys.into_iter().filter_map(PublicKey::of).collect() })
    }

    /// Whether it has a key of this name.
    pub fn knows(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid.as_deref() == Some(kid))
    }

    /// Verifies a signature over any of these texts by the key of this name, or without a name by any
    /// key that fits the algorithm.
    pub fn check(
        &self,
        alg: &str,
        kid: Option<&str>,
        inputs: &[String],
        signature: &[u8],
    ) -> Checked {
        let Some((_, method)) = METHODS.iter().find(|row| row.0 == alg) else {
            return Checked::NoKey;
        };
        let is_meant = |key: &&PublicKey| {
            (kid.is_none() || key.kid.as_deref() == kid)
                && key.alg.as_deref().is_none_or(|own| own == alg)
                && key.fits(method)
        };
        let mut checked = Checked::NoKey;
        for key in self.keys.iter().filter(is_meant) {
            if inputs.iter().any(|input| key.made(method, input.as_bytes(), signature)) {
                return Checked::Good;
            }
            checked = Checked::Bad;
        }
        checked
    }
}

impl PublicKey {
    fn of(written: WrittenKey) -> Option<Self> {
        if written.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let octets = |text: Option<String>| {
            URL_SAFE_NO_PAD.decode(text?.trim_end_matches('=')).ok().filter(|all| !all.is_empty())
        };
        let material = match written.kty.as_str() {
            "EC" => {
                let point = [vec![4], octets(written.x)?, octets(written.y)?].concat();
                Material::Curve(written.crv?, point)
            }
            "OKP" => Material::Curve(written.crv?, octets(written.x)?),
            "RSA" => Material::Rsa { n: octets(written.n)?, e: octets(written.e)? },
            _ => return None,
        };
        Some(Self { kid: written.kid, alg: written.alg, material })
    }

    fn fits(&self, method: &Method) -> bool {
        match (&self.material, method) {
            (Material::Curve(curve, _), Method::Curve { name, .. }) => curve == name,
            (Material::Rsa { .. }, Method::Rsa(_)) => true,
            (Material::Curve(..), Method::Rsa(_))
            | (Material::Rsa { .. }, Method::Curve { .. }) => false,
        }
    }

    fn made(&self, method: &Method, input: &[u8], signature: &[u8]) -> bool {
        match (&self.material, method) {
            (Material::Curve(_, key), Method::Curve { by, .. }) => {
                UnparsedPublicKey::new(*by, key).verify(input, signature).is_ok()
            }
            (Material::Rsa { n, e }, Method::Rsa(by)) => {
                RsaPublicKeyComponents { n, e }.verify(by, input, signature).is_ok()
            }
            (Material::Curve(..), Method::Rsa(_))
            | (Material::Rsa { .. }, Method::Curve { .. }) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_key_signs_is_good_by_its_own_set_and_by_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys/card.pem");
        let key = SigningKey::open(&path).unwrap();
        let again = SigningKey::open(&path).unwrap();
        assert_eq!((key.kid(), key.jwks()), (again.kid(), again.jwks()), "it is kept");
        let other = SigningKey::open(&directory.path().join("other.pem")).unwrap();
        let set = KeySet::parse(key.jwks().as_bytes()).unwrap();
        assert!(set.knows(key.kid()) && !set.knows(other.kid()));
        let signature = again.sign(b"said").unwrap();
        let check = |set: &KeySet, alg: &str, kid, input: &str| {
            set.check(alg, kid, &["else".to_owned(), input.to_owned()], &signature)
        };
        assert_eq!(check(&set, "ES256", Some(key.kid()), "said"), Checked::Good);
        assert_eq!(check(&set, "ES256", None, "said"), Checked::Good);
        assert_eq!(check(&set, "ES256", None, "sad"), Checked::Bad);
        assert_eq!(check(&set, "ES256", Some("k1"), "said"), Checked::NoKey);
        for alg in ["none", "HS256", "ES384", "RS256", "EdDSA", ""] {
            assert_eq!(check(&set, alg, None, "said"), Checked::NoKey, "{alg}");
        }
        let others = KeySet::parse(other.jwks().as_bytes()).unwrap();
        assert_eq!(check(&others, "ES256", None, "said"), Checked::Bad);
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_a_key_that_was_made() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("card.pem");
        SigningKey::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn a_key_that_is_none_is_refused_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("card.pem");
        std::fs::write(&path, "no key").unwrap();
        let error = SigningKey::open(&path).unwrap_err().to_string();
        assert!(error.contains("holds no P-256 key in PKCS #8; `openssl genpkey"), "{error}");
        let error = KeySet::open(&path).unwrap_err().to_string();
        assert!(error.ends_with("is no key set (JWKS, RFC 7517)"), "{error}");
    }

    /// The example of RFC 7515, appendix A.3 (ES256), and of RFC 8037, appendix A.4 (Ed25519).
    #[test]
    fn signatures_of_the_rfcs_are_good() {
        let set = KeySet::parse(
            br#"{"keys":[
              {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
              {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"ed"},
              {"kty":"oct","k":"AAAA"},{"kty":"EC"}]}"#,
        )
        .unwrap();
        for (alg, kid, input, signature) in [
            (
                "ES256",
                None,
                "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
            ),
            (
                "EdDSA",
                Some("ed"),
                "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
            ),
        ] {
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            let checked = set.check(alg, kid, &[input.to_owned()], &signature);
            assert_eq!(checked, Checked::Good, "{alg}");
        }
    }
}
