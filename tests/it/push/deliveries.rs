//! What the webhook gets, what the agent is answered, and what of it is recorded.

use meddler::record::exchange::{Exchange, FaultVerdict, Outcome};

use super::{Bench, V1_0, answer, path_in, post, read_message};
use crate::support::raw::within;

const TASK: &str =
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

fn names(exchange: &Exchange) -> Vec<&str> {
    exchange.problems.iter().map(|problem| problem.name.as_str()).collect()
}

fn hmacs<'e>(exchange: &'e Exchange, kind: &str) -> Vec<&'e str> {
    let of_kind = exchange.redactions.iter().filter(|redaction| redaction.kind == kind);
    of_kind.map(|redaction| redaction.hmac.as_str()).collect()
}

/// PUSH-02
#[tokio::test]
async fn token_and_credentials_pass_as_they_are_and_are_compared_without_being_kept() {
    let bench = Bench::new().await;
    let config = format!(
        r#"{{"url":"{}","token":"tok-7f3a-99","authentication":{{"schemes":["Bearer"],"credentials":"cred-91bb-00"}}}}"#,
        bench.url()
    );
    let path = bench.register(&config).await;
    let token = "X-A2A-Notification-Token: tok-7f3a-99\r\n";
    let both = format!("{token}Authorization: Bearer cred-91bb-00\r\n");
    let wrong = "X-A2A-Notification-Token: tok-0000-00\r\n";
    let mut connection = None;
    for fields in [token, &both, "", wrong] {
        let mut agent = bench.deliver(&path, fields, TASK).await;
        // One connection carries them all.
        let webhook = match &mut connection {
            Some(webhook) => webhook,
            none => none.insert(bench.webhook.accept().await),
        };
        let (head, body) = read_message(webhook).await;
        let expected = format!(
            "POST /hook?k=s3cret-abc HTTP/1.1\r\nHost: {}\r\nX-First: 1\r\n{fields}Content-Length: {}\r\n\r\n",
            bench.webhook.addr,
            TASK.len()
        );
        assert_eq!((head, body.as_str()), (expected, TASK), "nothing is added");
        webhook.write(OK).await;
        read_message(&mut agent).await;
    }
    let exchanges = bench.exchanges(5).await;
    let problems: Vec<_> = exchanges[1..].iter().map(|exchange| names(exchange)).collect();
    assert_eq!(problems, [&[][..], &[], &["push_token_missing"], &["push_token_wrong"]]);
    // Equal secrets are seen to be equal.
    let registered = hmacs(&exchanges[0], "push_token")[0];
    assert_eq!(hmacs(&exchanges[1], "push_token"), [registered]);
    assert_ne!(hmacs(&exchanges[4], "push_token"), [registered]);
    bench.keeps_none_of(&["tok-7f3a-99", "cred-91bb-00", "tok-0000-00", "s3cret-abc"]);
}

#[tokio::test]
async fn a_delivery_belongs_to_the_delegation_that_registered_it() {
    let bench = Bench::new().await;
    let mut client = bench.client().await;
    let send = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"text":"hi"}}]}},"configuration":{{"taskPushNotificationConfig":{{"url":"{}"}}}}}}}}"#,
        bench.url()
    );
    client.write(post("/", V1_0, &send)).await;
    let mut upstream = bench.agent.accept().await;
    let path = path_in(&read_message(&mut upstream).await.1);
    let task = r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}}"#;
    upstream.write(answer("application/json", task)).await;
    assert_eq!(read_message(&mut client).await.1, task);
    // One by its task, one that says nothing, and one of 0.3 from an agent that speaks both.
    let v0_3 = r#"{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"}}"#;
    for body in [TASK, "not even JSON", v0_3] {
        let mut agent = bench.deliver(&path, "", body).await;
        let mut webhook = bench.webhook.accept().await;
        assert_eq!(read_message(&mut webhook).await.1, body);
        webhook.write(OK).await;
        read_message(&mut agent).await;
    }
    drop((client, upstream));
    let exchanges = bench.exchanges(4).await;
    let delegations = bench.recording().delegations(&meddler::record::query::Filter::default());
    let [delegation] = delegations.as_slice() else { panic!("{delegations:#?}") };
    let ids: Vec<_> = exchanges.iter().map(|exchange| exchange.id).collect();
    assert_eq!(delegation.exchanges, ids);
    assert_eq!(delegation.outcome, Outcome::Completed);
    assert_eq!(delegation.states, ["working", "completed"]);
}

