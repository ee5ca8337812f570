//! What a dialect writes it reads back: `read(write(model)) = model`, in JSON and through protobuf.

use bytes::Bytes;
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::dialect::protobuf::{self, Message as Wire};
use meddler::a2a::dialect::{DIALECTS, Row};
use meddler::a2a::model::{
    Artifact, AuthenticationInfo, FileSource, ListTasks, Message, Object, Operation, Part,
    PartContent, Reply, Request, Role, SendMessage, SendMessageConfiguration, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskPage, TaskPushNotificationConfig, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::strategy::BoxedStrategy;
use proptest::{prop_assert_eq, proptest};
use serde_json::{Value, json};

/// Whose model it is: the versions cannot say all of the same things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Schema0_3,
    Proto0_3,
    V1_0,
}

impl Says {
    fn of(row: &Row) -> Self {
        match row.name {
            "0.3 JSON schema" => Self::Schema0_3,
            "0.3 ProtoJSON" => Self::Proto0_3,
            "1.0" => Self::V1_0,
            other => unreachable!("{other} has no model in this test"),
        }
    }

    /// 0.3 has an end in its status updates, several schemes of authentication, and names only for
    /// files.
    fn is_0_3(self) -> bool {
        self != Self::V1_0
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn requests_come_back(all in vec_of(requests)) {
        for (row, operation, request) in each(&all) {
            let written = row.dialect.write_request(operation, request);
            for value in spellings(row, operation, Wire::Request, &written) {
                let mut problems = Vec::new();
                let read = row.dialect.read_request(operation, &value, &mut problems);
                prop_assert_eq!(read.as_ref(), Some(request), "{} {}", row.name, value);
                prop_assert_eq!(problems, []);
            }
        }
    }

    #[test]
    fn replies_come_back(all in vec_of(replies)) {
        for (row, operation, reply) in each(&all) {
            let written = row.dialect.write_reply(operation, reply);
            for value in spellings(row, operation, Wire::Response, &written) {
                let mut problems = Vec::new();
                let read = row.dialect.read_reply(operation, &value, &mut problems);
                prop_assert_eq!(read.as_ref(), Some(reply), "{} {}", row.name, value);
                prop_assert_eq!(problems, []);
            }
        }
    }

    #[test]
    fn events_come_back(all in vec_of(|says| event(says).boxed())) {
        for (row, event) in DIALECTS.iter().zip(&all) {
            let written = row.dialect.write_event(event);
            let operation = Operation::SendStreamingMessage;
            for value in spellings(row, operation, Wire::Response, &written) {
                let mut problems = Vec::new();
                let read = row.dialect.read_event(&value, &mut problems);
                prop_assert_eq!(read.as_ref(), Some(event), "{} {}", row.name, value);
                prop_assert_eq!(problems, []);
            }
        }
    }

    #[test]
    fn no_value_makes_a_reader_panic(value in json_value(), operation in any::<proptest::sample::Index>()) {
        let operations: Vec<Operation> = Operation::all().collect();
        let operation = operations[operation.index(operations.len())];
        for row in DIALECTS {
            row.dialect.read_request(operation, &value, &mut Vec::new());
            row.dialect.read_reply(operation, &value, &mut Vec::new());
            row.dialect.read_event(&value, &mut Vec::new());
        }
    }

    #[test]
    fn no_octets_make_a_reader_panic(octets in vec(any::<u8>(), 0..200)) {
        for row in DIALECTS {
            for operation in Operation::all() {
                let message = Wire::Response;
                protobuf::to_json(row.version, operation, message, &octets, &mut Vec::new());
            }
        }
        protobuf::status_details_to_json(&octets);
    }
}

#[test]
fn each_version_has_one_dialect_on_each_binding() {
    for version in [ProtocolVersion::V0_3, ProtocolVersion::V1_0] {
        for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
            let rows = DIALECTS
                .iter()
                .filter(|row| row.version == version && row.bindings.contains(&binding));
            assert_eq!(rows.count(), 1, "{version} on {binding}");
        }
    }
}

