//! From the tree to typed sections: every section is read, and every fault of the file is told at
//! once, not one a run.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::agent::{self, Agent};
use super::error::{Fault, FileErrors, Place};
use super::expand::{self, Environment};
use super::sections::{RecordConfig, StoreConfig};
use super::tree::{Key, Node, Value};
use super::{later, typed};
use crate::admin::AdminConfig;
use crate::fault::rule::{RuleConfig, RuleSet, RuleSetOptions};
use crate::proxy::push::config::PushConfig;
use crate::proxy::target::Base;
use crate::record::redact::RedactConfig;

/// A configuration, whole and checked.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Where the recording is kept.
    pub store: StoreConfig,
    /// What goes into it.
    pub record: RecordConfig,
    /// What is masked before, beside what always is.
    pub redact: RedactConfig,
    /// The daemon's own listener; `None`: not named in the file.
    pub admin: Option<AdminConfig>,
    /// What agents and orchestrators reach Meddler by, when that differs.
    pub advertise: Option<Base>,
    /// Where the key is that cards are signed with; `None`: in the store.
    pub signing_key: Option<PathBuf>,
    /// What becomes of webhooks.
    pub push: PushConfig,
    /// The remote agents, in the order of the file.
    pub agents: Vec<Agent>,
    /// The fault rules, in the order of the file, those of `fuzz:` after the others.
    pub faults: Vec<RuleConfig>,
    /// Whether the file has tests.
    pub tests: Tests,
}

/// Whether a file has tests: the suite's reader reads them, not this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tests {
    /// It has none.
    #[default]
    Absent,
    /// It has some.
    Present,
}

/// Keys of a configuration.
pub(super) const KEYS: &[&str] = &[
    "version",
    "store",
    "record",
    "redact",
    "admin",
    "advertise",
    "signing_key",
    "push",
    "remote_agents",
    "faults",
    "fuzz",
    "fuzz_tools",
    "tests",
];

/// Keys of a suite, which may stand in the same file; the suite's reader checks them.
pub(super) const SUITE_KEYS: &[&str] = &[
    "recording",
    "invariants",
    "defaults",
    "agent",
    "personas",
    "secrets",
    "targets",
    "extensions",
    "packs",
    "card",
    "judge",
    "scenarios",
    "until",
];

impl Config {
    /// Reads a file's text. Relative paths are taken from `base`, the file's own directory.
    pub(crate) fn parse(
        file: &str,
        base: &Path,
        source: &str,
        environment: Environment<'_>,
    ) -> Result<Self, FileErrors> {
        let refuse = |faults| FileErrors::new(file, source, faults);
        let mut root = match Node::parse(source) {
            Ok(Some(root)) => root,
            Ok(None) => {
                let empty = Fault::new(Place::default(), "the file is empty");
                return Err(refuse(vec![
                    empty.with_hint("write at least `version: 1` and `remote_agents:`"),
                ]));
            }
            Err(fault) => return Err(refuse(vec![fault])),
        };
        let (expanded, mut faults) = expand::expand(&mut root, environment);
        if !faults.is_empty() {
            return Err(refuse(faults));
        }
        let config = read(&root, base, &mut faults);
        if faults.is_empty() {
            return Ok(config);
        }
        for fault in &mut faults {
            fault.text = expanded.mask(&fault.text);
            fault.hint = fault.hint.as_deref().map(|hint| expanded.mask(hint));
        }
        Err(refuse(faults))
    }
}

/// What commands need that read a recording: nothing but where it is, and what is known by name.
///
/// They run where the daemon's environment is not, so variables elsewhere in the file need not be set.
#[derive(Clone, Debug, Default)]
pub(in crate::app) struct ReaderConfig {
    pub(in crate::app) store: StoreConfig,
    pub(in crate::app) redact: RedactConfig,
    /// The names of the remote agents.
    pub(in crate::app) agents: Vec<String>,
}

