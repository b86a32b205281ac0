//! What hangs below a device's root, and what beside it.

/// Whether a line belongs to what is removed with the root. Where it hangs stands before its kind's name: behind it `ingress` and
/// `egress` are a discipline's own words (cake's), or an action's (mirred's).
#[must_use]
pub fn is_below_root(line: &str) -> bool {
    let mut words = line.split_whitespace().skip(1);
    while let Some(word) = words.next() {
        match word {
            "clsact" | "ingress" | "egress" => return false,
            "root" => {}
            "parent" | "handle" | "classid" | "protocol" | "prio" | "pref" | "priority" => {
                words.next();
            }
            _its_kind => break,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_at_the_root_is_told_by_its_place_and_not_by_its_own_words() {
        let below = [
            "qdisc root handle 1: tbf rate 10mbit burst 10k limit 10k",
            "qdisc parent 1:1 handle 10: cake bandwidth 2mbit ingress",
            "qdisc root cake bandwidth 2mbit egress",
            "class parent 1: classid 1:10 htb rate 1mbit",
            "filter parent 1: protocol ip prio 1 matchall action mirred egress redirect dev b",
        ];
        assert!(below.iter().all(|line| is_below_root(line)));
        let beside = [
            "qdisc clsact",
            "qdisc handle ffff: ingress",
            "filter ingress protocol all prio 2 matchall action mirred egress redirect dev b",
            "filter protocol all prio 2 egress matchall action drop",
        ];
        assert!(!beside.iter().any(|line| is_below_root(line)));
    }
}
