//! A suite: a file of tests, read strictly, every mistake told with its place.

use std::time::Duration;

use super::capture::Capture;
use super::check::Check;
use super::contract;
use super::reader::{Fields, Reader, SuiteError, Variables};
use super::select::Select;
use super::yaml::{Node, Position, Yaml};

/// The version of the language that is understood.
const VERSION: usize = 1;

/// Keys of the same file that belong to other commands; they have their own readers.
pub(super) const FOREIGN: &[&str] = &[
    "admin",
    "advertise",
    "agent",
    "faults",
    "fuzz",
    "intercept",
    "orchestrators",
    "record",
    "redact",
    "remote_agents",
    "store",
];

/// Keys that only a driver can act on; they are accepted and listed as not driven.
pub(super) const NOT_DRIVEN: &[&str] = &["counterpart", "persona", "scenario", "skill", "target"];

/// A file of tests.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The file, as it was named.
    pub file: String,
    /// Which recording it is meant for.
    pub recording: RecordingRef,
    /// How often a test is tried when it is driven, and how often it must hold.
    pub defaults: Defaults,
    /// What must hold in every test besides.
    pub invariants: Vec<Check>,
    /// The tests, in the order of the file. Never empty.
    pub tests: Vec<Test>,
    /// Remote agents that the same file configures.
    pub configured: Vec<String>,
    /// What the file asks for that only a driver can do, as `test: key`.
    pub not_driven: Vec<String>,
    /// What `assert --wait` waits for; empty: that the tests hold.
    pub until: Vec<Check>,
    /// Who judges sentences.
    pub judge: Option<JudgeConfig>,
    /// The values of the variables that the file names as secrets: no output may show them.
    pub secrets: Vec<String>,
}

/// `judge:`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeConfig {
    /// Who.
    pub by: JudgeBy,
    /// How long one judgement may take.
    pub timeout: Duration,
    /// Where judgements are kept, relative to the suite.
    pub cache: Option<String>,
}

/// Who judges.
#[derive(Clone, PartialEq, Eq)]
pub enum JudgeBy {
    /// A model behind an endpoint that speaks the chat completions of `OpenAI`.
    Endpoint {
        /// Its base, up to and with `/v1`.
        url: String,
        /// The model's name.
        model: String,
        /// What it is shown as a bearer token, if anything.
        key: Option<String>,
    },
    /// A command that reads the question as JSON and writes `{"holds": ..., "reason": ...}`.
    Command(Vec<String>),
}

impl JudgeBy {
    fn endpoint(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let url = fields.need("url", reader).and_then(|node| reader.name(node));
        let model = fields.need("model", reader).and_then(|node| reader.name(node));
        let key = match fields.take("key") {
            None => Some(None),
            Some(node) => reader.text(node).map(Some),
        };
        Some(Self::Endpoint { url: url?, model: model?, key: key? })
    }
}

impl std::fmt::Debug for JudgeBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Endpoint { url, model, .. } => write!(f, "Endpoint({url}, {model})"),
            Self::Command(run) => f.debug_tuple("Command").field(run).finish(),
        }
    }
}

/// `recording:`, all of it optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingRef {
    /// A session's name, `last` or `any`.
    pub session: Option<String>,
    /// An `.a2a.jsonl` file, relative to the suite.
    pub file: Option<String>,
    /// A store's directory.
    pub store: Option<String>,
    /// A daemon's URL.
    pub daemon: Option<String>,
}

/// `defaults:`
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    /// How often a driven test is tried.
    pub trials: usize,
    /// The part of the trials that must hold.
    pub pass_rate: f64,
}

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its name, unique in the suite.
    pub name: String,
    /// Where it stands.
    pub at: Position,
    /// Which delegations it looks at.
    pub select: Select,
    /// What later assertions may name as `${captured.NAME}`.
    pub captures: Vec<Capture>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// Whether a delegation that ended badly fails the test.
    pub bad_ends: BadEnds,
}

/// Whether a delegation that ended badly fails the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadEnds {
    /// It does, unless the test expects that end.
    #[default]
    Fail,
    /// `allow_failed: true`: it does not.
    Allowed,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { trials: 1, pass_rate: 1.0 }
    }
}