impl ReaderConfig {
    /// Reads those sections alone; the others are not looked at.
    pub(super) fn parse(
        file: &str,
        base: &Path,
        source: &str,
        environment: Environment<'_>,
    ) -> Result<Self, FileErrors> {
        let mut faults = Vec::new();
        let root = match Node::parse(source) {
            Ok(Some(root)) => root,
            Ok(None) => return Ok(Self::default()),
            Err(fault) => return Err(FileErrors::new(file, source, vec![fault])),
        };
        let mut part = root.only(&["store", "redact"]);
        let (_, missing) = expand::expand(&mut part, environment);
        faults.extend(missing);
        let agents = root.member("remote_agents").map(Node::members).unwrap_or_default();
        let mut config = Self {
            store: section(&part, "store", &mut faults).unwrap_or_default(),
            redact: section(&part, "redact", &mut faults).unwrap_or_default(),
            agents: agents.iter().map(|(key, _)| key.name.clone()).collect(),
        };
        config.store.path = below(base, &config.store.path);
        if faults.is_empty() { Ok(config) } else { Err(FileErrors::new(file, source, faults)) }
    }
}

fn read(root: &Node, base: &Path, faults: &mut Vec<Fault>) -> Config {
    if root.members().is_empty() {
        faults
            .push(Fault::new(root.at, format!("expected a map of sections, not {}", root.kind())));
        return Config::default();
    }
    check_keys(root, faults);
    check_version(root, faults);
    let mut config = Config {
        store: section(root, "store", faults).unwrap_or_default(),
        record: section(root, "record", faults).unwrap_or_default(),
        redact: section(root, "redact", faults).unwrap_or_default(),
        admin: section(root, "admin", faults),
        advertise: section(root, "advertise", faults),
        signing_key: section::<PathBuf>(root, "signing_key", faults).map(|key| below(base, &key)),
        push: section(root, "push", faults).unwrap_or_default(),
        agents: agent::read_all(root.member("remote_agents"), base, faults),
        faults: Vec::new(),
        tests: if root.member("tests").is_some() { Tests::Present } else { Tests::Absent },
    };
    config.store.path = below(base, &config.store.path);
    agent::rebase_client(&mut config.push.tls, base);
    check_admin(root, config.admin.as_ref(), faults);
    read_faults(root, &mut config, faults);
    config
}

/// A path of the file, taken from the file's directory.
pub(super) fn below(base: &Path, path: &Path) -> PathBuf {
    if base.as_os_str().is_empty() { path.to_owned() } else { base.join(path) }
}

fn check_keys(root: &Node, faults: &mut Vec<Fault>) {
    let refused = later::refused("", root);
    for (Key { name, at }, _) in root.members() {
        let is_later = refused.iter().any(|fault| fault.at == *at);
        let is_known = KEYS.contains(&name.as_str()) || SUITE_KEYS.contains(&name.as_str());
        if !is_later && !is_known {
            faults.push(Fault::unknown(*at, "key", name, KEYS));
        }
    }
    faults.extend(refused);
}

fn check_version(root: &Node, faults: &mut Vec<Fault>) {
    match root.member("version") {
        None => faults.push(
            Fault::new(Place { line: 1, column: 1 }, "`version` is missing")
                .with_hint("write `version: 1` at the top"),
        ),
        Some(node) if node.text() == Some("1") => {}
        Some(node) => {
            let text = format!("version {} is not known", node.text().unwrap_or("of this kind"));
            faults.push(Fault::new(node.at, text).with_hint("this program reads `version: 1`"));
        }
    }
}

/// A section, if it is there. One that is named and left empty counts as absent.
fn section<T: DeserializeOwned>(root: &Node, name: &str, faults: &mut Vec<Fault>) -> Option<T> {
    let node = root.member(name).filter(|node| !node.is_null())?;
    let refused = later::refused(name, node);
    if !refused.is_empty() {
        faults.extend(refused);
        return None;
    }
    typed::read(node, name).map_err(|fault| faults.push(fault)).ok()
}

