//! Programs from outside: where they are.

use std::path::PathBuf;

use crate::error::{Error, Result};

/// Where a lab puts programs into a guest's root.
const FOLDER: &str = "/tools";

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
