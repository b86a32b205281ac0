//! What is done with changes: looked at, applied all or none, undone in reverse order.

use serde_json::{json, Value};

use super::journal::{Entry, Journal, Shelf};
use super::{error, kinds, Setting};
use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::kernel::sys::namespaces;
use crate::kernel::sysctl;

/// The network namespace that changes are for.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    netns: u64,
    /// Whether the settings of the whole machine may be changed from here.
    machine: bool,
}

impl Scope {
    /// That of this thread. The machine's own is where the backlog of its CPUs can be set: a namespace is shown none of
    /// that (`net_core_table` in `net/core/sysctl_net_core.c`).
    pub fn here() -> Result<Self> {
        let netns = namespaces::netns_cookie().context("ask for the number of this network namespace")?;
        Ok(Self { netns, machine: sysctl::is_writable("net.core.netdev_max_backlog") })
    }
}

/// A change that is to be made.
struct Step {
    change: Value,
    setting: Box<dyn Setting>,
    now: Value,
    wanted: Value,
}

/// A change, and why nothing is done about it.
struct Skipped {
    change: Value,
    why: String,
}

/// What is to be made of a list of changes.
#[derive(Default)]
struct Plan {
    steps: Vec<Step>,
    skipped: Vec<Skipped>,
    /// All that is asked for.
    keys: Vec<String>,
}

/// Reads everything before anything is changed: what cannot be done is known by then.
fn look(changes: &Value, scope: Scope) -> Result<Plan> {
    let list = changes.as_array().ok_or_else(|| error("\"changes\" is a list of changes"))?;
    let Plan { mut steps, mut skipped, mut keys } = Plan::default();
    for asked in list {
        let mut change = asked.clone();
        let may_lack =
            change.as_object_mut().and_then(|change| change.remove("if_there")) == Some(true.into());
        let setting = kinds::parse(&change)?;
        if keys.contains(&setting.key()) {
            return Err(error(format!("{} is asked for twice", setting.key())));
        }
        keys.push(setting.key());
        match seen(setting.as_ref(), scope) {
            Ok((now, wanted)) if setting.is_already(&now, &wanted) => {
                skipped.push(Skipped { change, why: "already so".to_owned() });
            }
            Ok((now, wanted)) => steps.push(Step { change, setting, now, wanted }),
            Err(error) if may_lack && error.kind == UNSUPPORTED => {
                skipped.push(Skipped { change, why: error.message });
            }
            Err(error) => return Err(error.at(setting.key())),
        }
    }
    // The default that a device gets back depends on net.core.default_qdisc, which therefore must be back before.
    steps.sort_by_key(|step| !step.setting.key().starts_with("qdisc "));
    Ok(Plan { steps, skipped, keys })
}

fn seen(setting: &dyn Setting, scope: Scope) -> Result<(Value, Value)> {
    if setting.is_global() && !scope.machine {
        return Err(error("it belongs to the whole machine, and this is only a network namespace of it")
            .kind(UNSUPPORTED)
            .hint(
                "Settings of the machine are changed where the machine itself is a host of the experiment.",
            ));
    }
    let now = setting.read()?;
    let wanted = setting.wanted(&now)?;
    Ok((now, wanted))
}

/// The changes with their values now and what they would become, in the order they were asked for; those that cannot be
/// made with the reason.
pub fn check(changes: &Value, scope: Scope) -> Result<Value> {
    let list = changes.as_array().ok_or_else(|| error("\"changes\" is a list of changes"))?;
    let rows = list.iter().map(|asked| {
        let mut change = asked.clone();
        change.as_object_mut().and_then(|change| change.remove("if_there"));
        let row = kinds::parse(&change).and_then(|setting| {
            let (now, wanted) = seen(setting.as_ref(), scope).map_err(|error| error.at(setting.key()))?;
            let same = setting.is_already(&now, &wanted);
            Ok(json!({ "key": setting.key(), "before": now, "after": wanted, "same": same }))
        });
        let mut row = row.unwrap_or_else(|error| json!({ "error": error }));
        row["change"] = asked.clone();
        row
    });
    Ok(json!({ "rows": rows.collect::<Vec<Value>>() }))
}

