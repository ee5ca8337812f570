//! What an answer says, put together as a reader will see it.
//!
//! A model speaks in pieces: the chunks of a streamed artifact, the parts that a poll returns. A secret
//! that it repeats is in none of them and still whole in what `show` prints, so known values are looked
//! for across the pieces as well.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::json::{Scalar, ScalarKind, Step};

/// One piece of text: where it stands in the body, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    /// The artifact that it is a part of.
    artifact: Option<u64>,
}

/// The pieces of a body, in order.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pieces: Vec<Piece>,
}

/// The texts of one JSON document while it is read: an artifact may be named after its parts.
#[derive(Default)]
pub(super) struct Reading {
    texts: Vec<(Range<usize>, Option<u64>)>,
    /// By the way to an artifact: its id. Both as digests, so that nothing is copied for each text.
    artifacts: BTreeMap<u64, u64>,
}

/// Pieces put one after the other.
pub(super) struct Joined {
    pub(super) octets: Vec<u8>,
    /// Where each piece begins: here, and in the body.
    starts: Vec<(usize, usize)>,
}

impl Texts {
    pub(super) fn add(&mut self, range: Range<usize>, artifact: Option<u64>) {
        self.pieces.push(Piece { range, artifact });
    }

    /// Takes over the pieces of a part of the body, each put where it stands in the whole.
    pub(super) fn extend(
        &mut self,
        other: Self,
        place: impl Fn(Range<usize>) -> Vec<Range<usize>>,
    ) {
        for Piece { range, artifact } in other.pieces {
            self.pieces.extend(place(range).into_iter().map(|range| Piece { range, artifact }));
        }
    }

    /// The pieces as readers put them together: all of them, and those of each artifact, because the
    /// chunks of several may come by turns.
    pub(super) fn joined(&self, body: &[u8]) -> Vec<Joined> {
        if self.pieces.len() < 2 {
            return Vec::new();
        }
        let mut by_artifact: BTreeMap<u64, Vec<&Piece>> = BTreeMap::new();
        for piece in &self.pieces {
            if let Some(artifact) = piece.artifact {
                by_artifact.entry(artifact).or_default().push(piece);
            }
        }
        let all = Joined::of(body, self.pieces.iter());
        let is_all = |pieces: &&Vec<&Piece>| pieces.len() == self.pieces.len();
        let of_artifacts = by_artifact
            .values()
            .filter(|pieces| pieces.len() > 1 && !is_all(pieces))
            .map(|pieces| Joined::of(body, pieces.iter().copied()));
        std::iter::once(all).chain(of_artifacts).collect()
    }
}

impl Reading {
    pub(super) fn visit(&mut self, scalar: &Scalar<'_>) {
        if scalar.kind != ScalarKind::String {
            return;
        }
        match scalar.path {
            [artifact @ .., Step::Member(_), Step::Element(_), Step::Member(name)]
                if name == "text" =>
            {
                self.texts.push((scalar.range.clone(), Some(digest(artifact))));
            }
            [.., Step::Member(name)] if name == "text" => {
                self.texts.push((scalar.range.clone(), None));
            }
            [artifact @ .., Step::Member(name)]
                if name == "artifactId" || name == "artifact_id" =>
            {
                self.artifacts.insert(digest(artifact), digest(scalar.raw));
            }
            [..] => {}
        }
    }

    pub(super) fn finish(self, texts: &mut Texts) {
        for (range, artifact) in self.texts {
            let artifact = artifact.and_then(|way| self.artifacts.get(&way)).copied();
            texts.add(range, artifact);
        }
    }
}

impl Joined {
    fn of<'a>(body: &[u8], pieces: impl Iterator<Item = &'a Piece>) -> Self {
        let mut joined = Self { octets: Vec::new(), starts: Vec::new() };
        for piece in pieces {
            joined.starts.push((joined.octets.len(), piece.range.start));
            joined.octets.extend_from_slice(body.get(piece.range.clone()).unwrap_or_default());
        }
        joined
    }

    /// Where these octets stand in the body: one range for each piece that has some of them.
    pub(super) fn origins(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let first = self.starts.partition_point(|(start, _)| *start <= range.start);
        let mut origins = Vec::new();
        for index in first.saturating_sub(1)..self.starts.len() {
            let Some((start, origin)) = self.starts.get(index).copied() else { break };
            if start >= range.end {
                break;
            }
            let end = self.starts.get(index + 1).map_or(self.octets.len(), |(next, _)| *next);
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                origins.push(origin + from - start..origin + to - start);
            }
        }
        origins
    }
}

/// A number that stands for an id.
pub(super) fn digest(id: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    fn joined(json: &str) -> Vec<String> {
        let mut reading = Reading::default();
        json::scalars(json.as_bytes(), &mut |scalar| reading.visit(scalar));
        let mut texts = Texts::default();
        reading.finish(&mut texts);
        let joined = texts.joined(json.as_bytes()).into_iter();
        let mut joined: Vec<_> = joined.map(|it| String::from_utf8(it.octets).unwrap()).collect();
        joined.sort();
        joined
    }

    #[test]
    fn the_texts_of_each_artifact_are_put_together() {
        let json = r#"[{"artifact":{"artifactId":"a","parts":[{"text":"one "}]}},
            {"artifact":{"parts":[{"text":"ONE "},{"text":"TWO"}],"artifactId":"b"}},
            {"artifact":{"artifactId":"a","parts":[{"text":"two"}]}}]"#;
        assert_eq!(joined(json), ["ONE TWO", "one ONE TWOtwo", "one two"]);
        assert_eq!(joined(r#"{"parts":[{"text":"alone"}]}"#), [""; 0]);
    }

    #[test]
    fn a_part_of_it_is_found_in_each_piece() {
        let pieces = [3..6, 10..12, 20..25].map(|range| Piece { range, artifact: None });
        let joined = Joined::of(&[b'x'; 30], pieces.iter());
        assert_eq!(joined.origins(&(1..7)), [4..6, 10..12, 20..22]);
        assert_eq!(joined.origins(&(2..4)), [5..6, 10..11]);
    }
}
