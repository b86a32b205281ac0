//! The machine that runs an experiment in real time: how late the readings were, who had its CPUs.
//!
//! Looked at before the start and after the end, never in between, and not at all in a virtual kernel, which has no other
//! work and no other time. What it reads: proc(5).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::kernel::sys::{self, cpu};
use crate::path::Carried;
use crate::record::spread::{Spread, Summary};

/// Nanoseconds of a tick in which `/proc` counts CPU time (`USER_HZ` is 100 for every program on Linux).
const TICK_NS: i64 = 10_000_000;
/// Threads that carry frames do what the path would do: they are part of the experiment.
const PATH_THREAD: &str = "line";
/// Processes with less than this share of a CPU are not named.
const WORTH_NAMING: f64 = 0.02;
const NAMED: usize = 3;

/// What the machine did meanwhile. Shares of the time from before the start to after the end.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Machine {
    /// How much later than asked the periodic readings were made.
    pub sampling_error_ns: Option<Summary>,
    pub cpus: usize,
    /// Of all CPUs together, each in [0, 1].
    pub cpu_share: Shares,
    /// The other processes that had most, each share of one CPU.
    pub others: Vec<Other>,
    /// Average number of processes that wanted a CPU in the minute before (proc(5), loadavg).
    pub load: f64,
    /// Share of the time in which a hypervisor ran something else.
    pub steal: f64,
    /// How often threads of the agent gave their CPU up, and how often it was taken from them.
    pub switches: Switches,
    /// How the line did that carried packets in user space, by direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Vec<Carried>>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Shares {
    /// The agent's own readings.
    pub agent: f64,
    /// Flows, the path, and the interrupts that carry packets.
    pub experiment: f64,
    /// Everybody else.
    pub others: f64,
    pub idle: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Other {
    pub name: String,
    /// The CPU it ran on last.
    pub cpu: usize,
    pub share: f64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Switches {
    pub voluntary: i64,
    pub involuntary: i64,
}

/// A machine under observation.
#[derive(Debug)]
pub struct Watch {
    /// Threads that were there before those of the flows: they read and wait for the agent itself.
    threads: BTreeMap<String, i64>,
    before: Moment,
    load: f64,
}

/// What `/proc` says at one moment.
#[derive(Debug, Default)]
struct Moment {
    at_ns: i64,
    totals: Totals,
    own_ns: i64,
    switches: Switches,
    processes: BTreeMap<u32, Process>,
}

/// The first line of `/proc/stat` in ticks, as far as it matters here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    cpus: usize,
    /// In processes: user, nice, system.
    processes: i64,
    /// In interrupts: irq, softirq.
    interrupts: i64,
    steal: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    parent: i32,
    group: i32,
    cpu: usize,
    ticks: i64,
}

impl Watch {
    /// Begins to watch. Call it when all threads of the agent's own run, and before those of the flows.
    #[must_use]
    pub fn begin() -> Self {
        let load = read("/proc/loadavg");
        let load = load.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        Self { threads: threads(), before: Moment::now(), load }
    }

    /// Looks again. Call it after the last reading, when the agent's own threads still run.
    #[must_use]
    pub fn end(self, sampling_error: Option<&Spread>) -> Machine {
        let (now, threads) = (Moment::now(), threads());
        let rose = |(name, begun): (&String, &i64)| threads.get(name).map_or(0, |ended| ended - begun);
        let readings_ns: i64 = self.threads.iter().map(rose).sum();
        let mut machine = judge(&self.before, &now, readings_ns);
        machine.sampling_error_ns = sampling_error.map(Spread::summary);
        machine.load = self.load;
        machine
    }
}

