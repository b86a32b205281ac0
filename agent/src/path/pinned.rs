//! Packets that arrive at a node are dealt with on its CPUs: receive packet steering (Documentation/networking/scaling.rst).
//!
//! A veth hands a packet over on the CPU that sent it. Steering moves it to another one where it arrives, so that a router
//! between two hosts is a machine of its own, as far as one machine can be several.

use std::fs;
use std::path::Path;

use crate::error::{Context, Result};
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::plan::Plan;

/// Sets the steering of every device whose node has CPUs of its own.
pub(super) fn steer(plan: &Plan, nodes: &Nodes) -> Result<()> {
    for node in &plan.nodes {
        let Some(cpus) = plan.cpus.get(&node.name) else { continue };
        let devices = super::ends(plan).filter(|end| end.node == node.name).map(|end| end.dev.as_str());
        let devices: Vec<&str> = devices.collect();
        let set = || within_sysfs(|root| devices.iter().try_for_each(|dev| set(root, dev, &mask(cpus))));
        nodes.within(&node.name, set).map_err(|error| error.at(format!("node {}", node.name)))?;
    }
    Ok(())
}

fn set(root: &Path, dev: &str, mask: &str) -> Result<()> {
    let path = root.join("class/net").join(dev).join("queues/rx-0/rps_cpus");
    fs::write(&path, mask)
        .context(format_args!("steer what arrives at {dev} to CPUs {mask}"))
        .map_err(|error| error.hint("It takes CONFIG_RPS; or leave CPUs to the scheduler: --pin none"))
}

/// The files of this thread's network namespace: those of the first one say nothing of its devices.
fn within_sysfs(work: impl Fn(&Path) -> Result<()>) -> Result<()> {
    // In the folder of this run, which is removed whatever becomes of it.
    let folder = Path::new("sysfs");
    fs::create_dir_all(folder).context("make a folder for sysfs")?;
    let outcome = sys::mounts::mount("none", "sysfs", "sysfs", "").context("mount sysfs").and_then(|()| {
        let outcome = work(folder);
        sys::mounts::unmount("sysfs").context("unmount sysfs").and(outcome)
    });
    fs::remove_dir(folder).context("remove the folder of sysfs").and(outcome)
}

/// CPUs as the kernel reads them: hexadecimal, 32 to a group, the highest first.
fn mask(cpus: &[usize]) -> String {
    let groups = cpus.iter().max().map_or(1, |most| most / 32 + 1);
    let group = |at: usize| {
        cpus.iter().filter(|cpu| **cpu / 32 == at).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32))
    };
    let words: Vec<String> = (0..groups).rev().map(|at| format!("{:x}", group(at))).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_reads_them() {
        assert_eq!(mask(&[0]), "1");
        assert_eq!(mask(&[1, 3]), "a");
        assert_eq!(mask(&[33, 0]), "2,1");
    }
}
