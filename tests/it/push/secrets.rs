//! What read-backs repeat is as secret as what was registered.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use meddler::record::exchange::Exchange;

use super::{Bench, V0_3, V1_0, answer, post, read_message};

const TOKEN: &str = "tok-7f3a-99";
const CREDENTIALS: &str = "cred-91bb-00";

fn config(url: &str) -> String {
    format!(
        r#"{{"url":"{url}","token":"{TOKEN}","authentication":{{"scheme":"Bearer","credentials":"{CREDENTIALS}"}}}}"#
    )
}

fn hmacs(exchange: &Exchange, place: &str) -> Vec<String> {
    let of_place = exchange.redactions.iter().filter(|redaction| redaction.place == place);
    let mut hmacs: Vec<_> = of_place
        .filter(|redaction| matches!(redaction.kind.as_str(), "push_token" | "credentials"))
        .map(|redaction| redaction.hmac.clone())
        .collect();
    hmacs.sort();
    hmacs
}

/// PUSH-03
#[tokio::test]
async fn secrets_of_configs_that_are_read_back_are_not_kept() {
    let bench = Bench::new().await;
    let path = bench.register(&config(&bench.url())).await;
    let shown = config(&format!("http://proxy.test:8100{path}"));
    let rpc = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    let ask = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"id":"t1"}}}}"#)
    };
    let task = format!(
        r#"{{"kind":"task","id":"t1","contextId":"c","status":{{"state":"working"}},"metadata":{{"config":{shown}}}}}"#
    );
    let cases = [
        (V1_0, ask("GetTaskPushNotificationConfig"), rpc(&shown)),
        (V1_0, ask("ListTaskPushNotificationConfigs"), rpc(&format!(r#"{{"configs":[{shown}]}}"#))),
        (
            V0_3,
            ask("tasks/pushNotificationConfig/get"),
            rpc(&format!(r#"{{"taskId":"t1","pushNotificationConfig":{shown}}}"#)),
        ),
        (
            V0_3,
            format!("[{}]", ask("tasks/pushNotificationConfig/get")),
            format!("[{}]", rpc(&shown)),
        ),
        (V0_3, ask("tasks/get"), rpc(&task)),
    ];
    for (fields, request, reply) in &cases {
        for is_packed in [false, true] {
            let mut client = bench.client().await;
            client.write(post("/", fields, request)).await;
            let mut upstream = bench.agent.accept().await;
            read_message(&mut upstream).await;
            if is_packed {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(reply.as_bytes()).unwrap();
                let packed = encoder.finish().unwrap();
                let coding = format!("Content-Encoding: gzip\r\nContent-Length: {}", packed.len());
                let head = answer("application/json", "").replace("Content-Length: 0", &coding);
                upstream.write([head.as_bytes(), &packed].concat()).await;
            } else {
                upstream.write(answer("application/json", reply)).await;
            }
            let (_, body) = read_message(&mut client).await;
            assert_eq!(body, reply.replace(&shown, &config(&bench.url())), "{request}");
        }
    }
    let exchanges = bench.exchanges(1 + 2 * cases.len()).await;
    let registered = hmacs(&exchanges[0], "request.body");
    assert_eq!(registered.len(), 2);
    for exchange in &exchanges[1..] {
        for place in ["response.body", "delivered.body"] {
            assert_eq!(
                hmacs(exchange, place),
                registered,
                "equal secrets are seen to be equal: {exchange:#?}"
            );
        }
    }
    bench.keeps_none_of(&[TOKEN, CREDENTIALS, "s3cret-abc", path.rsplit('/').next().unwrap()]);
}