/// Each operation's value beside its dialect.
fn each<T>(all: &[Vec<(Operation, T)>]) -> impl Iterator<Item = (&'static Row, Operation, &T)> {
    DIALECTS.iter().zip(all).flat_map(|(row, values)| {
        values.iter().map(move |(operation, value)| (row, *operation, value))
    })
}

/// The value as it was written, and for gRPC as it comes out of the octets of its message.
fn spellings(row: &Row, operation: Operation, message: Wire, written: &Value) -> Vec<Value> {
    let mut values = vec![written.clone()];
    // 0.3 has no gRPC method that lists tasks.
    let has_grpc = row.bindings.contains(&Binding::Grpc)
        && !(operation == Operation::ListTasks && row.name.starts_with("0.3"));
    if has_grpc {
        let octets = protobuf::from_json(row.version, operation, message, written).unwrap();
        let mut problems = Vec::new();
        let value = protobuf::to_json(row.version, operation, message, &octets, &mut problems);
        assert_eq!(problems, [], "{} {operation} {written}", row.name);
        values.push(value.unwrap());
    }
    values
}

/// One value a dialect, in the order of the table.
fn vec_of<T: std::fmt::Debug + 'static>(
    make: impl Fn(Says) -> BoxedStrategy<T>,
) -> impl Strategy<Value = Vec<T>> {
    DIALECTS.iter().map(|row| make(Says::of(row))).collect::<Vec<_>>()
}

/// One request of each operation.
fn requests(says: Says) -> BoxedStrategy<Vec<(Operation, Request)>> {
    let metadata =
        if says == Says::Proto0_3 { Just(None).boxed() } else { option::of(object()).boxed() };
    let pages = if says == Says::Schema0_3 {
        Just((None, None)).boxed()
    } else {
        (option::of(1_i64..100), option::of(id())).boxed()
    };
    let ids = (id(), id());
    (ids, send(says), list_tasks(), config(says), metadata, pages, option::of(1_i64..10))
        .prop_map(|((task, config_id), send, list, config, metadata, pages, length)| {
            vec![
                (Operation::SendMessage, Request::SendMessage(send.clone())),
                (Operation::SendStreamingMessage, Request::SendMessage(send)),
                (Operation::GetTask, Request::GetTask { id: task.clone(), history_length: length }),
                (Operation::ListTasks, Request::ListTasks(list)),
                (Operation::CancelTask, Request::CancelTask { id: task.clone(), metadata }),
                (Operation::SubscribeToTask, Request::SubscribeToTask { id: task.clone() }),
                (Operation::CreateTaskPushNotificationConfig, Request::CreatePushConfig(config)),
                (
                    Operation::GetTaskPushNotificationConfig,
                    Request::GetPushConfig { task_id: task.clone(), id: Some(config_id.clone()) },
                ),
                (
                    Operation::ListTaskPushNotificationConfigs,
                    Request::ListPushConfigs {
                        task_id: task.clone(),
                        page_size: pages.0,
                        page_token: pages.1,
                    },
                ),
                (
                    Operation::DeleteTaskPushNotificationConfig,
                    Request::DeletePushConfig { task_id: task, id: config_id },
                ),
                (Operation::GetExtendedAgentCard, Request::Card),
            ]
        })
        .boxed()
}

