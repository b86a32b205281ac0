//! When a table of sockets is gone through whole.
//!
//! Its cost is that of the table, not of the sockets in it, and the machine decides its size: of 24 GiB it has 262 144 places, which
//! take some 5 ms at each reading. So that has a part of the time at most, a larger one where sockets are awaited; in between those
//! are asked for that are known. A virtual kernel's table is made for the plan and is gone through each time.

use std::collections::BTreeMap;

use crate::kernel::netns::Nodes;
use crate::kernel::sys::machine::owns_kernel;
use crate::kernel::sys::time::thread_cpu_ns;
use crate::plan::{Kind, Plan};

/// It takes this part of the time at most, and this where sockets are awaited.
const PART: i64 = 20;
const AWAITED_PART: i64 = 5;
/// So long after its beginning a flow is expected to have its sockets.
const PATIENCE_NS: i64 = 1_000_000_000;

/// What is asked of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Whole,
    Known,
}

/// When it is whose turn.
#[derive(Debug)]
pub(super) struct Turns {
    /// When the tables were last gone through, and how long that took.
    last: Option<(i64, i64)>,
    began_ns: i64,
    /// New connections can come at any time.
    come_and_go: bool,
    /// Sides of flows that have not been seen, and when each flow begins.
    awaited: BTreeMap<(u32, u8), i64>,
}

impl Turns {
    /// `None`: all tables are gone through each time.
    pub fn of(plan: &Plan, nodes: &Nodes) -> Option<Self> {
        let come_and_go = plan.flows.iter().any(|flow| matches!(flow.kind, Kind::Crr | Kind::Subflow));
        let flows = plan.flows.iter().filter(|flow| flow.is_tcp());
        let sides = flows.flat_map(|flow| {
            let sides = [(&flow.from, 0), (&flow.to, 1)].into_iter().filter(|(node, _)| nodes.has(node));
            sides.map(|(_, side)| ((flow.id, side), flow.start_ns))
        });
        (!owns_kernel()).then(|| Self { come_and_go, ..Self::awaiting(sides.collect()) })
    }

    fn awaiting(awaited: BTreeMap<(u32, u8), i64>) -> Self {
        Self { last: None, began_ns: 0, come_and_go: false, awaited }
    }

    /// Whose turn it is now; `others` says whether sockets that came after that time are awaited.
    pub fn begin(&mut self, now_ns: i64, others: impl FnOnce(i64) -> bool) -> Turn {
        self.began_ns = thread_cpu_ns();
        let Some((last_ns, took_ns)) = self.last else { return Turn::Whole };
        let passed_ns = now_ns - last_ns;
        let due =
            passed_ns >= PART * took_ns || passed_ns >= AWAITED_PART * took_ns && self.awaits(now_ns, others);
        if due {
            Turn::Whole
        } else {
            Turn::Known
        }
    }

    fn awaits(&mut self, now_ns: i64, others: impl FnOnce(i64) -> bool) -> bool {
        let since_ns = now_ns - PATIENCE_NS;
        self.awaited.retain(|_, start_ns| *start_ns > since_ns);
        let begun = self.awaited.values().any(|start_ns| *start_ns <= now_ns);
        self.come_and_go || begun || others(since_ns)
    }

    /// A side of a flow was seen.
    pub fn seen(&mut self, side: (u32, u8)) {
        self.awaited.remove(&side);
    }

    /// A turn that began at that time, all tables whole, has ended.
    pub fn end(&mut self, now_ns: i64) {
        self.had(now_ns, thread_cpu_ns() - self.began_ns);
    }

    fn had(&mut self, now_ns: i64, took_ns: i64) {
        self.last = Some((now_ns, took_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Those of the instants (in ms) at which a table that takes 2 ms is gone through whole.
    fn whole(turns: &mut Turns, at_ms: impl IntoIterator<Item = i64>) -> Vec<i64> {
        let mut is_whole = |at_ms: i64| {
            let turn = turns.begin(at_ms * MS, |_| false);
            if turn == Turn::Whole {
                turns.had(at_ms * MS, 2 * MS);
            }
            turn == Turn::Whole
        };
        at_ms.into_iter().filter(|at_ms| is_whole(*at_ms)).collect()
    }

    #[test]
    fn a_large_table_is_gone_through_more_often_where_sockets_are_awaited() {
        let mut turns = Turns::awaiting(BTreeMap::from([((0, 0), 0), ((0, 1), 0), ((1, 0), 500 * MS)]));
        assert_eq!(whole(&mut turns, [0, 5, 10]), [0, 10]);
        turns.seen((0, 0));
        assert_eq!(whole(&mut turns, [15, 20]), [20]);
        turns.seen((0, 1));
        assert_eq!(whole(&mut turns, (25..500).step_by(5)), (60..500).step_by(40).collect::<Vec<_>>());
        // Where the next flow begins; nobody waits for ever for one that came and went between two readings.
        assert_eq!(whole(&mut turns, (500..600).step_by(5)), (500..600).step_by(10).collect::<Vec<_>>());
        assert_eq!(whole(&mut turns, [1490, 1500, 1505, 1510, 1530]), [1490, 1530]);
        assert_eq!(turns.begin(1540 * MS, |since_ns| since_ns == 540 * MS), Turn::Whole);
    }

    #[test]
    fn connections_that_come_and_go_are_always_awaited() {
        let mut turns = Turns { come_and_go: true, ..Turns::awaiting(BTreeMap::new()) };
        assert_eq!(whole(&mut turns, (5000..5030).step_by(5)), [5000, 5010, 5020]);
    }

    #[test]
    fn a_small_table_is_gone_through_each_time() {
        let mut turns = Turns::awaiting(BTreeMap::new());
        for at_ms in [0, 10, 20] {
            assert_eq!(turns.begin(at_ms * MS, |_| false), Turn::Whole);
            turns.had(at_ms * MS, MS / 50);
        }
    }
}
