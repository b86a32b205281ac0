//! Where an experiment runs: decided once, by how the agent was started, and handed to whatever depends on it.

/// Whose the kernel is under an experiment, and whose the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lab {
    /// A kernel of its own, in virtual time: the agent is its first process, so every setting is the experiment's.
    Virtual,
    /// Namespaces of this machine's kernel, in real time, for the whole plan.
    Namespaces,
    /// This machine as it is, in real time, for one host's part of a plan.
    Machine,
}

impl Lab {
    /// Whether the kernel and its time are the experiment's alone. Else others work there, and time goes on by itself.
    #[must_use]
    pub const fn is_virtual(self) -> bool {
        matches!(self, Self::Virtual)
    }
}
