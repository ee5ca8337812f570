//! Putting a stream together: what the task is after the events that were seen.

use crate::a2a::model::{
    Artifact, FileSource, Part, PartContent, Reply, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent,
};

/// A task, or message, as it stands after what was seen of it: replies, events, polls and pushes, in the
/// order they arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    /// What stands now. `None` until anything was seen.
    pub reply: Option<Reply>,
    /// The states seen, repeats in a row collapsed.
    pub states: Vec<TaskState>,
    /// Where appended chunks begin: artifact, and index of the part. Text goes on there, while parts
    /// that came together are lines of their own.
    seams: Vec<(String, usize)>,
}

impl Folded {
    /// Takes a single answer. An error never replaces a task or message that is known already.
    pub fn reply(&mut self, reply: &Reply) {
        match reply {
            Reply::Task(task) => self.whole_task(task),
            Reply::Message(message) => self.reply = Some(Reply::Message(message.clone())),
            Reply::Error(_)
            | Reply::Tasks(_)
            | Reply::PushConfig(_)
            | Reply::PushConfigs { .. }
            | Reply::Empty
            | Reply::Card(_) => {
                if !matches!(self.reply, Some(Reply::Task(_) | Reply::Message(_))) {
                    self.reply = Some(reply.clone());
                }
            }
        }
    }

    /// Takes one event: `append` and `lastChunk` put artifacts together, a status update changes the
    /// status (the message of the one before joins the history, as the 1.0 SDKs do), a message stands
    /// by itself.
    pub fn event(&mut self, event: &StreamResponse) {
        match event {
            StreamResponse::Task(task) => self.whole_task(task),
            StreamResponse::Message(message) => {
                self.reply = Some(Reply::Message(message.clone()));
            }
            StreamResponse::StatusUpdate(update) => self.status_update(update),
            StreamResponse::ArtifactUpdate(update) => self.artifact_update(update),
        }
    }

    /// The words of the reply: of a task, its status message, then the text of its artifacts, and when
    /// both are empty the agent's messages in the history after the last one of the user; of a message,
    /// its parts. Data parts read as JSON, files as `[file name]`.
    pub fn text(&self) -> String {
        self.text_of_unread(|_| false)
    }

    /// The words of the reply without the artifacts that were read before, in an earlier turn of the
    /// same conversation.
    pub fn text_of_unread(&self, is_read: impl Fn(&Artifact) -> bool) -> String {
        match &self.reply {
            Some(Reply::Task(task)) => self.text_of_task(task, is_read),
            Some(Reply::Message(message)) => text_of_parts(&message.parts),
            Some(
                Reply::Tasks(_)
                | Reply::PushConfig(_)
                | Reply::PushConfigs { .. }
                | Reply::Empty
                | Reply::Card(_)
                | Reply::Error(_),
            )
            | None => String::new(),
        }
    }

    /// A task as a whole replaces what was known of it. One without history says nothing about the
    /// history: an agent tells only as much of it as it was asked for.
    fn whole_task(&mut self, task: &Task) {
        self.state(&task.status.state);
        let known = match self.reply.take() {
            Some(Reply::Task(known)) if known.id == task.id => Some(known),
            Some(_) | None => None,
        };
        self.seams.retain(|(id, index)| {
            known.is_some()
                && task
                    .artifacts
                    .iter()
                    .any(|now| now.artifact_id == *id && *index < now.parts.len())
        });
        let mut task = task.clone();
        if let Some(known) = known.filter(|_| task.history.is_empty()) {
            task.history = known.history;
        }
        self.reply = Some(Reply::Task(task));
    }

    fn status_update(&mut self, update: &TaskStatusUpdateEvent) {
        self.state(&update.status.state);
        let mut task = self.task(&update.task_id, &update.context_id);
        let before = std::mem::replace(&mut task.status, update.status.clone());
        task.history.extend(before.message);
        if let Some(metadata) = &update.metadata {
            task.metadata.get_or_insert_default().extend(metadata.clone());
        }
        self.reply = Some(Reply::Task(task));
    }