/// What became of the CPUs' time between two moments, of which the agent's own threads had `readings_ns`.
fn judge(before: &Moment, after: &Moment, readings_ns: i64) -> Machine {
    let cpus = after.totals.cpus.max(1);
    let whole_ns = ((after.at_ns - before.at_ns) * cpus as i64).max(1);
    let share = |ns: i64| (ns.max(0) as f64 / whole_ns as f64).min(1.0);
    let ticks = |of: fn(&Totals) -> i64| (of(&after.totals) - of(&before.totals)) * TICK_NS;
    let own_ns = after.own_ns - before.own_ns + ours(before, after);
    let interrupts_ns = ticks(|totals| totals.interrupts);
    let others_ns = (ticks(|totals| totals.processes) - own_ns).max(0);
    let busy_ns = own_ns + interrupts_ns + others_ns;
    Machine {
        sampling_error_ns: None,
        cpus,
        cpu_share: Shares {
            agent: share(readings_ns),
            experiment: share(own_ns - readings_ns + interrupts_ns),
            others: share(others_ns),
            idle: 1.0 - share(busy_ns),
        },
        others: others(before, after),
        load: 0.0,
        steal: share(ticks(|totals| totals.steal)),
        switches: Switches {
            voluntary: after.switches.voluntary - before.switches.voluntary,
            involuntary: after.switches.involuntary - before.switches.involuntary,
        },
        line: None,
    }
}

/// CPU time of other processes that are part of the experiment, as far as they still run: the agent's clock does not
/// count them.
fn ours(before: &Moment, after: &Moment) -> i64 {
    let Some(own) = own_process(after) else { return 0 };
    let myself = &after.processes[&own];
    let kin = after.processes.iter().filter(|(pid, process)| **pid != own && process.is_kin_of(myself));
    kin.map(|(pid, process)| risen(before, *pid, process) * TICK_NS).sum()
}

/// The other processes that had most of a CPU, the greatest first.
fn others(before: &Moment, after: &Moment) -> Vec<Other> {
    let myself = own_process(after).map(|own| &after.processes[&own]);
    let elapsed_ns = (after.at_ns - before.at_ns).max(1) as f64;
    let is_ours = |process: &Process| myself.is_some_and(|myself| process.is_kin_of(myself));
    let strangers = after.processes.iter().filter(|(_, process)| !is_ours(process));
    let mut found: Vec<Other> = strangers
        .map(|(pid, process)| Other {
            name: process.name.clone(),
            cpu: process.cpu,
            share: (risen(before, *pid, process) * TICK_NS) as f64 / elapsed_ns,
        })
        .filter(|other| other.share >= WORTH_NAMING)
        .collect();
    found.sort_by(|one, other| other.share.total_cmp(&one.share));
    found.truncate(NAMED);
    found
}

fn risen(before: &Moment, pid: u32, process: &Process) -> i64 {
    // A number may have been given to another process meanwhile, which then begins at less.
    let begun = before.processes.get(&pid).filter(|begun| begun.ticks <= process.ticks);
    process.ticks - begun.map_or(0, |begun| begun.ticks)
}

/// The agent's number where `/proc` counts: that of its own namespace may be another.
fn own_process(moment: &Moment) -> Option<u32> {
    let own = fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()?;
    moment.processes.contains_key(&own).then_some(own)
}

impl Moment {
    fn now() -> Self {
        let (voluntary, involuntary) = cpu::switches().unwrap_or_default();
        Self {
            at_ns: sys::time::monotonic_ns(),
            totals: Totals::parse(&read("/proc/stat")),
            own_ns: sys::time::process_cpu_ns(),
            switches: Switches { voluntary, involuntary },
            processes: processes(),
        }
    }
}

impl Totals {
    fn parse(stat: &str) -> Self {
        let mut lines = stat.lines();
        let first = lines.next().unwrap_or_default();
        let field = |at: usize| -> i64 {
            first.split_ascii_whitespace().nth(at).and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        Self {
            cpus: lines.take_while(|line| line.starts_with("cpu")).count(),
            processes: field(1) + field(2) + field(3),
            interrupts: field(6) + field(7),
            steal: field(8),
        }
    }
}

impl Process {
    /// Whether both are of one experiment: programs that an agent started, or agents of one controller for several ends.
    fn is_kin_of(&self, other: &Self) -> bool {
        self.group == other.group || (self.parent == other.parent && self.name == other.name)
    }

    /// A line of `/proc/PID/stat`; the name may hold anything, brackets included.
    fn parse(stat: &str) -> Option<Self> {
        let (open, close) = (stat.find('(')?, stat.rfind(')')?);
        let fields: Vec<&str> = stat.get(close + 1..)?.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
        Some(Self {
            name: stat.get(open + 1..close)?.to_owned(),
            parent: number(1)? as i32,
            group: number(2)? as i32,
            cpu: number(36)? as usize,
            ticks: number(11)? + number(12)?,
        })
    }
}

fn processes() -> BTreeMap<u32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let numbers: BTreeSet<u32> = numbers.collect();
    numbers
        .into_iter()
        .filter_map(|pid| Some((pid, Process::parse(&read(format!("/proc/{pid}/stat")))?)))
        .collect()
}

