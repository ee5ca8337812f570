//! Which of the peers' ids a request and its answer name.

use crate::a2a::call::{Answer, Ids};
use crate::a2a::model::{Reply, Request, StreamResponse};

/// Takes ids where none are known yet. Empty ones are none.
pub(crate) fn fill(ids: &mut Ids, task_id: Option<&str>, context_id: Option<&str>) {
    take(&mut ids.task_id, task_id);
    take(&mut ids.context_id, context_id);
}

/// Takes one id, if none is known yet and this is one.
pub(crate) fn take(known: &mut Option<String>, id: Option<&str>) {
    if known.is_none() {
        *known = id.filter(|id| !id.is_empty()).map(str::to_owned);
    }
}

/// The ids that a request names.
pub(crate) fn of_request(ids: &mut Ids, request: &Request) {
    match request {
        Request::SendMessage(send) => {
            let message = &send.message;
            take(&mut ids.message_id, Some(&message.message_id));
            fill(ids, message.task_id.as_deref(), message.context_id.as_deref());
        }
        Request::GetTask { id, .. }
        | Request::CancelTask { id, .. }
        | Request::SubscribeToTask { id } => {
            fill(ids, Some(id), None);
        }
        Request::ListTasks(list) => fill(ids, None, list.context_id.as_deref()),
        Request::CreatePushConfig(config) => {
            fill(ids, config.task_id.as_deref(), None);
            take(&mut ids.config_id, config.id.as_deref());
        }
        Request::GetPushConfig { task_id, id } => {
            fill(ids, Some(task_id), None);
            take(&mut ids.config_id, id.as_deref());
        }
        Request::ListPushConfigs { task_id, .. } => fill(ids, Some(task_id), None),
        Request::DeletePushConfig { task_id, id } => {
            fill(ids, Some(task_id), None);
            take(&mut ids.config_id, Some(id));
        }
        Request::Card => {}
        Request::PushNotification(event) => of_event(ids, event),
    }
}

/// The ids that an event names.
pub(crate) fn of_event(ids: &mut Ids, event: &StreamResponse) {
    fill(ids, event.task_id(), event.context_id());
}

/// Puts a single answer in its place: its ids, and its error if it is one.
pub(crate) fn put(answer: &mut Answer, reply: Reply) {
    match &reply {
        Reply::Task(task) => fill(&mut answer.ids, Some(&task.id), task.context_id.as_deref()),
        Reply::Message(message) => {
            fill(&mut answer.ids, message.task_id.as_deref(), message.context_id.as_deref());
        }
        Reply::PushConfig(config) => {
            fill(&mut answer.ids, config.task_id.as_deref(), None);
            take(&mut answer.ids.config_id, config.id.as_deref());
        }
        Reply::Error(error) => answer.error = Some(error.clone()),
        Reply::Tasks(_) | Reply::PushConfigs { .. } | Reply::Empty | Reply::Card(_) => {}
    }
    answer.reply = Some(reply);
}
