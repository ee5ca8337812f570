//! Webhooks and what is delivered to them.

use super::super::Level::{Must, Should};
use super::super::seen::Seen;
use super::super::{Flaws, Rule, rule};
use crate::a2a::model::Request;

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("push-task", Must, ("4.3.3", "9.5"), "a delivery names its task", task),
    rule("push-token", Must, ("4.3.3", "9.5"), "a delivery shows the token it was registered with", token),
    rule("push-url", Should, ("4.3.1, 13", "6.8"), "a webhook is an absolute http or https address", url),
];

fn task(seen: &Seen<'_>, flaws: &mut Flaws) {
    if let Some(Request::PushNotification(event)) = &seen.call.request
        && event.task_id().unwrap_or_default().is_empty()
    {
        flaws.push(("request".to_owned(), "the delivery names no task".to_owned()));
    }
}

fn token(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(Request::PushNotification(event)) = &seen.call.request else { return };
    let Some(known) = event.task_id().and_then(|task| seen.known(task)) else { return };
    let shown = ["x-a2a-notification-token", "authorization"];
    if known.push_token && shown.iter().all(|name| seen.asked_header(name).is_none()) {
        let text = "a token was registered and none is shown".to_owned();
        flaws.push(("request header".to_owned(), text));
    }
}

fn url(seen: &Seen<'_>, flaws: &mut Flaws) {
    let by_send = seen.sent().and_then(|send| send.configuration.as_ref());
    let config = match &seen.call.request {
        Some(Request::CreatePushConfig(config)) => Some(config),
        Some(_) | None => by_send.and_then(|configuration| configuration.push.as_ref()),
    };
    if let Some(config) = config
        && !config.url.starts_with("https://")
        && !config.url.starts_with("http://")
    {
        flaws.push(("request webhook".to_owned(), "no absolute http or https address".into()));
    }
}
