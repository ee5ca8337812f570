//! Protobuf fields as they stand in their octets. No schema: names of fields are the caller's business.

use bytes::BufMut;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'o> {
    /// Its number in the schema.
    pub(crate) number: u32,
    /// All its octets, the tag included.
    pub(crate) raw: &'o [u8],
    /// What it holds.
    pub(crate) value: Value<'o>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'o> {
    /// A number or flag.
    Varint,
    /// Octets, a text, or a message.
    Octets(&'o [u8]),
    /// Four or eight octets.
    Fixed,
}

/// What becomes of a field.
pub(crate) enum Change {
    /// It stays as it is.
    Keep,
    /// It is left out.
    Remove,
    /// It holds other octets.
    Replace(Vec<u8>),
}

impl<'o> Field<'o> {
    /// The octets it holds, if it holds octets.
    pub(crate) fn octets(self) -> Option<&'o [u8]> {
        match self.value {
            Value::Octets(octets) => Some(octets),
            Value::Varint | Value::Fixed => None,
        }
    }

    /// The text it holds, if it holds one.
    pub(crate) fn text(self) -> Option<&'o str> {
        self.octets().and_then(|octets| std::str::from_utf8(octets).ok())
    }
}

/// The fields of a message, in order; `None` when the octets are no protobuf.
pub(crate) fn fields(octets: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    let mut rest = octets;
    while !rest.is_empty() {
        let (field, after) = field(rest)?;
        fields.push(field);
        rest = after;
    }
    Some(fields)
}

/// The last field of this number that holds octets: the one that counts, in proto3.
pub(crate) fn last(octets: &[u8], number: u32) -> Option<&[u8]> {
    let fields = fields(octets)?;
    fields.into_iter().rev().filter(|field| field.number == number).find_map(Field::octets)
}

/// The message with some of its fields changed. `None` when the octets are no protobuf.
pub(crate) fn map(octets: &[u8], change: &mut dyn FnMut(Field<'_>) -> Change) -> Option<Vec<u8>> {
    let mut changed = Vec::with_capacity(octets.len());
    for field in fields(octets)? {
        match change(field) {
            Change::Keep => changed.put_slice(field.raw),
            Change::Remove => {}
            Change::Replace(value) => put(&mut changed, field.number, &value),
        }
    }
    Some(changed)
}

/// Appends a field that holds octets.
pub(crate) fn put(to: &mut Vec<u8>, number: u32, octets: &[u8]) {
    put_varint(to, u64::from(number) << 3 | 2);
    put_varint(to, octets.len() as u64);
    to.put_slice(octets);
}

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            to.put_u8(low & 0x7f);
            return;
        }
        to.put_u8(low | 0x80);
    }
}

fn field(octets: &[u8]) -> Option<(Field<'_>, &[u8])> {
    let (tag, rest) = varint(octets)?;
    let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0)?;
    let (value, rest) = match tag & 7 {
        0 => {
            let (_, rest) = varint(rest)?;
            (Value::Varint, rest)
        }
        1 => (Value::Fixed, rest.get(8..)?),
        2 => {
            let (len, rest) = varint(rest)?;
            let (value, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            (Value::Octets(value), rest)
        }
        5 => (Value::Fixed, rest.get(4..)?),
        _ => return None,
    };
    let raw = octets.get(..octets.len() - rest.len())?;
    Some((Field { number, raw, value }, rest))
}

fn varint(octets: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (index, octet) in octets.iter().enumerate().take(10) {
        value |= u64::from(octet & 0x7f) << (7 * index);
        if octet & 0x80 == 0 {
            return Some((value, octets.get(index + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn fields_joined_are_the_message(octets in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Some(fields) = fields(&octets) {
                let joined: Vec<u8> = fields.iter().flat_map(|field| field.raw.to_vec()).collect();
                prop_assert_eq!(joined, octets);
            }
        }

        #[test]
        fn what_is_put_is_read(number in 1_u32..5000, text in ".*") {
            let mut octets = Vec::new();
            put(&mut octets, number, text.as_bytes());
            put(&mut octets, number + 1, &[]);
            let fields = fields(&octets).unwrap();
            prop_assert_eq!(fields[0].text(), Some(text.as_str()));
            prop_assert_eq!((fields[0].number, fields[1].number), (number, number + 1));
            prop_assert_eq!(fields.len(), 2);
        }
    }
}
