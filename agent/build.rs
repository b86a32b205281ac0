//! Makes the tables of queue disciplines and of kinds of flows from the lists that the Python side reads too: a row there and
//! a file in `src/tc/kinds/` or `src/traffic/` are all that one takes.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;

const LIST: &str = "../src/rushhour/tc/kinds.json";
const ENCODERS: &str = "src/tc/kinds";
const FLOWS: &str = "../src/rushhour/traffic/kinds.json";

#[derive(Deserialize)]
struct List {
    qdiscs: Vec<Row>,
}

/// What the agent has to know of a row; `rushhour.tc.kinds` says what each key means.
#[derive(Deserialize)]
struct Row {
    name: String,
    qdisc: Option<String>,
    class: Option<String>,
    #[serde(default)]
    needs: String,
    #[serde(default)]
    returns: bool,
    #[serde(default)]
    nested: bool,
    #[serde(default = "yes")]
    alone: bool,
    #[serde(default)]
    hook: String,
    option: Option<String>,
    #[serde(default)]
    told: serde_json::Map<String, serde_json::Value>,
}

/// A kind of flow; `rushhour.traffic.kinds` says what each key means.
#[derive(Deserialize)]
struct Flow {
    name: String,
    driver: String,
    table: Option<String>,
}

const fn yes() -> bool {
    true
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={LIST}");
    println!("cargo::rerun-if-changed={FLOWS}");
    println!("cargo::rerun-if-changed={ENCODERS}");
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let list: List = serde_json::from_str(&fs::read_to_string(here.join(LIST))?)?;
    let mut text = modules(&here.join(ENCODERS))?;
    text.push_str("/// Every kind, in the order in which errors and documents name them.\npub const QDISCS: &[Kind] = &[\n");
    for row in &list.qdiscs {
        writeln!(text, "    {},", kind(row))?;
    }
    text.push_str("];\n");
    fs::write(out.join("kinds.rs"), text)?;
    let flows: Vec<Flow> = serde_json::from_str(&fs::read_to_string(here.join(FLOWS))?)?;
    fs::write(out.join("flow_kinds.rs"), flow_kinds(&flows)?)?;
    fs::write(out.join("drivers.rs"), drivers(&flows)?)?;
    Ok(())
}

/// Every file with encoders is a module: of the one that calls this macro, so no path is written down.
fn modules(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "rs"));
    paths.sort();
    let mut text = "macro_rules! encoders {\n    () => {\n".to_owned();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(text, "        pub(super) mod {name};")?;
    }
    text.push_str("    };\n}\n");
    Ok(text)
}

fn kind(row: &Row) -> String {
    let Row { name, needs, returns, nested, alone, .. } = row;
    let qdisc = row.qdisc.as_deref().unwrap_or("NOTHING");
    let class = row.class.as_ref().map_or("None".to_owned(), |class| format!("Some({class})"));
    let hook = if row.hook == "ingress" { "Ingress" } else { "Root" };
    let option = row.option.clone().unwrap_or_else(|| name.to_uppercase());
    let mut told: Vec<(u64, &String)> =
        row.told.iter().map(|(word, number)| (number.as_u64().unwrap_or_default(), word)).collect();
    told.sort_unstable();
    format!(
        "Kind {{ name: {name:?}, qdisc: {qdisc}, class: {class}, needs: {needs:?}, returns: {returns}, \
         nested: {nested}, alone: {alone}, hook: Hook::{hook}, option: {option:?}, told: &{told:?} }}"
    )
}

/// Before what has an arm for each row.
const ROWS: &str = "#[allow(clippy::match_same_arms, reason = \"a row of the list each\")]\n";

/// `crr` as a variant: `Crr`.
fn variant(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

fn flow_kinds(flows: &[Flow]) -> Result<String, Box<dyn Error>> {
    let mut text = "/// What a flow is.\n#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]\n\
                    #[serde(rename_all = \"lowercase\")]\npub enum Kind {\n"
        .to_owned();
    for flow in flows {
        writeln!(text, "    {},", variant(&flow.name))?;
    }
    text.push_str(
        "}\n\nimpl Kind {\n    /// The raw table that has a row for each of its packets or transactions.\n",
    );
    text.push_str(ROWS);
    text.push_str(
        "    #[must_use]\n    pub const fn table(self) -> Option<&'static str> {\n        match self {\n",
    );
    for flow in flows {
        writeln!(text, "            Self::{} => {:?},", variant(&flow.name), flow.table)?;
    }
    text.push_str("        }\n    }\n}\n");
    Ok(text)
}

/// The drivers as modules of the one that calls the macro, and which of them opens a flow.
fn drivers(flows: &[Flow]) -> Result<String, Box<dyn Error>> {
    let names: BTreeSet<&str> = flows.iter().map(|flow| flow.driver.as_str()).collect();
    let mut text = "macro_rules! drivers {\n    () => {\n".to_owned();
    for name in names {
        writeln!(text, "        pub(crate) mod {name};")?;
    }
    text.push_str("    };\n}\n\n/// The tasks of one side of a flow that the agent drives itself.\n");
    text.push_str(ROWS);
    text.push_str("fn drive(flow: &Flow, side: Side, duration_ns: i64) -> Result<Vec<Task>> {\n");
    text.push_str("    match flow.kind {\n");
    for Flow { name, driver, .. } in flows {
        writeln!(text, "        Kind::{} => {driver}::open(flow, side, duration_ns),", variant(name))?;
    }
    text.push_str("    }\n}\n");
    Ok(text)
}
