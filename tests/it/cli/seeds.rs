//! The suites of the tools that Meddler's users come from, as written there, over recordings of scripted
//! agents.

use super::agent::{ask, send};
use super::program::{Desk, Said};

const ORCHESTRATOR: &str = include_str!("../../../fixtures/suites/seeds/orchestrator.yaml");
const FORECAST: &str = include_str!("../../../fixtures/suites/seeds/forecast.yaml");

const AGENTS: &str = "version: 1
admin: { listen: '127.0.0.1:0' }
remote_agents:
  billing:
    listen: '127.0.0.1:0'
    skills: [refund]
    reply: 'I can help with refunds and invoices.'
    replies: [{ when: '(?i)refund', say: 'Refund of 42 euros issued, reference RF-889', data: { reference: RF-889 } }]
  shipping: { listen: '127.0.0.1:0', skills: [track], reply: 'ORD-1001 is with the carrier.' }
";

fn assert_suite(desk: &Desk, arguments: &[&str]) -> Said {
    let mut command = desk.command(arguments);
    command
        .env("A2A_AUTHORIZATION", "Bearer fake-0123456789")
        .env("SHIPPING_AGENT_TOKEN", "fake-9876543210");
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_refund_goes_to_billing_and_billing_is_down() {
    let desk = Desk::new();
    desk.write("suite.yaml", ORCHESTRATOR);
    desk.write("meddler.yaml", AGENTS);
    let daemon = desk.serve(&[]);
    send(daemon.port(0), "Please refund order ORD-1001");
    let one = ["assert", "suite.yaml", "--test", "refund goes to billing"];
    let said = assert_suite(&desk, &one).ended(0);
    for words in [
        "no judge is configured",
        "not driven: refund goes to billing: persona",
        "not driven: targets",
    ] {
        assert!(said.out.contains(words), "{}", said.out);
    }
    // Without a fault nothing degrades.
    let down = ["assert", "suite.yaml", "--test", "billing is down"];
    assert_suite(&desk, &down).ended(1);
    send(daemon.port(1), "Where is ORD-1001?");
    let said = assert_suite(&desk, &one).ended(1);
    assert!(said.out.contains("tool_not_called: shipping"), "{}", said.out);
    assert_eq!(daemon.stop(), 0);

    desk.write("meddler.yaml", &format!("{AGENTS}fuzz_tools: {{ billing: error }}\n"));
    let daemon = desk.serve(&[]);
    send(daemon.port(0), "Please refund order ORD-1001");
    let said = assert_suite(&desk, &down).ended(0);
    assert!(said.out.contains("pack graceful_degradation: where_seen"), "{}", said.out);
    for _ in 0..5 {
        send(daemon.port(0), "Please refund order ORD-1001");
    }
    let said = assert_suite(&desk, &down).ended(1);
    assert!(said.out.contains("at most 3 retries after a failure"), "{}", said.out);
}

#[test]
fn a_structured_forecast_is_held_against_what_was_said() {
    let desk = Desk::new();
    desk.write("suite.yaml", FORECAST);
    desk.write(
        "meddler.yaml",
        "version: 1
admin: { listen: '127.0.0.1:0' }
remote_agents:
  weather:
    listen: '127.0.0.1:0'
    skills: [forecast]
    replies:
      - { when: '^Return a structured forecast$', data: { city: Paris, temperature: 21, summary: Sunny, alerts: [], forecast: { date: tomorrow, conditions: dry } } }
      - { when: cold, data: { city: Paris, temperature: 3, summary: Snow, alerts: [], forecast: { date: tomorrow, conditions: dry } } }
",
    );
    let daemon = desk.serve(&[]);
    let port = daemon.port(0);
    ask(
        port,
        &format!(
            "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        ),
    );
    // Another message is another scenario's.
    send(port, "cold");
    assert_suite(&desk, &["assert", "suite.yaml", "--test", "structured forecast"]).ended(1);
    send(port, "Return a structured forecast");
    let said = assert_suite(&desk, &["assert", "suite.yaml"]).ended(0);
    assert!(said.out.contains("not driven: structured forecast: data"), "{}", said.out);
}
