//! What is not encoded here: lines for `tc` itself.

use std::path::Path;
use std::process::Stdio;

use super::{kinds, lacking};
use crate::error::{Context, Error, Result};
use crate::kernel::tool;

/// Runs `tc` with these words in the namespace of this thread.
pub fn run(kind: &str, line: &[String]) -> Result<()> {
    let Some(tool) = tool::find("tc") else {
        let native = kinds::qdiscs().join(" ");
        return Err(Error::new(
            "qdisc",
            format!("{kind:?} is not known to the agent, and the lab has no tc to ask"),
        )
        .hint(format!("Known without tc: {native}. For others the plan must name tc under \"tools\".")));
    };
    execute(&tool, line).map_err(|error| lacking(kind).unwrap_or(error))
}

fn execute(program: &Path, words: &[String]) -> Result<()> {
    let output = tool::command(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .context(format_args!("start {}", program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::new("qdisc", format!("tc {}: {}", words.join(" "), said.trim())))
}
