//! Reading a plan, and what cannot be run in it.

use super::flow::take_turns;
use super::{Key, Plan, FORMAT};
use crate::error::{Error, Result};

impl Plan {
    /// Reads a plan; the error says where in the JSON it stopped making sense.
    pub fn parse(text: &str) -> Result<Self> {
        let mut plan: Self = serde_json::from_str(text)
            .map_err(|cause| Error::new("plan", format!("the plan does not parse: {cause}")))?;
        plan.check()?;
        take_turns(&mut plan.flows, plan.sample_ns);
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        let fault = |message: String| Err(Error::new("plan", message));
        if self.format != FORMAT {
            return fault(format!("the plan's format is {:?}, this agent reads {FORMAT:?}", self.format));
        }
        if self.duration_ns <= 0 || self.sample_ns <= 0 {
            return fault("duration_ns and sample_ns must be positive".into());
        }
        let known = |name: &str| self.nodes.iter().any(|node| node.name == name);
        for end in self.links.iter().flat_map(|link| &link.ends) {
            if !known(&end.node) {
                return fault(format!("a link ends at node {:?}, which is not in the plan", end.node));
            }
        }
        for (arrival, end) in self.ingress.iter().zip(2 * self.links.len()..) {
            if arrival.end as usize != end {
                return fault(format!("the ingress at {:?} is end {}, not {end}", arrival.dev, arrival.end));
            }
        }
        if let Some(device) = self.devices.iter().find(|device| !known(&device.node)) {
            return fault(format!(
                "device {:?} is in node {:?}, which is not in the plan",
                device.dev, device.node
            ));
        }
        for flow in &self.flows {
            if !known(&flow.from) || !known(&flow.to) {
                return fault(format!("flow {:?} runs between nodes that are not in the plan", flow.name));
            }
        }
        self.check_found()?;
        self.check_subflows()?;
        self.check_pauses()?;
        self.check_changes()
    }

    fn check_pauses(&self) -> Result<()> {
        let Some(pauses) = &self.pauses else { return Ok(()) };
        let fault = |message: String| Err(Error::new("plan", message));
        if pauses.interval_ns < 1000 {
            return fault(format!("pauses look every {} ns, it must be at least 1 µs", pauses.interval_ns));
        }
        for port in &pauses.ports {
            let ends = port.watch.iter().map(|one| one.end).chain([port.end]);
            if let Some(end) = ends.into_iter().find(|end| end / 2 >= self.links.len()) {
                return fault(format!("end {end} of a pause is not in the plan"));
            }
            if port.watch.iter().any(|one| one.go > one.stop || one.stop == 0) {
                return fault(format!("the port at end {} would never be let go", port.end));
            }
        }
        Ok(())
    }

    fn check_changes(&self) -> Result<()> {
        let fault = |message: String| Err(Error::new("plan", message));
        let mut last_ns = 0;
        for change in &self.changes {
            if !(last_ns..self.duration_ns).contains(&change.t_ns) {
                return fault(format!(
                    "a change at {} ns is not between the one before it and the end of the experiment",
                    change.t_ns
                ));
            }
            last_ns = change.t_ns;
            let Some(link) = self.links.get(change.end / 2) else {
                return fault(format!("end {} of a change is not in the plan", change.end));
            };
            if !matches!(change.key, Key::Rate | Key::Class | Key::Route)
                && link.ends[change.end % 2].wire.is_none()
            {
                return fault(format!(
                    "a change of {:?} at an end of link {:?} without a wire",
                    change.key, link.name
                ));
            }
        }
        Ok(())
    }
}
