//! The sessions a recording knows: what the snapshot at the head of each segment repeats.

use crate::record::store::SessionRecord;

/// Session records in order. Of a name that was opened often the first and the last are kept, so that
/// the list does not grow with every run under the same name.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions(Vec<SessionRecord>);

impl Sessions {
    pub(super) fn add(&mut self, session: SessionRecord) {
        let mut same = self.0.iter().enumerate().filter(|(_, known)| known.name == session.name);
        let first = same.next();
        let last = same.next_back().map(|(index, _)| index);
        if first.is_some_and(|(_, known)| *known == session) && last.is_none() {
            return;
        }
        if let Some(index) = last {
            self.0.remove(index);
        }
        self.0.push(session);
    }

    pub(super) fn contains(&self, session: &SessionRecord) -> bool {
        self.0.contains(session)
    }

    pub(super) fn as_list(&self) -> &[SessionRecord] {
        &self.0
    }

    pub(super) fn into_list(self) -> Vec<SessionRecord> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::InstanceId;

    fn session(name: &str, second: i64) -> SessionRecord {
        SessionRecord {
            name: name.to_owned(),
            instance: InstanceId::from_bytes([1; 16]),
            started: jiff::Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn of_a_session_opened_again_and_again_the_first_and_the_last_are_kept() {
        let mut sessions = Sessions::default();
        for (name, second) in [("a", 1), ("a", 1), ("b", 2), ("a", 3), ("a", 4), ("c", 5)] {
            sessions.add(session(name, second));
        }
        let expected = [session("a", 1), session("b", 2), session("a", 4), session("c", 5)];
        assert_eq!(sessions.as_list(), expected);
    }
}
