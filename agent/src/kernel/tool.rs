//! Programs from outside: where they are, and how they are started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// Where a lab puts programs into a guest's root.
const FOLDER: &str = "/tools";
/// What is added to a program's path for the file with its environment: a line `NAME=VALUE` for each variable.
const ENVIRONMENT: &str = "env";

/// The guest's own, or the one in `PATH` where the agent runs on a whole system.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).map(|folder| folder.join(name));
    std::iter::once(PathBuf::from(FOLDER).join(name)).chain(places).find(|place| place.is_file())
}

/// As [`find`], for a program the plan cannot be carried out without.
pub fn require(name: &str) -> Result<PathBuf> {
    find(name).ok_or_else(|| {
        Error::new("tools", format!("there is no {name} in this lab")).hint(format!(
            "The plan must name it under \"tools\", so that the lab puts it at {FOLDER}/{name}"
        ))
    })
}

/// How a program is started: a guest's own with nothing but the environment that lies beside it, so that its loader has
/// nothing to look for, whatever the processor; any other as this process would.
#[must_use]
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Ok(text) = fs::read_to_string(program.with_extension(ENVIRONMENT)) {
        command.env_clear().envs(text.lines().filter_map(|line| line.split_once('=')));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_started_with_what_lies_beside_it() {
        let folder = std::env::temp_dir().join(format!("rushhour-tool-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let program = folder.join("printenv");
        fs::write(&program, "#!/usr/bin/env -S env\n").expect("a program");
        assert_eq!(command(&program).get_envs().count(), 0);
        fs::write(folder.join("printenv.env"), "A=1\nB=x=y\n\n").expect("an environment");
        let told: Vec<_> = command(&program)
            .get_envs()
            .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
            .collect();
        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(told, [("A".into(), Some("1".into())), ("B".into(), Some("x=y".into()))]);
    }
}