/// CPU time in nanoseconds of each thread of this process that is no part of the path.
fn threads() -> BTreeMap<String, i64> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else { return BTreeMap::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| read(format!("/proc/self/task/{name}/comm")).trim() != PATH_THREAD)
        .map(|name| {
            // Its first number is the time on a CPU; a kernel without statistics of its scheduler has no such file.
            let ns = read(format!("/proc/self/task/{name}/schedstat"));
            (name, ns.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0))
        })
        .collect()
}

/// What cannot be read says nothing: the machine is looked at, not needed.
fn read(path: impl AsRef<Path>) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 10 50 1000 5 1 20 7 0 0\ncpu0 50 5 25 500 2 1 10 3 0 0\n\
                        cpu1 50 5 25 500 3 0 10 4 0 0\nintr 1 2\nctxt 5\n";

    fn moment(at_ns: i64, totals: Totals, own_ns: i64, processes: &[(u32, &str, i32, i64)]) -> Moment {
        let made = |(pid, name, group, ticks): &(u32, &str, i32, i64)| {
            (*pid, Process { name: (*name).to_owned(), parent: 1, group: *group, cpu: 1, ticks: *ticks })
        };
        let processes = processes.iter().map(made).collect();
        Moment { at_ns, totals, own_ns, switches: Switches::default(), processes }
    }

    #[test]
    fn totals_are_the_first_line() {
        let totals = Totals::parse(STAT);
        assert_eq!(totals, Totals { cpus: 2, processes: 160, interrupts: 21, steal: 7 });
        assert_eq!(Totals::parse(""), Totals::default());
    }

    #[test]
    fn a_name_may_hold_brackets_and_spaces() {
        let mut line = String::from("42 (a ) b (c) S 1 7 7 0 -1 4194304 0 0 0 0 12 30");
        line.extend(std::iter::repeat_n(" 0", 23));
        line.push_str(" 1 0 0");
        let found = Process::parse(&line).expect("a process");
        assert_eq!(found, Process { name: "a ) b (c".to_owned(), parent: 1, group: 7, cpu: 1, ticks: 42 });
        assert_eq!(Process::parse("42 (short) S 1"), None);
    }

    #[test]
    fn agents_of_one_controller_are_no_strangers_to_each_other() {
        let agent = |parent, group| Process { name: "agent".to_owned(), parent, group, cpu: 0, ticks: 0 };
        let mut shell = agent(5, 9);
        shell.name = "sh".to_owned();
        assert!(agent(5, 7).is_kin_of(&agent(5, 8)) && shell.is_kin_of(&agent(6, 9)));
        assert!(!agent(5, 7).is_kin_of(&agent(6, 8)) && !shell.is_kin_of(&agent(5, 7)));
    }

    #[test]
    fn time_is_shared_out() {
        let totals = |processes, interrupts| Totals { cpus: 2, processes, interrupts, steal: 0 };
        let before = moment(0, totals(0, 0), 0, &[(9, "cc1", 9, 10)]);
        // One second on two CPUs: 60 ticks in processes, 20 of them ours, 10 in interrupts.
        let after =
            moment(1_000_000_000, totals(60, 10), 200_000_000, &[(9, "cc1", 9, 47), (10, "sh", 9, 1)]);
        let machine = judge(&before, &after, 50_000_000);
        let shares = &machine.cpu_share;
        let near = |share: f64, wanted: f64| (share - wanted).abs() < 1e-9;
        assert!(near(shares.agent, 0.025) && near(shares.experiment, 0.125), "{shares:?}");
        assert!(near(shares.others, 0.2) && near(shares.idle, 0.65), "{shares:?}");
        assert_eq!(machine.others, [Other { name: "cc1".to_owned(), cpu: 1, share: 0.37 }]);
    }

    #[test]
    fn this_machine_is_watched() {
        let watch = Watch::begin();
        let mut sum = 0_u64;
        while sys::time::process_cpu_ns() < watch.before.own_ns + 30_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        let machine = watch.end(None);
        assert!(machine.cpus >= 1);
        assert!(machine.cpu_share.agent + machine.cpu_share.experiment > 0.0, "{machine:?}");
    }
}
