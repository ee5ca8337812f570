//! What leads where: the addresses of an agent's card, for people who ask.

use std::sync::Arc;

use crate::proxy::Core;
use crate::proxy::agent::Agent;
use crate::proxy::lookup;
use crate::proxy::rewrite::card::Delivery;
use crate::proxy::rewrite::lead::{Addresses, Lead};

/// One address of an agent's card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Where it stands: `$.supportedInterfaces[0].url`.
    pub at: String,
    /// The binding named beside it, as written.
    pub binding: String,
    /// The version named beside it, as written; empty when none is.
    pub version: String,
    /// The tenant named beside it; empty when none is.
    pub tenant: String,
    /// As the agent wrote it.
    pub written: String,
    /// As orchestrators get it.
    pub delivered: String,
    /// Why calls to it do not come through Meddler; `None`: they do.
    pub bypass: Option<&'static str>,
}

/// The addresses of the card that was seen last, in its order; of one that is asked for now, when none
/// was seen.
pub(super) async fn interfaces(core: &Core, agent: &Arc<Agent>) -> Vec<Interface> {
    let delivery = Delivery {
        agent,
        agents: &core.agents,
        base: agent.own_base(),
        signer: core.signer.as_ref(),
    };
    if agent.learned.places().is_none() {
        lookup::look_at_card(&delivery, core.limits.card_bytes).await;
    }
    let Some(places) = agent.learned.places() else { return Vec::new() };
    let addresses = Addresses::of(&delivery, &places);
    let interface = |place: &crate::a2a::address::Place| {
        let (delivered, bypass) = match addresses.lead(place) {
            Lead::AsItIs => (place.url.clone(), None),
            Lead::Through(url) => (url, None),
            Lead::Around(why) => (place.url.clone(), Some(why)),
            Lead::Relative => {
                let why = "it is relative: where it leads depends on who reads it";
                (place.url.clone(), Some(why))
            }
        };
        Interface {
            at: place.at.clone(),
            binding: place.binding.clone(),
            version: place.version.clone(),
            tenant: place.tenant.clone(),
            written: place.url.clone(),
            delivered,
            bypass,
        }
    };
    places.iter().map(interface).collect()
}