/// One reply of each operation.
fn replies(says: Says) -> BoxedStrategy<Vec<(Operation, Reply)>> {
    let token = if says == Says::Schema0_3 { Just(None).boxed() } else { option::of(id()).boxed() };
    (task(says), message(says), vec(task(says), 0..3), vec(config(says), 0..3), token, id())
        .prop_map(|(task, message, tasks, configs, token, next)| {
            let page = TaskPage { tasks, next_page_token: next, page_size: 2, total_size: 7 };
            let mut replies = vec![
                (Operation::SendMessage, Reply::Task(task.clone())),
                (Operation::SendMessage, Reply::Message(message)),
                (Operation::GetTask, Reply::Task(task.clone())),
                (Operation::CancelTask, Reply::Task(task)),
                (Operation::ListTasks, Reply::Tasks(page)),
                (Operation::DeleteTaskPushNotificationConfig, Reply::Empty),
            ];
            for config in &configs {
                let reply = Reply::PushConfig(config.clone());
                replies.push((Operation::GetTaskPushNotificationConfig, reply.clone()));
                replies.push((Operation::CreateTaskPushNotificationConfig, reply));
            }
            replies.push((
                Operation::ListTaskPushNotificationConfigs,
                Reply::PushConfigs { configs, next_page_token: token },
            ));
            replies
        })
        .boxed()
}

fn event(says: Says) -> impl Strategy<Value = StreamResponse> {
    let last =
        if says.is_0_3() { any::<bool>().prop_map(Some).boxed() } else { Just(None).boxed() };
    let status_update = (id(), id(), status(says), last, metadata()).prop_map(
        |(task_id, context_id, status, last, metadata)| {
            StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id,
                context_id,
                status,
                last,
                metadata,
            })
        },
    );
    let artifact_update = (id(), id(), artifact(says), any::<(bool, bool)>(), metadata()).prop_map(
        |(task_id, context_id, artifact, (append, last_chunk), metadata)| {
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id,
                context_id,
                artifact,
                append,
                last_chunk,
                metadata,
            })
        },
    );
    prop_oneof![
        task(says).prop_map(StreamResponse::Task),
        message(says).prop_map(StreamResponse::Message),
        status_update,
        artifact_update,
    ]
}

fn send(says: Says) -> impl Strategy<Value = SendMessage> {
    // Protobuf cannot tell false from nothing: 1.0 has it for nothing, 0.3 for false.
    let immediately =
        if says.is_0_3() { any::<bool>().prop_map(Some).boxed() } else { Just(Some(true)).boxed() };
    let push = option::of(config(says));
    let configuration = (vec(text(), 0..3), push, option::of(1_i64..10), immediately).prop_map(
        move |(accepted_output_modes, push, history_length, return_immediately)| {
            let push = push.map(|push| TaskPushNotificationConfig {
                task_id: push.task_id.filter(|_| !says.is_0_3()),
                ..push
            });
            SendMessageConfiguration {
                accepted_output_modes,
                push,
                history_length,
                return_immediately,
            }
        },
    );
    (message(says), option::of(configuration), metadata()).prop_map(
        |(message, configuration, metadata)| SendMessage { message, configuration, metadata },
    )
}

fn list_tasks() -> impl Strategy<Value = ListTasks> {
    let page = (option::of(1_i64..100), option::of(id()), option::of(0_i64..10));
    (option::of(id()), option::of(state()), page, option::of(time()), option::of(any::<bool>()))
        .prop_map(|(context_id, status, (page_size, page_token, length), after, artifacts)| {
            ListTasks {
                context_id,
                status,
                page_size,
                page_token,
                history_length: length,
                status_timestamp_after: after,
                include_artifacts: artifacts,
            }
        })
}

fn config(says: Says) -> impl Strategy<Value = TaskPushNotificationConfig> {
    let schemes = if says.is_0_3() { vec(text(), 0..3) } else { vec(text(), 1..2) };
    let authentication = (schemes, option::of(text()))
        .prop_map(|(schemes, credentials)| AuthenticationInfo { schemes, credentials });
    (id(), id(), text(), option::of(text()), option::of(authentication)).prop_map(
        |(id, task_id, url, token, authentication)| TaskPushNotificationConfig {
            id: Some(id),
            task_id: Some(task_id),
            url,
            token,
            authentication,
        },
    )
}

