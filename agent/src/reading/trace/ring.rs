//! Pages of the trace ring (`events/header_page`, `events/header_event`; `kernel/trace/ring_buffer.c`).

/// `struct buffer_data_page`: time stamp, length and flags, then events.
const HEADER: usize = 16;
const LENGTH_MASK: u64 = (1 << 20) - 1;
/// Events were lost before this page; with the second flag their number stands behind the last event.
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of the time in an event's own header; an extension holds those above.
const DELTA_BITS: u32 = 27;
/// An absolute stamp holds 59 bits; the rest comes from the page.
const STAMP_MASK: u64 = (1 << 59) - 1;

/// An event: its stamp on the trace clock and its bytes, `common_type` first.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    pub stamp_ns: u64,
    pub data: &'a [u8],
}

impl Event<'_> {
    pub fn id(&self) -> u16 {
        u16::from_le_bytes([self.data[0], self.data[1]])
    }
}

/// The events of one page, in order.
#[derive(Debug)]
pub struct Events<'a> {
    data: &'a [u8],
    stamp: u64,
    /// Events lost before this page (1 when the kernel does not say how many).
    pub missed: u64,
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

fn long(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

impl<'a> Events<'a> {
    /// `None` when the page is too short to be one.
    pub fn of(page: &'a [u8]) -> Option<Self> {
        let (stamp, commit) = (long(page, 0)?, long(page, 8)?);
        let length = (commit & LENGTH_MASK) as usize;
        let data = page.get(HEADER..(HEADER + length).min(page.len()))?;
        let missed = match commit & (MISSED_EVENTS | MISSED_STORED) {
            0 => 0,
            flags if flags & MISSED_STORED != 0 => long(page, HEADER + length).unwrap_or(1),
            _ => 1,
        };
        Some(Self { data, stamp, missed })
    }

    /// Splits off the first `length` bytes.
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.data.split_at_checked(length)?;
        self.data = rest;
        Some(head)
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let header = word(self.data, 0)?;
            let (kind, delta) = (header & 31, u64::from(header >> 5));
            match kind {
                PADDING if delta == 0 => return None,
                PADDING => {
                    let length = word(self.data, 4)? as usize;
                    self.take(4 + length)?;
                    self.stamp += delta;
                }
                TIME_EXTEND => {
                    self.stamp += (u64::from(word(self.data, 4)?) << DELTA_BITS) + delta;
                    self.take(8)?;
                }
                TIME_STAMP => {
                    let low = (u64::from(word(self.data, 4)?) << DELTA_BITS) + delta;
                    self.stamp = (self.stamp & !STAMP_MASK) | low;
                    self.take(8)?;
                }
                0 => {
                    // The first word of the body is the length, itself included.
                    let length = word(self.data, 4)? as usize;
                    self.stamp += delta;
                    return Some(Event { stamp_ns: self.stamp, data: &self.take(4 + length)?[8..] });
                }
                words => {
                    self.stamp += delta;
                    let length = 4 * words as usize;
                    return Some(Event { stamp_ns: self.stamp, data: &self.take(4 + length)?[4..] });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(stamp: u64, commit_flags: u64, body: &[u8]) -> Vec<u8> {
        let mut page = stamp.to_le_bytes().to_vec();
        page.extend((body.len() as u64 | commit_flags).to_le_bytes());
        page.extend(body);
        page
    }

    fn header(kind: u32, delta: u32) -> [u8; 4] {
        (kind | delta << 5).to_le_bytes()
    }

    #[test]
    fn short_and_long_events_carry_running_stamps() {
        let mut body = Vec::new();
        body.extend(header(2, 10));
        body.extend([7, 0, 0, 0, 1, 2, 3, 4]);
        body.extend(header(0, 5));
        body.extend(12u32.to_le_bytes());
        body.extend([9, 0, 0, 0, 5, 6, 7, 8]);
        let page = page(1000, 0, &body);
        let events: Vec<_> =
            Events::of(&page).expect("a page").map(|e| (e.stamp_ns, e.id(), e.data.len())).collect();
        assert_eq!(events, [(1010, 7, 8), (1015, 9, 8)]);
    }

    #[test]
    fn time_extensions_and_padding_are_followed() {
        let mut body = Vec::new();
        body.extend(header(TIME_EXTEND, 3));
        body.extend(2u32.to_le_bytes());
        body.extend(header(PADDING, 1));
        body.extend(8u32.to_le_bytes());
        body.extend([0; 4]);
        body.extend(header(1, 1));
        body.extend([7, 0, 0, 0]);
        body.extend(header(PADDING, 0));
        let page = page(0, 0, &body);
        let stamps: Vec<_> = Events::of(&page).expect("a page").map(|e| e.stamp_ns).collect();
        assert_eq!(stamps, [(2 << 27) + 3 + 1 + 1]);
    }

    #[test]
    fn lost_events_are_counted() {
        assert_eq!(Events::of(&page(0, MISSED_EVENTS, &[])).expect("a page").missed, 1);
        let mut counted = page(0, MISSED_EVENTS | MISSED_STORED, &[]);
        counted.extend(42u64.to_le_bytes());
        assert_eq!(Events::of(&counted).expect("a page").missed, 42);
    }

    #[test]
    fn a_torn_page_ends_the_iteration() {
        let mut body = Vec::new();
        body.extend(header(28, 1));
        body.extend([1, 0]);
        let page = page(0, 0, &body);
        assert_eq!(Events::of(&page).expect("a page").count(), 0);
        assert!(Events::of(&[0; 10]).is_none());
    }
}
