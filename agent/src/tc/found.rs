//! Attributes as they are found in the words, sent in the order in which tc sends them.

use crate::kernel::netlink::Attributes;

/// Attribute values by type; a later word for the same type replaces an earlier one, as in tc.
#[derive(Debug, Default)]
pub struct Found(Vec<(u16, Vec<u8>)>);

impl Found {
    pub fn put(&mut self, kind: u16, value: &[u8]) {
        self.0.retain(|(other, _)| *other != kind);
        self.0.push((kind, value.to_vec()));
    }

    pub fn u32(&mut self, kind: u16, value: u32) {
        self.put(kind, &value.to_ne_bytes());
    }

    /// A value whose zero means "the kernel's default", which tc does not send.
    pub fn unless_zero(&mut self, kind: u16, value: u32) {
        if value != 0 {
            self.u32(kind, value);
        }
    }

    /// Forgets what was said of these types.
    pub fn remove(&mut self, kinds: &[u16]) {
        self.0.retain(|(kind, _)| !kinds.contains(kind));
    }

    /// The attributes of these types, in this order.
    #[must_use]
    pub fn in_order(&self, order: &[u16]) -> Attributes {
        let mut options = Attributes::new();
        for kind in order {
            if let Some((_, value)) = self.0.iter().find(|(other, _)| other == kind) {
                options.put(*kind, value);
            }
        }
        options
    }
}