fn check_admin(root: &Node, admin: Option<&AdminConfig>, faults: &mut Vec<Fault>) {
    let Some(Err(why)) = admin.map(AdminConfig::check) else { return };
    let at = root.member("admin").map(|node| node.at).unwrap_or_default();
    faults.push(
        Fault::new(at, format!("`admin`: {why}"))
            .with_hint("add `token: \"${MEDDLER_ADMIN_TOKEN}\"`"),
    );
}

/// Reads the rules, long form and short, then has the rules' own reader check them.
fn read_faults(root: &Node, config: &mut Config, faults: &mut Vec<Fault>) {
    let before = faults.len();
    let mut nodes = Vec::new();
    if let Some(list) = root.member("faults").filter(|node| !node.is_null()) {
        if !matches!(list.value, Value::List(_)) {
            let text = format!("`faults`: expected a list, not {}", list.kind());
            faults.push(Fault::new(list.at, text).with_hint("begin each rule with `- name:`"));
        }
        for (index, node) in list.items().iter().enumerate() {
            match read_rule(node, &format!("faults[{index}]")) {
                Ok(rule) => config.faults.push(rule),
                Err(wrong) => faults.extend(wrong),
            }
            nodes.push(node);
        }
    }
    for short in ["fuzz", "fuzz_tools"] {
        for (key, node) in root.member(short).map(Node::members).unwrap_or_default() {
            match typed::read(node, &format!("{short}.{}", key.name)) {
                Ok(inject) => config.faults.push(RuleConfig::of_fuzz(&key.name, inject)),
                Err(fault) => faults.push(fault),
            }
            nodes.push(node);
        }
    }
    if faults.len() == before
        && let Err(wrong) = RuleSet::with(config.faults.clone(), rule_options(config))
    {
        faults.extend(wrong.lines().map(|line| locate(line, &nodes)));
    }
}

/// Reads one rule of the long form.
fn read_rule(node: &Node, path: &str) -> Result<RuleConfig, Vec<Fault>> {
    let mut faults = later::refused_in_rule(node);
    if !node.members().is_empty() && node.member("inject").is_none() {
        let text = format!("`inject` is missing in `{path}`");
        faults.push(
            Fault::new(node.at, text).with_hint("say what goes wrong: `inject: { error: failed }`"),
        );
    }
    if faults.is_empty() {
        typed::read(node, path).map_err(|fault| vec![fault])
    } else {
        Err(faults)
    }
}

/// What surrounds the rules of a configuration, but for the seed.
pub(in crate::app) fn rule_options(config: &Config) -> RuleSetOptions {
    let agents = config.agents.iter().map(|agent| agent.name.clone()).collect();
    RuleSetOptions { agents, ..RuleSetOptions::default() }
}

/// Finds the place of `faults[2] "name": when.text: ...`: the word in backticks, else the key, else the
/// rule.
fn locate(line: &str, rules: &[&Node]) -> Fault {
    let rule = line
        .strip_prefix("faults[")
        .and_then(|rest| rest.split_once(']'))
        .and_then(|(index, rest)| Some((*rules.get(index.parse::<usize>().ok()?)?, rest)));
    let Some((rule, rest)) = rule else { return Fault::new(Place::default(), line) };
    let quoted = rest.split('`').skip(1).step_by(2).find_map(|word| place_of(rule, word));
    let named = || {
        let said = rest.split_once("\": ").map_or(rest, |(_, said)| said);
        let (path, _) = said.split_once(':')?;
        let mut node = rule;
        for step in path.split('.') {
            node = node.member(step)?;
        }
        Some(node.at)
    };
    let advice = ["did you mean", "known: "].iter().find_map(|start| line.find(start));
    let (text, hint) = match advice.map(|at| line.split_at(at)) {
        Some((text, hint)) => (text.trim_end_matches([',', ';', ' ']), Some(hint)),
        None => (line, None),
    };
    let fault = Fault::new(quoted.or_else(named).unwrap_or(rule.at), text);
    match hint {
        Some(hint) => fault.with_hint(hint),
        None => fault,
    }
}