impl Suite {
    /// Reads a suite. `file` is its name in messages, `variables` the environment.
    pub fn parse(file: &str, text: &str, variables: Variables<'_>) -> Result<Self, SuiteError> {
        let mut reader = Reader::new(text, variables);
        let suite = match Node::parse(text) {
            Ok(root) => Self::read(file, &root, &mut reader),
            Err(error) => {
                reader.problem(error.at, error.text);
                None
            }
        };
        let secrets = reader.secrets();
        let problems = reader.finish();
        match suite {
            Some(suite) if problems.is_empty() => Ok(Self { secrets, ..suite }),
            Some(_) | None => Err(SuiteError { file: file.to_owned(), problems }),
        }
    }

    /// Whether it stays held once it is, whatever comes later.
    pub fn settles(&self) -> bool {
        self.invariants.is_empty()
            && self.tests.iter().all(|test| test.checks.iter().all(Check::settles))
    }

    fn read(file: &str, root: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(root, "a map with `version` and `tests`", reader)?;
        // Suites written for other tools have no version; what they use of the language is version 1.
        let version = fields.take("version").map_or(Some(()), |node| read_version(node, reader));
        let recording = fields.take("recording").map(|node| RecordingRef::parse(node, reader));
        let defaults = fields.take("defaults").map(|node| Defaults::parse(node, reader));
        let invariants = match fields.take("invariants") {
            None => Some(Vec::new()),
            Some(node) => read_invariants(node, reader),
        };
        let mut not_driven = Vec::new();
        let mut configured = Vec::new();
        let card = fields.take("card");
        let scenarios = fields.take("scenarios");
        let tests = match fields.take("tests") {
            None if scenarios.is_none() && card.is_none() => fields.need("tests", reader),
            tests => tests,
        };
        let until = match fields.take("until") {
            None => Some(Vec::new()),
            Some(node) => Check::parse_list(node, reader),
        };
        let judge = match fields.take("judge") {
            None => Some(None),
            Some(node) => JudgeConfig::parse(node, reader).map(Some),
        };
        if fields.take("targets").is_some() {
            not_driven.push("targets".to_owned());
        }
        for name in FOREIGN {
            if let Some(node) = fields.take(name)
                && *name == "remote_agents"
                && let Yaml::Map(agents) = &node.value
            {
                configured = agents.iter().map(|(key, _)| key.name.clone()).collect();
            }
        }
        fields.finish(reader);
        let mut all = Vec::new();
        all.push(card.map_or(Some(Vec::new()), |node| Some(vec![contract::card(node, reader)?])));
        all.push(
            scenarios.map_or(Some(Vec::new()), |node| {
                contract::scenarios(node, &mut not_driven, reader)
            }),
        );
        all.push(tests.map_or(Some(Vec::new()), |node| read_tests(node, &mut not_driven, reader)));
        let tests: Option<Vec<Vec<Test>>> = all.into_iter().collect();
        let tests: Vec<Test> = tests?.into_iter().flatten().collect();
        if tests.is_empty() {
            return None;
        }
        version?;
        let file = file.to_owned();
        let recording = recording.unwrap_or_default();
        let defaults = defaults.unwrap_or_default();
        let invariants = invariants?;
        Some(Self {
            file,
            recording,
            defaults,
            invariants,
            tests,
            configured,
            not_driven,
            until: until?,
            judge: judge?,
            secrets: Vec::new(),
        })
    }
}

fn read_version(node: &Node, reader: &mut Reader<'_>) -> Option<()> {
    let version = reader.count(node)?;
    if version != VERSION {
        let text =
            format!("version {version} is not known here; this program reads version {VERSION}");
        reader.problem(node.at, text);
        return None;
    }
    Some(())
}

/// A list of assertions like any other, or a map of them.
fn read_invariants(node: &Node, reader: &mut Reader<'_>) -> Option<Vec<Check>> {
    let Yaml::Map(entries) = &node.value else { return Check::parse_list(node, reader) };
    let mut checks = Vec::new();
    for (key, body) in entries {
        let entry = Node { at: key.at, value: Yaml::Map(vec![(key.clone(), body.clone())]) };
        checks.push(Check::parse(&entry, reader));
    }
    checks.into_iter().collect()
}