    fn artifact_update(&mut self, update: &TaskArtifactUpdateEvent) {
        let chunk = &update.artifact;
        let mut task = self.task(&update.task_id, &update.context_id);
        let known = task.artifacts.iter_mut().find(|known| known.artifact_id == chunk.artifact_id);
        match known {
            Some(known) if update.append => {
                let seam = known.parts.len();
                append(known, chunk);
                self.seams.push((chunk.artifact_id.clone(), seam));
            }
            Some(known) => {
                known.clone_from(chunk);
                self.seams.retain(|(id, _)| *id != chunk.artifact_id);
            }
            // `append` before a first chunk is the agent's mistake, and no reason to lose the chunk.
            None => task.artifacts.push(chunk.clone()),
        }
        self.reply = Some(Reply::Task(task));
    }

    /// The task that events speak of; a new one if it is not the known one.
    fn task(&mut self, id: &str, context_id: &str) -> Task {
        match self.reply.take() {
            Some(Reply::Task(task)) if task.id == id => task,
            Some(_) | None => {
                self.seams.clear();
                let context_id = Some(context_id.to_owned()).filter(|id| !id.is_empty());
                Task { id: id.to_owned(), context_id, ..Task::default() }
            }
        }
    }

    fn state(&mut self, state: &TaskState) {
        if self.states.last() != Some(state) {
            self.states.push(state.clone());
        }
    }

    fn text_of_task(&self, task: &Task, is_read: impl Fn(&Artifact) -> bool) -> String {
        let status = task.status.message.as_ref().map(|said| text_of_parts(&said.parts));
        let artifacts = task
            .artifacts
            .iter()
            .filter(|artifact| !is_read(artifact))
            .map(|artifact| self.text_of_artifact(artifact));
        let text = joined(status.into_iter().chain(artifacts));
        if !text.is_empty() {
            return text;
        }
        let after_ours = task.history.iter().rposition(|said| said.role == Role::User);
        let answers = task.history.iter().skip(after_ours.map_or(0, |index| index + 1));
        let answers = answers.filter(|said| said.role == Role::Agent);
        joined(answers.map(|said| text_of_parts(&said.parts)))
    }

    fn text_of_artifact(&self, artifact: &Artifact) -> String {
        let mut text = String::new();
        for (index, part) in artifact.parts.iter().enumerate() {
            let words = text_of_part(part);
            let is_seam =
                self.seams.iter().any(|(id, seam)| *id == artifact.artifact_id && *seam == index);
            let goes_on = is_seam && part.as_text().is_some();
            if !text.is_empty() && !words.is_empty() && !goes_on {
                text.push('\n');
            }
            text.push_str(&words);
        }
        text
    }
}

/// Adds a chunk to an artifact: its parts, and what it says anew.
fn append(known: &mut Artifact, chunk: &Artifact) {
    known.parts.extend(chunk.parts.iter().cloned());
    if let Some(metadata) = &chunk.metadata {
        known.metadata.get_or_insert_default().extend(metadata.clone());
    }
    known.name = known.name.take().or_else(|| chunk.name.clone());
    known.description = known.description.take().or_else(|| chunk.description.clone());
    let fresh = chunk.extensions.iter().filter(|uri| !known.extensions.contains(uri));
    let fresh: Vec<String> = fresh.cloned().collect();
    known.extensions.extend(fresh);
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

fn text_of_parts(parts: &[Part]) -> String {
    joined(parts.iter().map(text_of_part))
}

fn text_of_part(part: &Part) -> String {
    match &part.content {
        PartContent::Text(text) => text.clone(),
        PartContent::Data(data) => data.to_string(),
        PartContent::File(source) => {
            let name = part.filename.as_deref().unwrap_or(match source {
                FileSource::Url(url) => url,
                FileSource::Raw(_) => "without a name",
            });
            format!("[file {name}]")
        }
        PartContent::Empty => String::new(),
    }
}
