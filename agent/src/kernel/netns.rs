//! Nodes as unnamed network namespaces: they die with the agent, so nothing can be left behind.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use crate::error::{Context, Error, Result};
use crate::kernel::sys;

/// All nodes of an experiment, by name, and the namespace the agent itself began in.
#[derive(Debug)]
pub struct Nodes {
    home: OwnedFd,
    by_name: HashMap<String, OwnedFd>,
}

impl Nodes {
    pub fn new() -> Result<Self> {
        let home = sys::namespaces::current_netns().context("open the agent's own network namespace")?;
        Ok(Self { home, by_name: HashMap::new() })
    }

    /// One node, which is where this thread is.
    pub fn only(name: &str) -> Result<Self> {
        let mut nodes = Self::new()?;
        let home = nodes.home.try_clone().context("keep the agent's own network namespace")?;
        nodes.by_name.insert(name.to_owned(), home);
        Ok(nodes)
    }

    /// Whether a node is here.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub fn create(&mut self, name: &str) -> Result<()> {
        let netns = sys::namespaces::new_netns()
            .context(format_args!("create a network namespace for node {name}"))?;
        self.by_name.insert(name.to_owned(), netns);
        self.leave()
    }

    pub fn get(&self, name: &str) -> Result<&OwnedFd> {
        self.by_name.get(name).ok_or_else(|| Error::new("plan", format!("node {name:?} is not in the plan")))
    }

    /// Moves this thread into a node for good (threads of flows do this once).
    pub fn enter(&self, name: &str) -> Result<()> {
        sys::namespaces::enter_netns(self.get(name)?).context(format_args!("enter node {name}"))
    }

    fn leave(&self) -> Result<()> {
        sys::namespaces::enter_netns(&self.home).context("return to the agent's own network namespace")
    }

    /// Runs `work` inside a node and comes back.
    pub fn within<T>(&self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.enter(name)?;
        let outcome = work();
        self.leave()?;
        outcome
    }
}
