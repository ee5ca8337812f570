//! Addresses of ours in what an agent says, and the orchestrator's own in their place.

use memchr::memmem;

use super::{Find, Known};
use crate::a2a::splice::fields::{self, Change};

/// What every address of ours has, however its slashes are escaped.
const MARK: &[u8] = b".meddler";

/// Messages in messages that are looked into; what an agent repeats stands less deep.
const DEPTH_MAX: usize = 32;

/// How JSON texts spell the slash.
const SLASHES: &[&str] = &["/", "\\/"];

/// Whether it may hold an address of ours: a cheap look.
pub(super) fn is_there(octets: &[u8]) -> bool {
    memmem::find(octets, MARK).is_some()
}

/// A text as it stands in a JSON string.
pub(crate) fn text_in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Puts own addresses back into a text. `spell` writes one as it is to stand there.
pub(crate) fn restore_in_text(
    octets: &[u8],
    spell: fn(&str) -> String,
    find: Find<'_>,
) -> Option<Vec<u8>> {
    let mut changed = Vec::new();
    let mut done = 0;
    for at in memmem::find_iter(octets, MARK) {
        let Some((token, end)) = token_after(octets, at + MARK.len()) else { continue };
        let Some(known) = find(token) else { continue };
        let Some(start) = start_of(octets, end, &known).filter(|start| *start >= done) else {
            continue;
        };
        changed.extend_from_slice(octets.get(done..start).unwrap_or_default());
        changed.extend_from_slice(spell(&known.own).as_bytes());
        done = end;
    }
    if done == 0 {
        return None;
    }
    changed.extend_from_slice(octets.get(done..).unwrap_or_default());
    Some(changed)
}

/// The token behind `/push/`, and where it ends.
fn token_after(octets: &[u8], from: usize) -> Option<(&str, usize)> {
    let rest = octets.get(from..)?;
    let rest = SLASHES.iter().find_map(|slash| {
        rest.strip_prefix(slash.as_bytes())?.strip_prefix(b"push")?.strip_prefix(slash.as_bytes())
    })?;
    let is_in_token = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    let len = rest.iter().take_while(|octet| is_in_token(octet)).count();
    let token = std::str::from_utf8(rest.get(..len)?).ok()?;
    Some((token, octets.len() - rest.len() + len))
}

/// Where the address that ends here begins.
fn start_of(octets: &[u8], end: usize, known: &Known) -> Option<usize> {
    let before = octets.get(..end)?;
    SLASHES.iter().find_map(|slash| {
        let spelled = known.given.replace('/', slash);
        before.ends_with(spelled.as_bytes()).then(|| end - spelled.len())
    })
}

/// Puts own addresses back into a message of whatever type: a field that holds one is a text, or a
/// message that holds it. An address is no message (its first letters name no field), so the two are
/// told apart by trying.
pub(crate) fn restore_in_protobuf(message: &[u8], find: Find<'_>) -> Option<Vec<u8>> {
    descend(message, DEPTH_MAX, find)
}

fn descend(octets: &[u8], depth: usize, find: Find<'_>) -> Option<Vec<u8>> {
    let depth = depth.checked_sub(1)?;
    let mut is_changed = false;
    let changed = fields::map(octets, &mut |field| {
        let Some(inner) = field.octets().filter(|inner| is_there(inner)) else {
            return Change::Keep;
        };
        let new = descend(inner, depth, find).or_else(|| {
            std::str::from_utf8(inner).ok()?;
            restore_in_text(inner, str::to_owned, find)
        });
        match new {
            Some(new) => {
                is_changed = true;
                Change::Replace(new)
            }
            None => Change::Keep,
        }
    })?;
    is_changed.then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "tok_EN-1";

    fn find(token: &str) -> Option<Known> {
        (token == TOKEN).then(|| Known {
            given: format!("http://p.test:81/x/.meddler/push/{TOKEN}"),
            own: "https://c.test/hook?k=\"1\"".to_owned(),
        })
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let actual = restore_in_text(text.as_bytes(), text_in_json, &mut find);
        let actual = actual.map(|octets| String::from_utf8(octets).unwrap());
        assert_eq!(actual.as_deref(), expected, "{text}");
    }

    #[test]
    fn an_address_of_ours_is_replaced_wherever_it_stands() {
        let own = r#"https://c.test/hook?k=\"1\""#;
        check(
            r#"{"url" : "http://p.test:81/x/.meddler/push/tok_EN-1"}"#,
            Some(&format!(r#"{{"url" : "{own}"}}"#)),
        );
        check(
            r#"["http:\/\/p.test:81\/x\/.meddler\/push\/tok_EN-1","input 'http://p.test:81/x/.meddler/push/tok_EN-1' "]"#,
            Some(&format!(r#"["{own}","input '{own}' "]"#)),
        );
    }

    #[test]
    fn what_is_not_quite_ours_stays() {
        check(r#"{"url":"http://p.test:81/x/.meddler/push/tok_EN-12"}"#, None);
        check(r#"{"url":"http://other.test/.meddler/push/tok_EN-1"}"#, None);
        check(".meddler/push/", None);
        check(".meddler", None);
    }

    #[test]
    fn in_a_message_the_lengths_around_it_follow() {
        let mut config = Vec::new();
        fields::put(&mut config, 4, b"http://p.test:81/x/.meddler/push/tok_EN-1");
        fields::put(&mut config, 5, b"token");
        let mut list = vec![0x08, 0x01];
        fields::put(&mut list, 1, &config);
        let restored = restore_in_protobuf(&list, &mut find).unwrap();
        let inner = fields::last(&restored, 1).unwrap();
        assert_eq!(fields::last(inner, 4), Some(br#"https://c.test/hook?k="1""#.as_slice()));
        assert_eq!(fields::last(inner, 5), Some(b"token".as_slice()));
        assert_eq!(restored.get(..2), Some([0x08, 0x01].as_slice()));
        assert_eq!(restore_in_protobuf(&config, &mut |_| None), None);
    }
}
