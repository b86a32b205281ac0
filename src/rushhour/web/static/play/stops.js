"use strict";

// Quantities with units, as the scenario writes them, and the values at which their sliders stop.
const Stops = (() => {
  const UNITS = {
    rate: { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 },
    time: { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60 },
    size: { B: 1, kB: 1e3, MB: 1e6, KiB: 1024, MiB: 1048576 },
    packets: { p: 1 },
    bdp: { bdp: 1 },
    share: { "%": 1 },
    count: { "": 1 },
  };
  // From step to step about a sixth of a decade: fine enough to find a value, coarse enough to see the change.
  const STEPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

  function spread(least, most, write, steps = STEPS) {
    const found = [];
    for (let decade = 10 ** Math.floor(Math.log10(least)); decade <= most; decade *= 10) {
      for (const step of steps) {
        const value = Number((step * decade).toPrecision(3));
        if (value >= least * 0.999 && value <= most * 1.001) found.push(write(value));
      }
    }
    return found;
  }

  const plain = (value) => String(Number(value.toPrecision(6)));
  const bits = (value) => value >= 1e9 ? `${plain(value / 1e9)}gbit` : value >= 1e6 ? `${plain(value / 1e6)}mbit` : `${plain(value / 1e3)}kbit`;
  const seconds = (value) => value >= 1 ? `${plain(value)}s` : value >= 1e-3 ? `${plain(value * 1e3)}ms` : `${plain(value * 1e6)}us`;
  const bytes = (value) => value >= 1e6 ? `${plain(value / 1e6)}MB` : `${plain(value / 1e3)}kB`;

  // The stops of each quantity within what the server gives; those of a buffer by the unit it is written in.
  function of(name, bounds, text) {
    const whole = (least, most) => Array.from({ length: most - least + 1 }, (_, index) => least + index);
    if (name === "rate") return spread(256e3, bounds.rate_bps, bits);
    if (name === "rtt") return spread(1e-3, Math.min(bounds.rtt_s, 1), seconds);
    if (name === "loss") return ["0%", ...spread(0.01, 10, (value) => `${plain(value)}%`, [1, 2, 3, 5, 7])];
    if (name === "jitter") return ["", "0us", ...spread(1e-4, 0.05, seconds, [1, 2, 5])];
    if (name === "duration") return whole(1, Math.floor(bounds.duration_s)).map((value) => `${value}s`);
    if (name === "size") return whole(1, 6).map(String);
    const kind = kindOf(text);
    if (kind === "size") return spread(3e3, 2e7, bytes);
    if (kind === "packets") return spread(2, 5000, (value) => `${Math.round(value)}p`);
    if (kind === "time") return spread(1e-3, 2, seconds);
    return spread(0.1, 20, (value) => `${plain(value)}bdp`);
  }

  // A number in its base unit; NaN where the text is no quantity.
  function worth(text) {
    const match = /^\s*([0-9.]+)\s*([A-Za-zµ%]*)\s*$/.exec(text);
    if (!match) return NaN;
    for (const units of Object.values(UNITS)) {
      if (match[2] in units) return Number(match[1]) * units[match[2]];
    }
    return NaN;
  }

  function kindOf(text) {
    const unit = (/([A-Za-zµ%]*)\s*$/.exec(text) || ["", ""])[1];
    return Object.keys(UNITS).find((kind) => unit in UNITS[kind]);
  }

  // The stop nearest to a text, by ratio where both are above zero.
  function nearest(stops, text) {
    const exact = stops.indexOf(text.trim());
    if (exact >= 0) return exact;
    const wanted = worth(text);
    if (Number.isNaN(wanted)) return 0;
    const away = (stop) => {
      const value = worth(stop);
      if (Number.isNaN(value)) return Infinity;
      return wanted > 0 && value > 0 ? Math.abs(Math.log(value / wanted)) : value === wanted ? 0 : 1e6;
    };
    return stops.reduce((best, stop, index) => (away(stop) < away(stops[best]) ? index : best), 0);
  }

  return { of, nearest, worth };
})();