/// Where a word stands below a node, as a key or as a value.
fn place_of(node: &Node, word: &str) -> Option<Place> {
    if node.text() == Some(word) {
        return Some(node.at);
    }
    let in_member = |(key, member): &(Key, Node)| {
        if key.name == word { Some(key.at) } else { place_of(member, word) }
    };
    node.members()
        .iter()
        .find_map(in_member)
        .or_else(|| node.items().iter().find_map(|item| place_of(item, word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "s3cret".to_owned())
    }

    fn parse(source: &str) -> Result<Config, String> {
        Config::parse("m.yaml", Path::new("dir"), source, &environment)
            .map_err(|errors| errors.to_string())
    }

    const AGENT: &str =
        "version: 1\nremote_agents:\n  billing:\n    listen: 127.0.0.1:0\n    forward: http://a\n";

    /// The first line of every fault, and every hint.
    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let told = parse(source).expect_err(source);
        let told: Vec<&str> = told
            .lines()
            .filter(|line| line.starts_with("m.yaml:") || line.starts_with("hint:"))
            .map(|line| line.split(" known: ").next().unwrap_or(line))
            .collect();
        assert_eq!(told, expected, "{source}");
    }

    #[test]
    fn a_configuration_is_read_whole() {
        let config = parse(&format!(
            "{AGENT}    headers: {{ Authorization: \"Bearer ${{TOKEN}}\" }}\n    tls: {{ ca: ca.pem }}\n\
             store: {{ path: rec }}\nfaults:\n  - {{ name: a, agent: billing, inject: {{ error: failed }} }}\nfuzz: {{ billing: empty }}\n"
        ))
        .unwrap();
        let [agent] = config.agents.as_slice() else { panic!("{config:?}") };
        assert_eq!(agent.name, "billing");
        assert_eq!(agent.proxy.tls.ca.as_deref(), Some(Path::new("dir/ca.pem")));
        assert_eq!(config.store.path, Path::new("dir/rec"));
        assert_eq!(config.faults.len(), 2, "the short form is a rule as well");
        assert!(!format!("{config:?}").contains("s3cret"), "{config:?}");
    }

    #[test]
    fn a_misspelt_key_is_told_the_nearest_one() {
        check(
            "version: 1\nremote_agnets: {}\nstore: { pth: x }\n",
            &[
                "m.yaml:2:1: unknown key `remote_agnets`",
                "hint: did you mean `remote_agents`?",
                "m.yaml:3:10: unknown key `pth` in `store`",
                "hint: did you mean `path`?",
            ],
        );
        check(
            "version: 1\nremote_agents:\n  a: { listen: ':0', forward: 'http://a', timout: {} }\n",
            &[
                "m.yaml:3:43: unknown key `timout` in `remote_agents.a`",
                "hint: did you mean `timeout`?",
            ],
        );
    }

    #[test]
    fn a_wrong_rule_is_told_at_its_place() {
        check(
            &format!(
                "{AGENT}faults:\n  - {{ name: a, probabilty: 0.5, inject: {{ error: failed }} }}\n"
            ),
            &[
                "m.yaml:7:16: unknown key `probabilty` in `faults[0]`",
                "hint: did you mean `probability`?",
            ],
        );
        check(
            &format!(
                "{AGENT}faults:\n  - {{ name: a, agent: biling, inject: {{ error: failed }} }}\n"
            ),
            &[
                "m.yaml:7:23: faults[0] \"a\": agent: unknown remote agent `biling`",
                "hint: did you mean `billing`?",
            ],
        );
        check(
            &format!(
                "{AGENT}faults:\n  - {{ name: a, inject: {{ error: failed }} }}\n  - name: b\n    when:\n      \
                 operation: SendMesage\n    inject: {{ delay: 5s }}\n"
            ),
            &[
                "m.yaml:10:18: faults[1] \"b\": when.operation: unknown operation `SendMesage`",
                "hint: did you mean `SendMessage`?",
            ],
        );
    }

    #[test]
    fn a_file_that_is_half_understood_is_refused() {
        check(
            "",
            &[
                "m.yaml: the file is empty",
                "hint: write at least `version: 1` and `remote_agents:`",
            ],
        );
        check("- a\n", &["m.yaml:1:1: expected a map of sections, not a list"]);
        check(
            "remote_agents: {}\n",
            &["m.yaml:1:1: `version` is missing", "hint: write `version: 1` at the top"],
        );
        check(
            "version: 2\n",
            &["m.yaml:1:10: version 2 is not known", "hint: this program reads `version: 1`"],
        );
        check(
            "version: 1\nintercept: {}\n",
            &[
                "m.yaml:2:1: `intercept`: this version has no transparent interception yet",
                "hint: leave it out",
            ],
        );
        check(
            "version: 1\nstore: { path: x, keep: { age: 7d } }\n",
            &["m.yaml:2:19: `keep`: this version has no retention yet", "hint: leave it out"],
        );
        check(
            "version: 1\nadmin: { listen: '0.0.0.0:7071' }\n",
            &[
                "m.yaml:2:8: `admin`: 0.0.0.0:7071 can be reached from other machines, so a token is required",
                "hint: add `token: \"${MEDDLER_ADMIN_TOKEN}\"`",
            ],
        );
    }

    #[test]
    fn an_agent_is_forwarded_or_played() {
        let played =
            "version: 1\nremote_agents:\n  a: { listen: ':0', skills: [track], reply: hi }\n";
        let config = parse(played).unwrap();
        assert!(config.agents[0].script.is_some());
        check(
            "version: 1\nremote_agents:\n  a: { listen: ':0' }\n",
            &[
                "m.yaml:3:3: `forward` is missing in `remote_agents.a`",
                "hint: give the agent's URL, or `reply: ...` to have Meddler play it",
            ],
        );
        check(
            "version: 1\nremote_agents:\n  a: { listen: ':0', forward: 'http://a', reply: hi }\n",
            &[
                "m.yaml:3:43: `reply` is for agents without `forward` in `remote_agents.a`",
                "hint: leave out `forward` to have Meddler play the agent",
            ],
        );
        check(
            "version: 1\nremote_agents:\n  a: { addr: '127.0.0.1:1', reply: x }\n  b: { listen: '127.0.0.1:1', reply: x }\n",
            &[
                "m.yaml:4:16: `a` listens on 127.0.0.1:1 already",
                "hint: every remote agent has a port of its own",
            ],
        );
    }

    #[test]
    fn an_agent_that_forwards_to_this_daemon_itself_is_refused() {
        for (listen, forward) in [
            ("127.0.0.1:8095", "http://127.0.0.1:8095"),
            ("0.0.0.0:8095", "http://localhost:8095/a2a"),
            ("10.0.0.7:80", "http://10.0.0.7"),
        ] {
            check(
                &format!(
                    "version: 1\nremote_agents:\n  a: {{ listen: '{listen}', forward: '{forward}' }}\n"
                ),
                &[
                    &format!("m.yaml:3:{}: `a` forwards to the port of `a`", 29 + listen.len()),
                    "hint: give the address of the agent itself",
                ],
            );
        }
        parse("version: 1\nremote_agents:\n  a: { listen: '127.0.0.1:80', forward: 'http://a' }\n")
            .unwrap();
    }

    #[test]
    fn a_reader_needs_only_what_says_where_the_recording_is() {
        let source = "version: 1\nstore: { path: rec }\nremote_agents:\n  a: { headers: { X: \"${UNSET}\" } }\n";
        let config = ReaderConfig::parse("m.yaml", Path::new("dir"), source, &environment).unwrap();
        assert_eq!(config.store.path, Path::new("dir/rec"));
        assert_eq!(config.agents, ["a"]);
        let source = "store: { path: \"${UNSET}\" }\n";
        let told = ReaderConfig::parse("m.yaml", Path::new(""), source, &environment);
        assert!(told.unwrap_err().to_string().contains("`UNSET` is not set"));
    }

    #[test]
    fn a_secret_is_not_repeated_by_an_error() {
        let told =
            parse(&format!("{AGENT}    timeout: {{ connect: \"${{TOKEN}}\" }}\n")).unwrap_err();
        assert!(!told.contains("s3cret") && told.contains("${TOKEN}"), "{told}");
    }
}
