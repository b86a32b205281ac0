//! Makes the table of queue disciplines from the one list that the Python side reads too, `tc/kinds.json`: a row of it
//! and a file in `src/tc/kinds/`, if its options need one, are all that a discipline takes.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;

const LIST: &str = "../src/rushhour/tc/kinds.json";
const ENCODERS: &str = "src/tc/kinds";

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

const fn yes() -> bool {
    true
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={LIST}");
    println!("cargo::rerun-if-changed={ENCODERS}");
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let list: List = serde_json::from_str(&fs::read_to_string(here.join(LIST))?)?;
    let mut text = modules(&here.join(ENCODERS))?;
    text.push_str("/// Every kind, in the order in which errors and documents name them.\npub const QDISCS: &[Kind] = &[\n");
    for row in &list.qdiscs {
        writeln!(text, "    {},", kind(row))?;
    }
    text.push_str("];\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("kinds.rs"), text)?;
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