fn read_tests(
    node: &Node,
    not_driven: &mut Vec<String>,
    reader: &mut Reader<'_>,
) -> Option<Vec<Test>> {
    let Yaml::List(items) = &node.value else {
        reader.expected("a list of tests", node);
        return None;
    };
    if items.is_empty() {
        reader.problem(node.at, "expected at least one test: a suite without tests shows nothing");
        return None;
    }
    let mut tests: Vec<Option<Test>> = Vec::new();
    for item in items {
        let test = Test::parse(item, not_driven, reader);
        if let Some(test) = &test
            && tests.iter().flatten().any(|other| other.name == test.name)
        {
            reader.problem(test.at, format!("a second test `{}`; names must differ", test.name));
        }
        tests.push(test);
    }
    tests.into_iter().collect()
}

impl RecordingRef {
    fn parse(node: &Node, reader: &mut Reader<'_>) -> Self {
        let mut recording = Self::default();
        let Some(mut fields) = Fields::of(node, "a map like { session: last }", reader) else {
            return recording;
        };
        for (name, slot) in [
            ("session", &mut recording.session),
            ("file", &mut recording.file),
            ("store", &mut recording.store),
            ("daemon", &mut recording.daemon),
        ] {
            *slot = fields.take(name).and_then(|node| reader.name(node));
        }
        fields.finish(reader);
        let places = [&recording.file, &recording.store, &recording.daemon];
        if places.into_iter().flatten().count() > 1 {
            reader.problem(node.at, "expected one of `file`, `store`, `daemon`");
        }
        recording
    }
}

/// How long one judgement may take when it is not told.
const JUDGE_TIMEOUT: Duration = Duration::from_mins(1);

impl JudgeConfig {
    fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let form =
            "a map like { url: \"https://api.example.com/v1\", model: NAME, key: \"${KEY}\" }";
        let mut fields = Fields::of(node, form, reader)?;
        let timeout = match fields.take("timeout") {
            None => Some(JUDGE_TIMEOUT),
            Some(node) => reader.duration(node),
        };
        let cache = match fields.take("cache") {
            None => Some(None),
            Some(node) => reader.name(node).map(Some),
        };
        let by = if let Some(node) = fields.take("command") {
            reader.names(node).map(JudgeBy::Command)
        } else {
            JudgeBy::endpoint(&mut fields, reader)
        };
        fields.finish(reader);
        Some(Self { by: by?, timeout: timeout?, cache: cache? })
    }
}

impl Defaults {
    fn parse(node: &Node, reader: &mut Reader<'_>) -> Self {
        let mut defaults = Self::default();
        let Some(mut fields) = Fields::of(node, "a map like { trials: 1 }", reader) else {
            return defaults;
        };
        if let Some(node) = fields.take("trials")
            && let Some(trials) = reader.count(node)
        {
            defaults.trials = trials;
        }
        if let Some(node) = fields.take("pass_rate")
            && let Some(rate) = reader.amount(node)
        {
            if rate > 1.0 {
                reader.problem(node.at, "expected a number from 0 to 1");
            }
            defaults.pass_rate = rate;
        }
        fields.finish(reader);
        defaults
    }
}

impl Test {
    fn parse(node: &Node, not_driven: &mut Vec<String>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a test with `name` and `assert`", reader)?;
        let name = fields.need("name", reader);
        let at = name.map_or(node.at, |name| name.at);
        let name = name.and_then(|name| reader.name(name));
        let select = match fields.take("select") {
            None => Some(Select::default()),
            Some(node) => Select::parse(node, reader),
        };
        let bad_ends = match fields.take("allow_failed") {
            None => Some(BadEnds::Fail),
            Some(node) => reader
                .truth(node)
                .map(|allowed| if allowed { BadEnds::Allowed } else { BadEnds::Fail }),
        };
        let captures = match fields.take("capture") {
            None => Some(Vec::new()),
            Some(node) => Capture::parse_all(node, reader),
        };
        let names = captures.iter().flatten().map(|capture| capture.name.clone()).collect();
        reader.set_captures(names);
        let checks = fields.need("assert", reader).and_then(|node| Check::parse_list(node, reader));
        reader.set_captures(Vec::new());
        for key in NOT_DRIVEN.iter().chain(&["fuzz", "fuzz_tools", "pass_rate", "trials"]) {
            if fields.take(key).is_some() {
                let name = name.as_deref().unwrap_or_default();
                not_driven.push(format!("{name}: {key}"));
            }
        }
        fields.finish(reader);
        Some(Self {
            name: name?,
            at,
            select: select?,
            captures: captures?,
            checks: checks?,
            bad_ends: bad_ends?,
        })
    }
}
