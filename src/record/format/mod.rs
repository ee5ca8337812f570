//! What a store's files hold, octet by octet: a recording made today opens in years.
//!
//! This is the one description of the format; the modules below carry it out and `fixtures/store/`
//! holds files of every version that a test opens. Numbers are little-endian, times are microseconds
//! since 1970 (UTC, signed), texts are UTF-8, CRC is CRC-32 (IEEE).
//!
//! ```text
//! FORMAT            one line of JSON: {"a2a_store":2,"store_id":"<uuid>","created":"<RFC 3339>"}
//! LOCK              flock of the writing process; holds "process <pid>"
//! digest.key        32 octets: the HMAC key of redaction digests
//! seg/000001.log    segments, six digits or more, without gaps but for what retention removed
//! seg/000001.idx    the sidecar of a sealed segment; can always be made anew from the log
//! state/            sled: the daemon's own state; can always be made anew from the log
//! ```
//!
//! # A segment: header, then records
//!
//! ```text
//!  0  8  "A2AMDSEG"
//!  8  2  format version, 2
//! 10  2  length of this header, 64
//! 12  4  number of the segment
//! 16 16  id of the store
//! 32  8  time of creation
//! 40  4  octets of snapshot that follow the header
//! 44  4  bits: 1 the snapshot holds the whole state of the daemon
//! 48  4  how often the segment has been rewritten
//! 52  8  zero
//! 60  4  CRC of octets 0..60
//! ```
//!
//! The snapshot repeats (flag `SNAPSHOT`) what earlier segments said of sessions and state, so that
//! an earlier segment can be removed and a reader never needs the daemon's state store.
//!
//! # A record
//!
//! ```text
//!  0  2  A2 5E, what a reader looks for behind a damaged place
//!  2  1  kind: 0 commit mark, 1 exchange, 2 session, 3 event, 4 gap, 5 state put,
//!        6 state delete, 7 pack
//!  3  1  flags: 1 body is compressed, 2 snapshot, 4 body is in a pack
//!  4  2  H, length of the head
//!  6  2  zero
//!  8  4  B, length of the body as stored; at most 1 GiB
//! 12  4  CRC of the body as stored
//! 16  4  CRC of octets 0..16, 20..36 and the head, begun with the CRC of octets 0..40 of the
//!        segment's header
//! 20 16  id: the exchange's; zero for other kinds
//! 36  H  head
//! ..  B  body
//! ```
//!
//! Two CRCs, so that heads can be walked and trusted without reading bodies, and damage in a body
//! does not hide what follows it. The head's CRC is begun with the segment's, whose header holds a
//! random id: octets of a peer can never be taken for a record, wherever damage makes a reader look.
//! A kind that a reader does not know is skipped. A compressed body is its plain length (4 octets)
//! and one zstd frame.
//!
//! # Packs
//!
//! What agents say in one moment looks alike, so the bodies of exchanges that are written together are
//! compressed together: in a tenth of the time and of the room that each of them would take. A pack's
//! body is such bodies, one after the other; its head is how many there are (4). Behind it stand the
//! records of their exchanges, with flag 4 and this as their body:
//!
//! ```text
//! 0 4  how many octets before this record its pack begins
//! 4 4  where its body begins in the plain body of the pack
//! 8 4  how long it is
//! ```
//!
//! A pack is damaged as a whole, and is written with its exchanges under one commit mark. It holds at
//! most 1 MiB; a writer ends one at 128 KiB.
//!
//! # The head of every record but the commit mark and the pack
//!
//! ```text
//!  0  8  time: the exchange's start, the session's start, when the event or gap was
//!  8 16  instance: the run of the daemon
//! 24  8  microseconds from start to end of the answer; all ones: unknown
//! 32  2  HTTP status; 0 none
//! 34  1  operation, 35 1 outcome, 36 1 binding, 37 1 version: numbers of codes.rs; 0 none or unknown
//! 38  1  bits: 1 has problems, 2 something was lost or cut off, 4 answered by a stream
//! 39  1  how many texts follow, at least 6; each is a length (1 octet) and as many octets
//! 40  …  session, agent, orchestrator, message id, context id, task id; then the rules that fired
//! ```
//!
//! An empty text is none. A text of more than 255 octets stands shortened: its first octets (at most
//! 187, a whole number of characters), `…`, and the SHA-256 of the whole in hex; the whole text is in
//! the body. Texts beyond those a reader knows are skipped.
//!
//! The head of a commit mark is the offset at which the mark stands (8) and its time (8). What
//! precedes a mark was on the disk before the mark was written: readers of other processes show
//! nothing behind the last mark.
//!
//! # Bodies
//!
//! - exchange: length of the JSON (4), the JSON of `body.rs`, then the kept octets of the bodies of
//!   request, response and delivered, each as long as the JSON says. Octets are never Base64.
//! - session, event, gap: the JSON of the record of that name in `record::store`.
//! - state put and delete: length of the space's name (1), the name, length of the key (4), the key;
//!   for a put the value follows.
//!
//! # A sidecar
//!
//! ```text
//!   0  8  "A2AMDIDX"
//!   8  2  format version, 1
//!  10  2  length of this header, 128
//!  12  4  number of the segment
//!  16 16  id of the store
//!  32  4  CRC in the header of the segment it belongs to
//!  36  4  N, rows
//!  40  8  length of the segment it belongs to; with another length the sidecar is stale
//!  48  8  earliest time of any record, 56 8 latest
//!  64  4  M, notes
//!  68  4  CRC of everything behind this header
//!  72  8  octets of damaged places found in the segment
//!  80 16  lowest exchange id, 96 16 highest
//! 112 12  zero
//! 124  4  CRC of octets 0..124
//! 128     N rows of 64 octets, by id:
//!           0 16 id · 16 8 start · 24 4 offset of the record · 28 4 its length · 32 1 operation ·
//!           33 1 outcome · 34 1 binding · 35 1 version · 36 2 HTTP status · 38 1 bits of the head ·
//!           39 1 how many rules fired · 40 4 milliseconds taken, all ones unknown ·
//!           44 4 key of the session · 48 4 agent · 52 4 message id · 56 4 context id · 60 4 task id
//!         five lists of N pairs (key 4, number of the row 4) sorted by both, in the same order
//!         M notes: offset (4), kind (1), zero (3), for each record that is no exchange, mark or state
//! ```
//!
//! A key is the CRC of the text as it stands in the head; no text has key 0, a text whose CRC is 0
//! has key 1. Two texts may share a key: readers compare the head itself.
//!
//! # Versions
//!
//! 2 has packs. Segments of version 1 are read; one is not added to: the next begins.
//!
//! Additions (a new kind of record, a JSON member, a text or octets at the end of a head) keep the
//! version. Anything else raises it; a reader of the older version refuses nothing but may know less,
//! and a writer never touches a store whose version is above its own.

pub(in crate::record) mod body;
pub(in crate::record) mod codes;
pub(in crate::record) mod entry;
pub(in crate::record) mod fields;
pub(in crate::record) mod head;
pub(in crate::record) mod index;
pub(in crate::record) mod pack;
pub(in crate::record) mod record;
pub(in crate::record) mod segment;

/// The format this program writes.
pub const VERSION: u16 = 2;

/// The longest body of a record, in octets.
pub const BODY_MAX: usize = 1 << 30;
