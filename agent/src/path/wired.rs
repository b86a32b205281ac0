//! A wire, whichever way its packets are held back.

use crate::error::Result;
use crate::path::line::Control;
use crate::path::wire::Element;
use crate::plan::Wire;

/// What a wire has counted, and what of it can be changed while packets pass.
#[derive(Debug)]
pub enum Wired {
    /// A program on the device's egress, and `fq`.
    Program(Element),
    /// A direction of a line in user space.
    Line(Control),
}

impl Wired {
    /// Packets that came and how many of them were lost.
    pub fn read(&self) -> Result<(u64, u64)> {
        match self {
            Self::Program(element) => element.read(),
            Self::Line(control) => Ok(control.read()),
        }
    }

    /// Whether each packet has a number of its own, however many CPUs send.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Program(element) => element.is_exact(),
            Self::Line(_) => true,
        }
    }

    /// The next packet is number `first`; all else is forgotten.
    pub fn count_from(&self, first: u64) -> Result<()> {
        match self {
            Self::Program(element) => element.count_from(first),
            Self::Line(control) => {
                control.count_from(first);
                Ok(())
            }
        }
    }

    /// From now on delay, jitter, loss and rate are those of `wire`, in an experiment that began at `start_ns`.
    ///
    /// # Errors
    /// Values that no wire can have.
    pub fn change(&self, wire: &Wire, start_ns: i64) -> Result<()> {
        match self {
            Self::Program(element) => element.change(wire, start_ns),
            Self::Line(control) => control.change(wire, start_ns),
        }
    }
}
