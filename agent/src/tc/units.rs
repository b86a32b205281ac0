//! Numbers with units, as `tc(8)` defines them (section PARAMETERS), and the kernel's tick.

/// Nanoseconds of a psched tick: `1 << PSCHED_SHIFT` (`include/net/pkt_sched.h`), the second field of `/proc/net/psched`.
pub const TICK_NS: f64 = 64.0;

const KIBI: f64 = 1024.0;

/// Splits a number from its unit.
fn split(text: &str) -> Option<(f64, String)> {
    let unit_at = text
        .char_indices()
        .find(|(at, letter)| {
            let exponent =
                matches!(letter, 'e' | 'E') && text[at + 1..].starts_with(|next: char| next.is_ascii_digit());
            letter.is_ascii_alphabetic() && !exponent || *letter == '%'
        })
        .map_or(text.len(), |(at, _)| at);
    let number: f64 = text[..unit_at].parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number, text[unit_at..].to_ascii_lowercase()))
}

/// A rate in bytes a second. A bare number and `bit` are bits a second, `bps` bytes a second; `k` is 1000, `ki` 1024.
#[must_use]
pub fn rate(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let (prefix, bits) = match unit.strip_suffix("bit") {
        Some(prefix) => (prefix, 1.0),
        None if unit.is_empty() => ("", 1.0),
        None => (unit.strip_suffix("bps")?, 8.0),
    };
    let scale = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => KIBI,
        "mi" => KIBI * KIBI,
        "gi" => KIBI * KIBI * KIBI,
        "ti" => KIBI * KIBI * KIBI * KIBI,
        _ => return None,
    };
    Some((number * bits * scale / 8.0) as u64)
}

/// A size in bytes. `k` and `kb` are 1024 bytes, `kbit` 1024 bits, and so on.
#[must_use]
pub fn size(text: &str) -> Option<u32> {
    u32::try_from(wide_size(text)?).ok()
}

/// A size that may need more than 32 bits.
#[must_use]
pub fn wide_size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let scale = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => KIBI,
        "m" | "mb" => KIBI * KIBI,
        "g" | "gb" => KIBI * KIBI * KIBI,
        "kbit" => KIBI / 8.0,
        "mbit" => KIBI * KIBI / 8.0,
        "gbit" => KIBI * KIBI * KIBI / 8.0,
        _ => return None,
    };
    let bytes = number * scale;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Seconds of a unit of time.
fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "sec" | "secs" => 1e9,
        "ms" | "msec" | "msecs" => 1e6,
        "us" | "usec" | "usecs" => 1e3,
        "ns" | "nsec" | "nsecs" => 1.0,
        _ => return None,
    })
}

/// A time in microseconds; a bare number is microseconds.
#[must_use]
pub fn micros(text: &str) -> Option<u32> {
    let (number, unit) = split(text)?;
    let micros = match unit.as_str() {
        "" => number,
        unit => number * (seconds(unit)? / 1e3),
    };
    (micros <= f64::from(u32::MAX)).then_some(micros as u32)
}

/// A time in nanoseconds; a bare number is microseconds, as everywhere in tc.
#[must_use]
pub fn nanos(text: &str) -> Option<i64> {
    let (number, unit) = split(text)?;
    let nanos = match unit.as_str() {
        "" => number,
        unit => number * seconds(unit)?,
    };
    (nanos <= i64::MAX as f64).then_some(nanos as i64)
}

/// A percentage as a share in `[0, 1]`: `1%`, or `1` for the same.
#[must_use]
pub fn percent(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    (number <= 100.0 && matches!(unit.as_str(), "" | "%")).then_some(number / 100.0)
}

/// Ticks that `size` bytes take at `rate` bytes a second, rounded up.
#[must_use]
pub fn transmit_ticks(rate: u64, size: u64) -> u32 {
    let micros = 1e6 * (size as f64 / rate as f64);
    (micros * (1000.0 / TICK_NS)).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_tcs() {
        assert_eq!(rate("100mbit"), Some(12_500_000));
        assert_eq!(rate("100000000bit"), Some(12_500_000));
        assert_eq!(rate("8"), Some(1));
        assert_eq!(rate("1kbps"), Some(1000));
        assert_eq!(rate("1KiBit"), Some(128));
        assert_eq!(rate("1.5Gbit"), Some(187_500_000));
        assert_eq!(size("500kb"), Some(512_000));
        assert_eq!(size("500000b"), Some(500_000));
        assert_eq!(size("8kbit"), Some(1024));
        assert_eq!(micros("1.5ms"), Some(1500));
        assert_eq!(micros("20"), Some(20));
        assert_eq!(nanos("20ns"), Some(20));
        assert_eq!((percent("1%"), percent("1")), (Some(0.01), Some(0.01)));
        assert_eq!(transmit_ticks(1_000_000, 64), 1000);
    }

    #[test]
    fn what_is_no_number_or_no_unit_is_refused() {
        for wrong in ["", "mbit", "-1mbit", "1xbit", "1 mbit", "nan", "inf", "1e400", "100m"] {
            assert_eq!(rate(wrong), None, "{wrong}");
        }
        assert_eq!(size("5gb"), None);
        assert_eq!(percent("101%"), None);
    }
}
