//! Where gRPC calls go: to the interface that the agent's card names for them.
//!
//! A gRPC address has no path, so several interfaces of one agent share one address of Meddler's. Which
//! of them a call is for, only the call can tell: by its package, which is that of a version, and by the
//! tenant in its message.

use crate::a2a::binding::ProtocolVersion;
use crate::proxy::agent::{Agent, Upstream};
use crate::proxy::learned::GrpcInterface;

/// The interface for a call of this version and tenant: one that the card names for both, else one for
/// every tenant, else the first of the version, else the first.
pub(super) fn pick<'i>(
    interfaces: &'i [GrpcInterface],
    version: Option<ProtocolVersion>,
    tenant: &str,
) -> Option<&'i GrpcInterface> {
    let speaks = |interface: &&GrpcInterface| {
        version.is_none() || interface.version.is_none() || interface.version == version
    };
    let of_tenant = |tenant: &str| {
        interfaces.iter().filter(speaks).find(|interface| interface.tenant == tenant)
    };
    of_tenant(tenant)
        .or_else(|| of_tenant(""))
        .or_else(|| interfaces.iter().find(speaks))
        .or_else(|| interfaces.first())
}

/// Whether the tenant decides where calls of this version go.
pub(super) fn depends_on_tenant(
    interfaces: &[GrpcInterface],
    version: Option<ProtocolVersion>,
) -> bool {
    let to = |tenant: &str| pick(interfaces, version, tenant).map(|interface| &interface.to);
    let anybody = to("");
    interfaces.iter().any(|interface| to(&interface.tenant) != anybody)
}

/// The upstream for calls of this version and tenant: what the card names, else what is forwarded to.
pub(super) fn upstream(agent: &Agent, version: Option<ProtocolVersion>, tenant: &str) -> Upstream {
    match pick(&agent.learned.grpc(), version, tenant) {
        Some(interface) => agent.elsewhere(&interface.to),
        None => agent.forward.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::addr::{Authority, Scheme};
    use crate::net::dial::Destination;

    fn interface(version: Option<ProtocolVersion>, tenant: &str, port: u16) -> GrpcInterface {
        let authority = Authority::parse("a.test", port).unwrap();
        let to = Destination { scheme: Scheme::Http, authority };
        GrpcInterface { version, tenant: tenant.to_owned(), to }
    }

    #[test]
    fn a_call_goes_to_the_interface_of_its_version_and_tenant() {
        let (v0_3, v1_0) = (Some(ProtocolVersion::V0_3), Some(ProtocolVersion::V1_0));
        let all = [
            interface(v1_0, "acme", 1),
            interface(v1_0, "", 2),
            interface(v0_3, "", 3),
            interface(v1_0, "acme", 4),
            interface(None, "globex", 5),
        ];
        for (version, tenant, port) in [
            (v1_0, "acme", 1),
            (v1_0, "other", 2),
            (v1_0, "", 2),
            (v0_3, "acme", 3),
            (v0_3, "globex", 5),
            (None, "", 2),
        ] {
            let picked = pick(&all, version, tenant).unwrap();
            assert_eq!(picked.to.authority.port(), port, "{version:?} {tenant:?}");
        }
        assert!(depends_on_tenant(&all, v1_0));
        assert!(!depends_on_tenant(&all[1..3], v1_0), "one of each version");
        assert_eq!(pick(&all[2..3], v1_0, "").unwrap().to.authority.port(), 3, "better than none");
        assert_eq!(pick(&[], v1_0, ""), None);
    }
}