/// Applies all changes or none. What orphans left behind is undone first.
///
/// `journal` takes the changes, and is begun if there is none; those to be kept get one of their own.
pub fn apply(request: &Value, scope: Scope, journal: &mut Option<Journal>) -> Result<Value> {
    let shelf = Shelf::open()?;
    let (orphans, others) = orphans(&shelf, scope);
    let put_back: Vec<Value> = orphans.into_iter().flat_map(undo).collect();
    let keep = request["keep"] == true;
    let Plan { steps, skipped, keys } = look(&request["changes"], scope)?;
    conflicts(&keys, &others, journal.as_ref().filter(|_| keep), keep)?;
    let who = request["who"].as_str().unwrap_or("somebody");
    let mut applied = Vec::new();
    if !steps.is_empty() {
        let mut own = None;
        let place = if keep { &mut own } else { journal };
        let taker = match place.take() {
            Some(taker) => taker,
            None => shelf.begin(scope.netns, who)?,
        };
        applied = carry_out(steps, place.insert(taker)).and_then(|applied| {
            own.as_mut().map_or(Ok(()), Journal::keep)?;
            Ok(applied)
        })?;
    }
    let skipped: Vec<Value> =
        skipped.iter().map(|one| json!({ "change": one.change, "why": one.why })).collect();
    Ok(json!({ "applied": applied, "skipped": skipped, "put_back": put_back }))
}

/// Makes the changes one by one, each in the journal before it is made; a failure undoes those made here.
fn carry_out(steps: Vec<Step>, journal: &mut Journal) -> Result<Vec<Value>> {
    let first = journal.entries.len();
    let mut applied = Vec::new();
    for step in steps {
        match one(&step, journal) {
            Ok(after) => applied.push(json!({ "change": step.change, "before": step.now, "after": after })),
            Err(error) => {
                let outcomes = undo_from(journal, first);
                return Err(and_what_was_undone(error.at(step.setting.key()), &outcomes));
            }
        }
    }
    Ok(applied)
}

fn one(step: &Step, journal: &mut Journal) -> Result<Value> {
    let number = journal.intend(&step.change, &step.now)?;
    step.setting.write(&step.wanted)?;
    let after = step.setting.read()?;
    journal.done(number, &after)?;
    if step.setting.became(&after, &step.wanted) {
        return Ok(after);
    }
    Err(error(format!("it was to become {}, and the kernel made it {after}", step.wanted)))
}

fn and_what_was_undone(error: Error, outcomes: &[Value]) -> Error {
    let failed = outcomes.iter().find(|outcome| outcome["outcome"] == "failed");
    let told = match failed {
        None => "Everything that was changed before is put back.".to_owned(),
        Some(failed) => format!("Not everything could be put back: {failed}."),
    };
    let hint = if error.hint.is_empty() { told } else { format!("{} {told}", error.hint) };
    Error { hint, ..error }
}

/// The journals of this namespace: those whose keeper is gone, and the others.
fn orphans(shelf: &Shelf, scope: Scope) -> (Vec<Journal>, Vec<(Journal, bool)>) {
    let mine = shelf.all().into_iter().filter(|(journal, _)| journal.header.netns == scope.netns);
    let (orphans, others): (Vec<_>, Vec<_>) = mine.partition(|(journal, alive)| !alive && !journal.kept);
    // The newest change is the first to be undone.
    (orphans.into_iter().rev().map(|(journal, _)| journal).collect(), others)
}

