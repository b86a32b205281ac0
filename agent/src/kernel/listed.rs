//! The kernel's lists of sockets: `/proc/net/tcp`, `udp` and those of IPv6.

/// Whether a list has a socket with this local port in this state, two hexadecimal digits.
#[must_use]
pub fn has(table: &str, port: u16, state: &str) -> bool {
    let local = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|address| address.ends_with(&local)) && fields.nth(1) == Some(state)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue\n\
        \x20  0: 0100000A:1389 00000000:0000 0A 00000000:00000000\n\
        \x20  1: 0100000A:80E8 0200000A:1389 02 00000000:00000000\n\
        \x20  2: 0100000A:80E9 0200000A:1389 01 00000000:00000000\n\
        \x20  3: 00000000:1F40 00000000:0000 0A 00000000:00000000\n";

    #[test]
    fn a_socket_is_known_by_its_port_and_state() {
        assert!(has(TABLE, 33_001, "01"));
        assert!(!has(TABLE, 33_000, "01"), "still SYN_SENT");
        assert!(!has(TABLE, 5001, "01"), "only listening");
        assert!(!has("", 33_001, "01"));
        assert!(has(TABLE, 8000, "0A"));
        assert!(!has(TABLE, 8000, "07"));
        assert!(!has(TABLE, 33_000, "0A"), "connected");
        assert!(!has("", 8000, "0A"));
    }
}
