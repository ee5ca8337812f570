//! Whether what passed is as the specification wants it.

use super::super::finding::Finding;
use super::super::lint::{self, Flaw, Level};
use super::super::quote::{plain, plural};
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// The lint finds nothing from this level on.
#[derive(Debug)]
pub(super) struct Conforms {
    level: Level,
    except: Vec<String>,
}

const LEVELS: &[(&str, Level)] = &[("must", Level::Must), ("should", Level::Should)];

impl Named for Conforms {
    const NAME: &'static str = "conforms";
    const SUMMARY: &'static str = "the conformance lint finds nothing: `level: must` (default) asks for what a peer must, `should` for its manners too; `except` names rules that are not asked";
    const EXAMPLES: &'static [&'static str] = &[
        "conforms: { level: must }",
        "conforms: { level: should, except: [error-info, card-path] }",
        "conforms: must",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Text(_) = body.value {
            return Some(Self { level: reader.word(body, LEVELS)?, except: Vec::new() });
        }
        let mut fields = Fields::of(body, "a map like { level: must }", reader)?;
        let level = match fields.take("level") {
            None => Some(Level::Must),
            Some(node) => reader.word(node, LEVELS),
        };
        let except = match fields.take("except") {
            None => Some(Vec::new()),
            Some(node) => reader.names(node).filter(|names| {
                let unknown = names.iter().find_map(|name| lint::named(name).err());
                unknown.map(|why| reader.problem(node.at, why)).is_none()
            }),
        };
        fields.finish(reader);
        Some(Self { level: level?, except: except? })
    }
}

impl Assertion for Conforms {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let exchanges = view.exchanges();
        if exchanges.is_empty() {
            let text = "nothing to look at: no exchange is left here";
            return vec![Finding::vacuous("exchanges that conform", text)];
        }
        let mut flaws = lint::lint(&exchanges);
        flaws.retain(|flaw| {
            flaw.level >= self.level && !self.except.iter().any(|except| except == flaw.rule)
        });
        let mut findings = Vec::new();
        for rule in lint::all() {
            let broken: Vec<&Flaw> = flaws.iter().filter(|flaw| flaw.rule == rule.id).collect();
            let Some(first) = broken.first() else { continue };
            let expected = format!("{}: {} ({})", rule.id, rule.summary, first.section);
            let proof = broken.iter().take(5).filter_map(|flaw| {
                let exchange = exchanges.iter().find(|exchange| exchange.id == flaw.exchange)?;
                let text = plain(&format!("{}: {}", flaw.at, flaw.text));
                Some(view.evidence_of_exchange(exchange, text))
            });
            let actual = format!("broken in {}", plural(broken.len(), "place"));
            findings.push(Finding::failed(expected, actual).proved_by(proof));
        }
        findings
    }
}
