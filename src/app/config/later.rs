//! Keys that the product describes and this version does not act on.
//!
//! They are refused, because a file that is half understood is worse than none; but as what they are,
//! not as slips of the pen.

use super::error::Fault;
use super::tree::{Key, Node};

/// A key to come.
struct Later {
    /// The section it stands in: `faults[]` is any rule, `remote_agents.*` any agent; the root is empty.
    section: &'static str,
    key: &'static str,
    /// What it would bring.
    what: &'static str,
}

const fn later(section: &'static str, key: &'static str, what: &'static str) -> Later {
    Later { section, key, what }
}

const LATER: &[Later] = &[
    later("", "intercept", "transparent interception"),
    later("", "orchestrators", "names for orchestrators"),
    later("store", "keep", "retention"),
    later("remote_agents.*", "extended", "extended cards of played agents"),
    later("remote_agents.*", "match", "recognition of agents that call"),
    later("remote_agents.*", "replay", "replay of recordings"),
    later("remote_agents.*", "token", "credentials for played agents"),
    later("faults[]", "for", "expiry of rules"),
    later("faults[].when", "direction", "condition on the direction"),
    later("faults[].when", "json_path", "condition on JSON paths"),
    later("faults[].when", "skill", "condition on skills"),
    later("faults[].when", "state", "condition on states"),
    later("faults[].when", "status", "condition on statuses"),
    later("faults[].inject", "card", "faults of cards"),
    later("faults[].inject", "connection", "faults of connections"),
    later("faults[].inject", "mutate", "mutation"),
    later("faults[].inject", "outcome", "ambiguous outcomes"),
    later("faults[].inject", "preset", "presets"),
    later("faults[].inject", "protocol", "faults of the protocol"),
    later("faults[].inject", "push", "faults of deliveries"),
    later("faults[].inject", "stream", "faults of streams"),
];

/// What of `node`, the section of this name, is to come; what lies below it is not looked at.
pub(super) fn refused(section: &str, node: &Node) -> Vec<Fault> {
    let known = |key: &Key| LATER.iter().find(|row| row.section == section && row.key == key.name);
    let refuse = |key: &Key| {
        let Later { key: name, what, .. } = known(key)?;
        let text = format!("`{name}`: this version has no {what} yet");
        Some(Fault::new(key.at, text).with_hint("leave it out"))
    };
    node.members().iter().filter_map(|(key, _)| refuse(key)).collect()
}

/// The same for a rule of `faults:`, whole.
pub(super) fn refused_in_rule(rule: &Node) -> Vec<Fault> {
    let mut faults = refused("faults[]", rule);
    faults.extend(
        rule.member("when").map(|when| refused("faults[].when", when)).into_iter().flatten(),
    );
    if let Some(inject) = rule.member("inject") {
        faults.extend(refused("faults[].inject", inject));
        for one in inject.items() {
            faults.extend(refused("faults[].inject", one));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::app::config::Config;

    /// A file with this key in this section, and nothing else that could be wrong.
    fn file(row: &Later, value: &str) -> String {
        let Later { section, key, .. } = row;
        let agent = "listen: ':0', forward: 'http://a'";
        let (mut root, mut store, mut of_agent, mut rule) =
            (String::new(), String::new(), String::new(), "inject: empty".to_owned());
        let entry = format!("{key}: {value}");
        match *section {
            "" => root = entry,
            "store" => store = entry,
            "remote_agents.*" => of_agent = format!(", {entry}"),
            "faults[]" => rule = format!("inject: empty, {entry}"),
            "faults[].when" => rule = format!("inject: empty, when: {{ {entry} }}"),
            "faults[].inject" => rule = format!("inject: [{{ {entry} }}]"),
            other => panic!("{other}"),
        }
        format!(
            "version: 1\n{root}\nstore: {{ {store} }}\nremote_agents: {{ a: {{ {agent}{of_agent} }} }}\n\
             faults: [{{ name: x, {rule} }}]\n"
        )
    }

    #[test]
    fn what_is_to_come_is_refused_as_such_and_nothing_else_is_said() {
        for row in LATER {
            let source = file(row, "{}");
            let told = Config::parse("m.yaml", Path::new(""), &source, &|_| None).unwrap_err();
            assert_eq!(told.len(), 1, "{told}");
            let expected = format!("`{}`: this version has no {} yet", row.key, row.what);
            assert!(told.to_string().contains(&expected), "{told}");
        }
    }

    #[test]
    fn nothing_is_called_missing_that_this_version_has() {
        for row in LATER {
            // The same file with a slip in the key reaches the reader itself, which lists what it knows.
            let slip = Later { key: "zzzzzzzz", ..*row };
            let told = Config::parse("m.yaml", Path::new(""), &file(&slip, "{}"), &|_| None);
            let told = told.unwrap_err().to_string();
            let (_, known) = told.split_once("known: ").expect(&told);
            let known: Vec<&str> = known.lines().next().unwrap().split(", ").collect();
            assert!(!known.contains(&row.key), "`{}` is known: {told}", row.key);
        }
    }
}