fn task(says: Says) -> impl Strategy<Value = Task> {
    let content = (vec(artifact(says), 0..2), vec(message(says), 0..2));
    (id(), id(), status(says), content, metadata()).prop_map(
        |(id, context_id, status, (artifacts, history), metadata)| Task {
            id,
            context_id: Some(context_id),
            status,
            artifacts,
            history,
            metadata,
        },
    )
}

fn status(says: Says) -> impl Strategy<Value = TaskStatus> {
    (state(), option::of(message(says)), option::of(time()))
        .prop_map(|(state, message, timestamp)| TaskStatus { state, message, timestamp })
}

fn artifact(says: Says) -> impl Strategy<Value = Artifact> {
    let names = (id(), option::of(text()), option::of(text()));
    (names, vec(part(says), 1..3), metadata(), vec(text(), 0..2)).prop_map(
        |((artifact_id, name, description), parts, metadata, extensions)| Artifact {
            artifact_id,
            name,
            description,
            parts,
            metadata,
            extensions,
        },
    )
}

fn message(says: Says) -> impl Strategy<Value = Message> {
    let references = match says {
        Says::Proto0_3 => Just(Vec::new()).boxed(),
        Says::Schema0_3 | Says::V1_0 => vec(id(), 0..2).boxed(),
    };
    let ids = (id(), option::of(id()), option::of(id()), references);
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    (ids, role, vec(part(says), 1..3), metadata(), vec(text(), 0..2)).prop_map(
        |((message_id, context_id, task_id, references), role, parts, metadata, extensions)| {
            Message {
                message_id,
                context_id,
                task_id,
                role,
                parts,
                metadata,
                extensions,
                reference_task_ids: references,
            }
        },
    )
}

fn part(says: Says) -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        text().prop_map(PartContent::Text),
        Just(PartContent::Text(String::new())),
        json_value().prop_map(PartContent::Data),
        // Octets that look like base64 are base64 to the readers of 0.3's protobuf.
        vec(128_u8.., 0..20)
            .prop_map(|octets| PartContent::File(FileSource::Raw(Bytes::from(octets)))),
        text().prop_map(|url| PartContent::File(FileSource::Url(url))),
    ];
    (content, metadata(), option::of(text()), option::of(text())).prop_map(
        move |(content, metadata, filename, media_type)| {
            let has_names = !says.is_0_3() || matches!(content, PartContent::File(_));
            Part {
                content,
                metadata,
                filename: filename.filter(|_| has_names),
                media_type: media_type.filter(|_| has_names),
            }
        },
    )
}

fn state() -> impl Strategy<Value = TaskState> {
    prop_oneof![
        Just(TaskState::Submitted),
        Just(TaskState::Working),
        Just(TaskState::InputRequired),
        Just(TaskState::AuthRequired),
        Just(TaskState::Completed),
        Just(TaskState::Failed),
        Just(TaskState::Canceled),
        Just(TaskState::Rejected),
    ]
}

fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("2026-11-30T15:56:10Z".to_owned()),
        Just("1969-07-20T20:17:40.500Z".to_owned()),
        Just("2026-11-30T15:56:10.147531Z".to_owned()),
        Just("2026-11-30T15:56:10.000000001Z".to_owned()),
    ]
}

fn id() -> impl Strategy<Value = String> {
    "[a-z0-9-]{1,12}"
}

fn text() -> impl Strategy<Value = String> {
    "[ -~é世😀\n]{1,16}"
}

fn metadata() -> impl Strategy<Value = Option<Object>> {
    option::of(object())
}

fn object() -> impl Strategy<Value = Object> {
    vec(("[a-z]{1,6}", json_value()), 1..3).prop_map(|members| members.into_iter().collect())
}

/// Any JSON whose numbers a double can carry.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_992_i64..=9_007_199_254_740_992).prop_map(Value::from),
        (-1000_i32..1000).prop_map(|number| json!(f64::from(number) + 0.25)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-z]{1,6}", inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}