#[tokio::test]
async fn method_query_and_status_pass() {
    let bench = Bench::new().await;
    let path = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    let mut agent = bench.client().await;
    agent.write(format!("GET {path}?validationToken=a%20b HTTP/1.1\r\nHost: p\r\n\r\n")).await;
    let mut webhook = bench.webhook.accept().await;
    let head = webhook.read_head().await;
    assert!(
        head.starts_with("GET /hook?k=s3cret-abc&validationToken=a%20b HTTP/1.1\r\n"),
        "{head}"
    );
    let back =
        "HTTP/1.1 503 Later\r\nRetry-After: 5\r\nSet-Cookie: a=1\r\nContent-Length: 4\r\n\r\nbusy";
    webhook.write(back).await;
    let (head, body) = read_message(&mut agent).await;
    assert_eq!(format!("{head}{body}"), back);
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_said_to_be_unreachable() {
    let bench = Bench::new().await;
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let path = bench.register(&format!(r#"{{"url":"http://{gone}/hook"}}"#)).await;
    let mut agent = bench.deliver(&path, "", TASK).await;
    let (head, body) = read_message(&mut agent).await;
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    assert!(head.contains("meddler-error: connect_refused\r\n"), "{head}");
    assert!(body.contains(&gone.to_string()), "{body}");
    drop(agent);
    let exchanges = bench.exchanges(2).await;
    assert_eq!(exchanges[1].outcome, Outcome::UpstreamError);
    assert_eq!(exchanges[1].ids.task_id.as_deref(), Some("t1"), "it was heard all the same");
}

#[tokio::test]
async fn the_agents_own_credentials_are_not_sent_to_a_webhook() {
    let bench =
        Bench::with("rewrite", ", headers: { Authorization: Bearer agents-own }", "[]").await;
    // Even where both are one host and port.
    let config = format!(r#"{{"url":"http://{}/hook"}}"#, bench.agent.addr);
    let path = bench.register(&config).await;
    let _agent = bench.deliver(&path, "Authorization: Bearer cred\r\n", TASK).await;
    let mut webhook = bench.agent.accept().await;
    let (head, _) = read_message(&mut webhook).await;
    assert!(
        head.contains("Authorization: Bearer cred\r\n") && !head.contains("agents-own"),
        "{head}"
    );
}

#[tokio::test]
async fn credentials_in_a_webhooks_address_stay_in_the_one_that_is_given() {
    let bench = Bench::new().await;
    let mut client = bench.client().await;
    let url = format!("http://user:pass-word@{}/hook", bench.webhook.addr);
    let config = format!(r#"{{"url":"{url}"}}"#);
    client.write(post("/tasks/t1/pushNotificationConfigs", V1_0, &config)).await;
    let mut upstream = bench.agent.accept().await;
    let (_, body) = read_message(&mut upstream).await;
    assert!(body.contains("\"http://user:pass-word@proxy.test:8100/.meddler/push/"), "{body}");
    upstream.write(answer("application/json", &body)).await;
    assert_eq!(read_message(&mut client).await.1, config);
}

#[tokio::test]
async fn rules_see_deliveries_that_are_named() {
    let faults = "[{ name: late, when: { operation: PushNotification, header: { x-a2a-notification-token: .+ } }, inject: { error: { status: 503 } } }, \
                   { name: sends, inject: { error: failed } }]";
    let bench = Bench::with("rewrite", "", faults).await;
    let path = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    let mut agent = bench.deliver(&path, "X-A2A-Notification-Token: some-token\r\n", TASK).await;
    let (head, _) = read_message(&mut agent).await;
    assert!(
        head.starts_with("HTTP/1.1 503 ") && head.contains("meddler-fault: late\r\n"),
        "{head}"
    );
    assert!(bench.webhook.is_left_alone());
    let mut other = bench.deliver(&path, "", TASK).await;
    let mut webhook = bench.webhook.accept().await;
    read_message(&mut webhook).await;
    webhook.write(OK).await;
    read_message(&mut other).await;
    drop((agent, other));
    let exchanges = bench.exchanges(3).await;
    let fault = &exchanges[1].faults[0];
    assert_eq!((fault.rule.as_str(), fault.verdict), ("late", FaultVerdict::Fired));
    assert!(exchanges[2].faults.is_empty(), "{:?}", exchanges[2].faults);
}

#[tokio::test]
async fn an_agent_that_leaves_is_left_by_the_webhook() {
    let bench = Bench::new().await;
    let path = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    let agent = bench.deliver(&path, "", TASK).await;
    let mut webhook = bench.webhook.accept().await;
    read_message(&mut webhook).await;
    agent.reset();
    within("the webhook's connection to end", webhook.read_to_end()).await;
    let exchanges = bench.exchanges(2).await;
    assert_eq!(exchanges[1].outcome, Outcome::CutByClient);
}
