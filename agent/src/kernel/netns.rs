//! Nodes as unnamed network namespaces: they die with the agent, so nothing can be left behind.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use crate::error::{Context, Error, Result};
use crate::kernel::sys;
use crate::kernel::sys::visit::{Results, Visit};

/// All nodes of an experiment, by name, and the namespace the agent itself began in.
#[derive(Debug)]
pub struct Nodes {
    home: OwnedFd,
    by_name: HashMap<String, OwnedFd>,
    /// Whether there is one node only, where this thread is.
    only: bool,
}

impl Nodes {
    pub fn new() -> Result<Self> {
        let home = sys::namespaces::current_netns().context("open the agent's own network namespace")?;
        Ok(Self { home, by_name: HashMap::new(), only: false })
    }

    /// One node, which is where this thread is.
    pub fn only(name: &str) -> Result<Self> {
        let mut nodes = Self::new()?;
        let home = nodes.home.try_clone().context("keep the agent's own network namespace")?;
        nodes.by_name.insert(name.to_owned(), home);
        nodes.only = true;
        Ok(nodes)
    }

    /// Whether a node is here.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub fn create(&mut self, name: &str) -> Result<()> {
        let what = || format!("create a network namespace for node {name}");
        let mut visit = Visit::new();
        visit.unshare(libc::CLONE_NEWNET);
        visit.needed();
        let netns = visit.open(Path::new(sys::namespaces::OWN_NETNS), libc::O_RDONLY);
        let back = visit.enter_netns(self.home.as_fd());
        let mut results = visit.carry_out().context(what())?;
        results.check().context(what())?;
        results.of(back).context("return to the agent's own network namespace")?;
        let netns = results.file(netns).context(what())?;
        self.by_name.insert(name.to_owned(), netns.into());
        Ok(())
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

    /// Carries out calls inside a node and comes back, all in one visit to the kernel. Gives what `fill` says of the calls that it
    /// puts into the list, and what came of them.
    pub fn visit<'a, T>(
        &'a self,
        name: &str,
        fill: impl FnOnce(&mut Visit<'a>) -> T,
    ) -> Result<(T, Results)> {
        let mut visit = Visit::new();
        let node = self.get(name)?;
        if !self.only {
            visit.enter_netns(node.as_fd());
            visit.needed();
        }
        let filled = fill(&mut visit);
        let back = (!self.only).then(|| visit.enter_netns(self.home.as_fd()));
        let results = visit.carry_out().context(format_args!("enter node {name}"))?;
        match back.map(|back| results.of(back)) {
            None | Some(Ok(_)) => {}
            // A call that was needed has failed.
            Some(Err(_)) => self.leave()?,
        }
        Ok((filled, results))
    }

    /// Runs `work` inside a node and comes back.
    pub fn within<T>(&self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.enter(name)?;
        let outcome = work();
        self.leave()?;
        outcome
    }
}
