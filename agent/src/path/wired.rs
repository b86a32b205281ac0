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
    fn program(&self) -> Option<&Element> {
        match self {
            Self::Program(element) => Some(element),
            Self::Line(_) => None,
        }
    }

    /// Packets that came and how many of them were lost, on each of these.
    pub fn read_each(wires: &[&Self]) -> Result<Vec<(u64, u64)>> {
        let programs: Vec<&Element> = wires.iter().filter_map(|wired| wired.program()).collect();
        let mut counted = Element::read_each(&programs)?.into_iter();
        let read = |wired: &&Self| match wired {
            Self::Program(_) => counted.next().unwrap_or_default(),
            Self::Line(control) => control.read(),
        };
        Ok(wires.iter().map(read).collect())
    }

    /// Whether each packet has a number of its own, however many CPUs send.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Program(element) => element.is_exact(),
            Self::Line(_) => true,
        }
    }

    /// The next packet is number `first` on each of these; all else is forgotten.
    pub fn count_each_from(wires: &[&Self], first: u64) -> Result<()> {
        let programs: Vec<&Element> = wires.iter().filter_map(|wired| wired.program()).collect();
        Element::count_each_from(&programs, first)?;
        for wired in wires {
            if let Self::Line(control) = wired {
                control.count_from(first);
            }
        }
        Ok(())
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
