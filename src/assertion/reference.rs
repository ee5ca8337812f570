//! The reference page of the language, written from the tables that the language is read by: what is in
//! it is in the code, and what is in the code is in it.

use std::fmt::Write as _;

use super::events::EVENTS;
use super::kinds::KINDS;
use super::lint;
use super::metrics::{METRICS, statistics};
use super::packs::PACKS;

const HEAD: &str = "# Suites: reference

Written by `meddler suite reference` from the program's own tables; a test keeps this page equal to them.

An assertion is one entry of an `assert:` list. Beside it, or among its settings, may stand `on:` (`agent`,
`delegation: first|last|N|any|every`, `turn: first|last|N`, `sees: reply|events|wire`, or just `events` or
`wire`), `on_turn: first|last|N`, and `injected: include|exclude|only`. What finds nothing to look at does
not hold.
";

/// The page, as Markdown.
pub fn page() -> String {
    let mut page = String::from(HEAD);
    write(&mut page).expect("a String takes any text");
    page
}

fn write(page: &mut String) -> std::fmt::Result {
    writeln!(page, "\n## Assertions\n")?;
    for kind in KINDS {
        writeln!(page, "### `{}`\n\nHolds when {}.\n\n```yaml", kind.name, kind.summary)?;
        for example in kind.examples {
            writeln!(page, "- {example}")?;
        }
        writeln!(page, "```\n")?;
    }
    writeln!(page, "## Packs\n")?;
    for pack in PACKS {
        writeln!(page, "### `{}`\n\n```yaml\n{}```\n", pack.name, pack.text)?;
    }
    let suffixes: Vec<String> = statistics().map(|suffix| format!("`{suffix}`")).collect();
    writeln!(
        page,
        "## Metrics\n\nThose in milliseconds are measured at each delegation, and every value must lie within the \
         bounds; with {} they are one number, by linear interpolation.\n\n| metric | what is counted, or from which octet to which |\n|---|---|",
        suffixes.join(", ")
    )?;
    for metric in METRICS {
        writeln!(page, "| `{}` | {} |", metric.name, metric.definition)?;
    }
    writeln!(page, "\n## Events\n\n| event | when | `where:` |\n|---|---|---|")?;
    for event in EVENTS {
        let fields: Vec<String> = std::iter::once(&"agent")
            .chain(event.fields)
            .map(|field| format!("`{field}`"))
            .collect();
        writeln!(page, "| `{}` | {} | {} |", event.name, event.definition, fields.join(" "))?;
    }
    writeln!(
        page,
        "\n## Rules of the lint\n\nFor `conforms` and `meddler lint`. The sections are those of the specification.\n\n\
         | rule | level | what must be | 1.0 | 0.3 |\n|---|---|---|---|---|"
    )?;
    for rule in lint::all() {
        let (id, level, summary) = (rule.id, rule.level.as_str(), rule.summary);
        let (new, old) = (rule.section_v1_0, rule.section_v0_3);
        writeln!(page, "| `{id}` | {level} | {summary} | {new} | {old} |")?;
    }
    Ok(())
}
