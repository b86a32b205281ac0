//! Attributes: what follows the fixed header of a message, as it is put and as it is read.

pub(super) const ALIGN: usize = 4;
const NLA_TYPE_MASK: u16 = 0x3fff;

/// A run of attributes (type, length, value), padded to four bytes each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn put(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.0.extend_from_slice(&(value.len() as u16 + 4).to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.raw(value)
    }

    pub fn u8(&mut self, kind: u16, value: u8) -> &mut Self {
        self.put(kind, &[value])
    }

    pub fn u16(&mut self, kind: u16, value: u16) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    pub fn u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    pub fn u64(&mut self, kind: u16, value: u64) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// A string with its terminating zero.
    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.put(kind, &bytes)
    }

    /// An attribute made of attributes.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.0.len();
        self.put(kind, &[]);
        fill(self);
        let length = (self.0.len() - start) as u16;
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// Bytes as they are, without a header; for structures whose length tells their end.
    pub fn exactly(&mut self, value: &[u8]) -> &mut Self {
        self.0.extend_from_slice(value);
        self
    }

    /// A fixed structure without an attribute header, padded to four bytes.
    pub fn raw(&mut self, value: &[u8]) -> &mut Self {
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(ALIGN), 0);
        self
    }
}

/// Goes through attributes as `(type, value)`; stops at the first one that does not fit.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & NLA_TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(ALIGN)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// The value of the first attribute of a type.
#[must_use]
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

#[must_use]
pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes.get(offset..)?.first_chunk().map(|chunk| u16::from_ne_bytes(*chunk))
}

#[must_use]
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|chunk| u32::from_ne_bytes(*chunk))
}

#[must_use]
pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().map(|chunk| u64::from_ne_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_back_as_they_were_put() {
        let mut made = Attributes::new();
        made.u8(1, 7).nest(2, |inner| {
            inner.text(3, "ab").u64(4, 9);
        });
        assert_eq!(made.bytes().len() % ALIGN, 0);
        let found: Vec<(u16, &[u8])> = attributes(made.bytes()).collect();
        assert_eq!(found[0], (1, &[7_u8][..]));
        assert_eq!(attribute(found[1].1, 3), Some(&b"ab\0"[..]));
        assert_eq!(attribute(found[1].1, 4).and_then(|value| u64_at(value, 0)), Some(9));
    }

    #[test]
    fn broken_attributes_end_the_walk() {
        for bytes in [&[8_u8, 0, 1, 0, 5][..], &[3, 0, 1, 0], &[0, 0, 0, 0], &[4]] {
            assert_eq!(attributes(bytes).count(), 0);
        }
    }
}