/// Refuses what another one holds. What is kept for long may be changed for the time of an experiment, not kept again.
fn conflicts(wanted: &[String], others: &[(Journal, bool)], own: Option<&Journal>, keep: bool) -> Result<()> {
    let held = others.iter().filter(|(_, alive)| *alive || keep).map(|(journal, _)| journal);
    for journal in held.chain(own) {
        let keys =
            journal.standing().filter_map(|entry| kinds::parse(&entry.change).ok()).map(|one| one.key());
        for key in keys {
            if wanted.contains(&key) {
                let hint = if journal.kept { "Revert that first." } else { "Wait until that is over." };
                return Err(error(format!("{key} is changed already, for {}", journal.header.who)).hint(hint));
            }
        }
    }
    Ok(())
}

/// Undoes a whole journal; its file is gone when nothing stands any more.
pub fn undo(mut journal: Journal) -> Vec<Value> {
    undo_from(&mut journal, 0)
}

fn undo_from(journal: &mut Journal, first: usize) -> Vec<Value> {
    let mut outcomes = Vec::new();
    for number in (first..journal.entries.len()).rev() {
        let entry = journal.entries[number].clone();
        if entry.undone {
            continue;
        }
        let (outcome, detail) = undo_one(&entry);
        if outcome != "failed" {
            journal.undone(number);
        }
        outcomes.push(json!({ "change": entry.change, "outcome": outcome, "detail": detail }));
    }
    outcomes
}

/// `restored`, `already` (as before), `changed` (by somebody else: left alone), `gone` or `failed`, and the details.
fn undo_one(entry: &Entry) -> (&'static str, String) {
    let outcome = kinds::parse(&entry.change).and_then(|setting| {
        let now = setting.read()?;
        if setting.is_same(&now, &entry.before) {
            return Ok(("already", String::new()));
        }
        // Without `after` the one who made the change was killed while at it.
        if let Some(after) = entry.after.as_ref().filter(|after| !setting.is_same(&now, after)) {
            let detail = format!("it was {after} and somebody made it {now} since, so it stays");
            return Ok(("changed", detail));
        }
        setting.write(&entry.before)?;
        let now = setting.read()?;
        if setting.is_same(&now, &entry.before) {
            return Ok(("restored", String::new()));
        }
        Err(error(format!("it is {now} instead of {}", entry.before)))
    });
    match outcome {
        Ok(outcome) => outcome,
        Err(error) if error.kind == UNSUPPORTED => ("gone", error.message),
        Err(error) => ("failed", error.to_string()),
    }
}

/// The journals of this namespace, for a person.
pub fn left(scope: Scope) -> Result<Value> {
    let shelf = Shelf::open()?;
    let mine = shelf.all().into_iter().filter(|(journal, _)| journal.header.netns == scope.netns);
    let rows = mine.map(|(journal, alive)| {
        let changes: Vec<Value> = journal
            .standing()
            .map(|entry| json!({ "change": entry.change, "before": entry.before, "after": entry.after }))
            .collect();
        let header = &journal.header;
        json!({ "who": header.who, "since": header.since, "kept": journal.kept, "in_use": alive && !journal.kept,
                "changes": changes })
    });
    Ok(json!({ "journals": rows.collect::<Vec<Value>>() }))
}

/// Undoes what was left behind and, if `kept`, what was kept, the newest first.
pub fn revert(scope: Scope, kept: bool) -> Result<Value> {
    let shelf = Shelf::open()?;
    let mine = shelf.all().into_iter().rev();
    let mine = mine.filter(|(journal, alive)| journal.header.netns == scope.netns && !alive);
    let chosen = mine.filter(|(journal, _)| kept || !journal.kept);
    let outcomes: Vec<Value> = chosen.flat_map(|(journal, _)| undo(journal)).collect();
    Ok(json!({ "undone": outcomes }))
}

/// Takes over the journal of a keeper that was killed.
pub fn adopt(scope: Scope, pid: u32) -> Result<Option<Journal>> {
    let shelf = Shelf::open()?;
    let mut all = shelf.all().into_iter().map(|(journal, _)| journal);
    let found = all.find(|journal| journal.header.pid == pid && journal.header.netns == scope.netns);
    found.filter(|journal| !journal.kept).map_or(Ok(None), Journal::take_over)
}
