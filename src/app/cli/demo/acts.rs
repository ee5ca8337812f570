//! What the demo's orchestrator does: reads the agents' cards and follows them, as any orchestrator.

use std::collections::BTreeMap;

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::{
    AgentCard, AgentInterface, Message, Operation, Part, Request, Role, SendMessage,
};
use crate::admin::DaemonInfo;
use crate::app::failure::{Explain, Failure};
use crate::peer::orchestrator::Orchestrator;

/// One delegation of the demo.
pub(super) struct Act {
    pub(super) agent: &'static str,
    pub(super) binding: Binding,
    pub(super) version: ProtocolVersion,
    operation: Operation,
    message_id: &'static str,
    pub(super) says: &'static str,
}

/// In this order, each after the one before has been answered. The fourth is the third again, under the
/// same message id: what an orchestrator does when an agent fails.
const ACTS: &[Act] = &[
    Act {
        agent: "billing",
        binding: Binding::JsonRpc,
        version: ProtocolVersion::V1_0,
        operation: Operation::SendMessage,
        message_id: "refund-1001",
        says: "Please refund order ORD-1001.",
    },
    Act {
        agent: "shipping",
        binding: Binding::HttpJson,
        version: ProtocolVersion::V1_0,
        operation: Operation::SendStreamingMessage,
        message_id: "where-1001",
        says: "Where is ORD-1001?",
    },
    Act {
        agent: "billing",
        binding: Binding::Grpc,
        version: ProtocolVersion::V1_0,
        operation: Operation::SendMessage,
        message_id: "refund-1002",
        says: "Please refund order ORD-1002.",
    },
    Act {
        agent: "billing",
        binding: Binding::Grpc,
        version: ProtocolVersion::V1_0,
        operation: Operation::SendMessage,
        message_id: "refund-1002",
        says: "Please refund order ORD-1002.",
    },
    Act {
        agent: "shipping",
        binding: Binding::JsonRpc,
        version: ProtocolVersion::V0_3,
        operation: Operation::SendMessage,
        message_id: "lost",
        says: "My parcel is lost.",
    },
];

/// Does all of it; gives what was done.
pub(super) async fn perform(
    orchestrator: &Orchestrator,
    daemon: &DaemonInfo,
) -> Result<Vec<Act>, Failure> {
    let mut cards = BTreeMap::new();
    for agent in &daemon.agents {
        let card = orchestrator.card(&agent.url).await;
        cards.insert(
            agent.name.as_str(),
            card.doing(|| format!("cannot read the card of {}", agent.name))?,
        );
    }
    // A message id is used once: were those of every run the same, all but the first would be retries.
    let run = daemon.session.trim_start_matches("run-");
    let mut done = Vec::new();
    for act in ACTS {
        let interface = cards.get(act.agent).and_then(|card| interface(card, act));
        let interface = interface.ok_or_else(|| {
            Failure::new(format!("the card of {} has no {}", act.agent, act.binding))
        })?;
        let message = Message {
            message_id: format!("{}-{run}", act.message_id),
            role: Role::User,
            parts: vec![Part::text(act.says)],
            ..Message::default()
        };
        let request = Request::SendMessage(SendMessage { message, ..SendMessage::default() });
        orchestrator
            .call(interface, act.operation, &request)
            .await
            .doing(|| format!("cannot delegate to {}", act.agent))?;
        done.push(Act { ..*act });
    }
    Ok(done)
}

/// The address that a card names for the act's binding and version.
fn interface<'a>(card: &'a AgentCard, act: &Act) -> Option<&'a AgentInterface> {
    card.interfaces.iter().find(|interface| {
        Binding::parse(&interface.protocol_binding) == Some(act.binding)
            && ProtocolVersion::parse(&interface.protocol_version) == Some(act.version)
    })
}
