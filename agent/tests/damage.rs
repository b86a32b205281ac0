//! Whatever a plan or a line of tc's words holds, the answer is an order or an error: never a panic.
//!
//! Damaged at random from the golden lines and the golden plan, with fixed seeds, so a failure repeats.

use std::panic::{catch_unwind, AssertUnwindSafe};

use rushhour_agent::path::wire::{fate, hash};
use rushhour_agent::plan::Plan;
use rushhour_agent::tc::{in_order, parse_among, Device};
use serde_json::{json, Value};

const LINES: &str = include_str!("golden/qdiscs.txt");
const PLAN: &str = include_str!("../../tests/data/plan-window-scaling.json");
// Elsewhere an emulator tries it, far slower; what reads plans has no code of its own there.
const ONE_OF: usize = if cfg!(target_arch = "x86_64") { 1 } else { 16 };
const DAMAGED_PLANS: u64 = 4000 / ONE_OF as u64;
const DAMAGES_PER_LINE: u64 = 100 / ONE_OF as u64;

/// What breaks arithmetic, tables, texts.
const NASTY: [&str; 24] = [
    "0",
    "-1",
    "1",
    "255",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999999",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "0.0000001",
    "1e-300s",
    "100%",
    "1000%",
    "\u{e9}\u{1f600}",
    ":",
    "1:",
    "ffff:ffff",
    "\\",
    "1/0",
];

/// A stream of dice from a seed.
struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    fn new(seed: u64) -> Self {
        Self { seed, thrown: 0 }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.thrown += 1;
        (hash(self.seed, self.thrown) % bound.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

fn panics(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

fn damaged_line(line: &str, dice: &mut Dice) -> String {
    let everywhere: Vec<&str> = LINES.split_whitespace().collect();
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    for _ in 0..=dice.below(3) {
        let at = dice.below(words.len());
        match dice.below(6) {
            0 if !words.is_empty() => drop(words.remove(at)),
            1 => words.insert(at, dice.of(&NASTY).to_owned()),
            2 => words.insert(at, dice.of(&everywhere).to_owned()),
            3 if !words.is_empty() => dice.of(&NASTY).clone_into(&mut words[at]),
            4 if !words.is_empty() => words[at].push_str(dice.of(&["", "0", "k", "bit", "us", "%", "/"])),
            _ => words.truncate(at),
        }
    }
    words.join(" ")
}

#[test]
fn damaged_lines_are_orders_or_errors() {
    let device = Device { name: "lo", ifindex: 1 };
    for (number, line) in (0_u64..).zip(LINES.lines().filter(|line| !line.starts_with('#'))) {
        for damage in 0..DAMAGES_PER_LINE {
            let text = damaged_line(line, &mut Dice::new(number << 32 | damage));
            assert!(!panics(|| drop(parse_among(&text, &device, &|_| Some(2)))), "{text:?}");
        }
    }
}

/// A place in the document: the value itself, or one somewhere below.
fn somewhere<'a>(mut value: &'a mut Value, dice: &mut Dice) -> &'a mut Value {
    loop {
        let children = match value {
            Value::Array(items) => items.len(),
            Value::Object(entries) => entries.len(),
            _ => 0,
        };
        if children == 0 || dice.below(8) == 0 {
            return value;
        }
        let at = dice.below(children);
        value = match value {
            Value::Array(items) => &mut items[at],
            Value::Object(entries) => entries.values_mut().nth(at).expect("an entry"),
            _ => unreachable!("a value without children was given back"),
        };
    }
}

fn damage_plan(plan: &mut Value, dice: &mut Dice) {
    let word = dice.of(&NASTY);
    match somewhere(plan, dice) {
        Value::Object(entries) if dice.below(2) == 0 => drop(entries.insert(word.to_owned(), json!(1))),
        Value::Array(items) if dice.below(2) == 0 && !items.is_empty() => items.push(items[0].clone()),
        value => {
            *value = match dice.below(7) {
                0 => Value::Null,
                1 => json!(word),
                2 => json!([word]),
                3 => json!(dice.of(&[0_i64, -1, i64::MAX, i64::MIN, 1 << 32])),
                4 => json!(u64::MAX),
                5 => json!(dice.of(&[0.5, -0.0, 1e308, 2.0])),
                _ => json!({}),
            }
        }
    }
}

/// All of a plan that is understood without a kernel.
fn understand(text: &str) -> bool {
    let Ok(plan) = Plan::parse(text) else { return false };
    for end in plan.links.iter().flat_map(|link| &link.ends) {
        let device = Device { name: &end.dev, ifindex: 1 };
        for line in in_order(&end.qdiscs, &end.filters) {
            drop(parse_among(&line, &device, &|_| Some(2)));
        }
        if let Some(wire) = &end.wire {
            let _fate = fate(wire, u64::MAX);
        }
    }
    if let Some(here) = plan.flows.first().map(|flow| flow.from.clone()) {
        // One host's part, as far as it is understood without a kernel.
        let _part = plan.part(&here).map(|part| part.destinations().is_ok());
    }
    true
}

#[test]
fn damaged_plans_are_plans_or_errors() {
    let golden: Value = serde_json::from_str(PLAN).expect("the golden plan");
    let mut understood = 0;
    for seed in 0..DAMAGED_PLANS {
        let mut dice = Dice::new(seed);
        let mut plan = golden.clone();
        for _ in 0..=dice.below(3) {
            damage_plan(&mut plan, &mut dice);
        }
        let text = plan.to_string();
        assert!(!panics(|| understood += u64::from(understand(&text))), "seed {seed}: {text}");
    }
    // Not every damage is a fault: else the parts behind the parser were never reached.
    assert!(understood > DAMAGED_PLANS / 100, "{understood}");
}

#[test]
fn torn_plans_are_errors() {
    for end in (0..PLAN.trim_end().len()).step_by(ONE_OF).filter(|end| PLAN.is_char_boundary(*end)) {
        assert!(!understand(&PLAN[..end]), "cut after {end} bytes");
    }
}
