//! What the configuration says about push notifications.

use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::net::addr::Authority;
use crate::net::tls::ClientTlsConfig;

/// What becomes of the webhooks that orchestrators register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PushMode {
    /// They become addresses of Meddler's own: deliveries come through it.
    #[default]
    Rewrite,
    /// They pass as they are: deliveries go past Meddler.
    Pass,
}

/// The section `push:`: a [`PushMode`] alone, or a map.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub struct PushConfig {
    /// What becomes of webhooks, where an agent's own `push:` does not say.
    pub mode: PushMode,
    /// Where deliveries may go; empty: to every host that is not denied.
    pub allow: Vec<Hosts>,
    /// Where they never go. Link-local addresses by default: there the metadata services of clouds
    /// answer, which only Meddler's own machine should reach.
    pub deny: Vec<Hosts>,
    /// TLS towards webhooks.
    pub tls: ClientTlsConfig,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Mode(PushMode),
    Section(Section),
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    mode: PushMode,
    allow: Vec<Hosts>,
    deny: Vec<Hosts>,
    tls: ClientTlsConfig,
}

/// Hosts by name (`*.example.com` for all below it) or addresses by number (`10.0.0.0/8`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// One name.
    Name(String),
    /// The names below one.
    Below(String),
    /// Addresses whose first bits are these.
    Net(IpAddr, u32),
}

impl Default for Section {
    fn default() -> Self {
        let link_local = ["169.254.0.0/16", "fe80::/10"];
        Self {
            mode: PushMode::default(),
            allow: Vec::new(),
            deny: link_local.iter().filter_map(|text| text.parse().ok()).collect(),
            tls: ClientTlsConfig::default(),
        }
    }
}

impl From<Written> for PushConfig {
    fn from(written: Written) -> Self {
        let Section { mode, allow, deny, tls } = match written {
            Written::Mode(mode) => Section { mode, ..Section::default() },
            Written::Section(section) => section,
        };
        Self { mode, allow, deny, tls }
    }
}

impl Default for PushConfig {
    fn default() -> Self {
        Written::Mode(PushMode::default()).into()
    }
}

impl PushConfig {
    /// Whether deliveries to this host are allowed, as far as it tells before it is resolved.
    pub fn may_name(&self, host: &Authority) -> bool {
        match host.ip() {
            Some(ip) => self.may_dial(&host.host(), ip),
            None => {
                !covers(&self.deny, &host.host(), None)
                    && (self.allow.is_empty()
                        || covers(&self.allow, &host.host(), None)
                        || self.allow.iter().any(Hosts::is_net))
            }
        }
    }

    /// Whether deliveries to this host at this address are.
    pub fn may_dial(&self, host: &str, ip: IpAddr) -> bool {
        let ip = Some(ip.to_canonical());
        !covers(&self.deny, host, ip) && (self.allow.is_empty() || covers(&self.allow, host, ip))
    }
}

fn covers(hosts: &[Hosts], host: &str, ip: Option<IpAddr>) -> bool {
    hosts.iter().any(|hosts| hosts.covers(host, ip))
}

impl Hosts {
    const fn is_net(&self) -> bool {
        matches!(self, Self::Net(..))
    }

    fn covers(&self, host: &str, ip: Option<IpAddr>) -> bool {
        match self {
            Self::Name(name) => name == host,
            Self::Below(name) => host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.')),
            Self::Net(net, bits) => match (net, ip) {
                (IpAddr::V4(net), Some(IpAddr::V4(ip))) => {
                    has_prefix(net.to_bits().into(), ip.to_bits().into(), 32 - *bits)
                }
                (IpAddr::V6(net), Some(IpAddr::V6(ip))) => {
                    has_prefix(net.to_bits(), ip.to_bits(), 128 - *bits)
                }
                (IpAddr::V4(_) | IpAddr::V6(_), _) => false,
            },
        }
    }
}

/// Whether two addresses differ in their last bits only.
fn has_prefix(net: u128, ip: u128, last: u32) -> bool {
    let drop = |bits: u128| bits.checked_shr(last).unwrap_or(0);
    drop(net) == drop(ip)
}

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` names no hosts; write `hooks.example.com`, `*.example.com` or `10.0.0.0/8`"
            )
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        if let Ok(ip) = address.parse::<IpAddr>() {
            let most = if ip.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
            return if bits <= most { Ok(Self::Net(ip, bits)) } else { Err(wrong()) };
        }
        let (name, is_below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let host = Authority::parse(name, 0).filter(|host| host.port() == 0 && host.ip().is_none());
        let name = host.ok_or_else(wrong)?.host();
        Ok(if is_below { Self::Below(name) } else { Self::Name(name) })
    }
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(config: &str, host: &str, expected: bool) {
        let config: PushConfig = serde_saphyr::from_str(config).unwrap();
        let host = Authority::parse(host, 80).unwrap();
        assert_eq!(config.may_name(&host), expected, "{host} by {config:?}");
    }

    #[test]
    fn link_local_addresses_are_denied_unless_the_configuration_says_otherwise() {
        for host in ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.1.1]"] {
            check("rewrite", host, false);
            check("{ deny: [] }", host, true);
        }
        check("rewrite", "127.0.0.1:4555", true);
        check("{ mode: rewrite }", "client.test", true);
    }

    #[test]
    fn hosts_are_allowed_and_denied_by_name_and_by_address() {
        let allow = "{ allow: ['*.client.test', 10.1.0.0/16], deny: [evil.client.test] }";
        for (host, expected) in [
            ("a.client.test", true),
            ("evil.client.test", false),
            ("10.1.2.3", true),
            ("10.2.2.3", false),
            ("[::ffff:10.1.2.3]", true),
        ] {
            check(allow, host, expected);
        }
        check("{ allow: ['*.client.test'] }", "client.test", false);
        check("{ allow: ['*.client.test'] }", "aclient.test", false);
        let config: PushConfig = serde_saphyr::from_str(allow).unwrap();
        assert!(config.may_dial("other.test", "10.1.0.1".parse().unwrap()), "it resolves to one");
        assert!(!config.may_dial("other.test", "10.3.0.1".parse().unwrap()));
        assert!(!config.may_dial("evil.client.test", "10.1.0.1".parse().unwrap()));
    }

    #[test]
    fn what_names_no_hosts_is_refused() {
        for text in
            ["", "*", "10.0.0.0/33", "::/129", "a b", "http://a", "a:80", "*.", "10.0.0.0/x"]
        {
            assert!(text.parse::<Hosts>().is_err(), "{text}");
        }
        let error = serde_saphyr::from_str::<PushConfig>("{ allow: ['a b'] }").unwrap_err();
        assert!(error.to_string().contains("push") || !error.to_string().is_empty());
    }
}
