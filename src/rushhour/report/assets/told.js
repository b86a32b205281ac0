"use strict";

// What a figure says in words: of every line at the pointer, and of a panel to who cannot see it.
const Told = (() => {
  const { curved } = Looks;

  function unit(figure, value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    const said = Words.number(value / figure.y.divisor);
    return figure.y.unit ? `${said} ${figure.y.unit}` : said;
  }

  function atInstant(figure, traces, x) {
    const level = (trace) => trace.role !== "measured";
    const lines = traces.filter((trace) => trace.t.length && x >= trace.t[0] && x <= trace.t[trace.t.length - 1])
      .map((trace) => [trace, trace.label, unit(figure, level(trace) ? trace.v[0] : Series.at(trace, x))]);
    return { head: `${x.toFixed(3)} s`, lines };
  }

  // Of a distribution: the value at this place of the axis, and the share of each line up to it.
  function atValue(figure, traces, place) {
    const { low, high, log, divisor, unit: name } = figure.x;
    const value = log ? low * (high / low) ** place : low + (high - low) * place;
    const lines = (place < 0 ? [] : traces).map((trace) => [trace, trace.label, unit(figure, Series.share(trace, place))]);
    return { head: `up to ${Words.number(value / divisor)}${name ? ` ${name}` : ""}`, lines };
  }

  // Of points over a factor: those nearest to this place of the axis.
  function atLevel(figure, traces, x) {
    const rows = points(figure, traces);
    if (!rows.length) return { head: "", lines: [] };
    const away = (row) => Math.min(...row.map(({ trace, index }) => Math.abs(trace.t[index] - x)));
    const near = rows.reduce((best, row) => (away(row) < away(best) ? row : best), rows[0]);
    const { trace, index } = near[0];
    return { head: place(figure, trace.t[index]), lines: near.map((one) => [one.trace, label(figure, one.trace), value(figure, one)]) };
  }

  const ORDER = ["measured", "published", "model", "doubtful"];

  // The points at each place of the axis that has some, in the axis' order: what was measured comes first.
  function points(figure, traces) {
    const rows = new Map();
    for (const trace of traces.filter((one) => !figure.styles[one.look]?.pale)) {
      trace.t.forEach((t, index) => {
        // A theory outside its range has points that only join it to those within.
        if (trace.v[index] === null || (trace.role === "doubtful" && !trace.said[index])) return;
        const level = levelAt(figure, t);
        if (!rows.has(level)) rows.set(level, []);
        rows.get(level).push({ trace, index });
      });
    }
    const order = (one) => ORDER.indexOf(one.trace.role);
    return [...rows].sort(([a], [b]) => a - b).map(([, row]) => row.sort((a, b) => order(a) - order(b)));
  }

  // The level at a place; lines over words lie a little beside it.
  function levelAt(figure, x) {
    const levels = figure.x.levels;
    if (!levels.length) return x;
    return levels.reduce((best, [at], index) => (Math.abs(at - x) < Math.abs(levels[best][0] - x) ? index : best), 0);
  }

  // A place of the axis in words.
  function place(figure, x) {
    return figure.x.levels.length ? `${figure.x.title} ${figure.x.levels[levelAt(figure, x)][1]}` : "";
  }

  function label(figure, trace) {
    return trace.role === "measured" || trace.look === null ? trace.label : `${line_(figure, trace)}${trace.label}`;
  }

  function value(figure, { trace, index }) {
    return trace.said[index] || unit(figure, trace.v[index]);
  }

  function point(figure, one) {
    return `${label(figure, one.trace)} ${value(figure, one)}`;
  }

  function line_(figure, trace) {
    const entry = figure.entries.find((one) => one.group === `line:${trace.look}`);
    return entry ? `${entry.label}: ` : "";
  }

  function spoken(figure, facet) {
    const seen = (trace) => trace.role === "measured" && (curved(figure) || !figure.styles[trace.look]?.pale);
    const parts = facet.traces.filter(seen).map((trace) => {
      if (figure.lanes) return `${trace.label} ${total(trace)}`;
      const values = trace.v.filter((value) => value !== null);
      const low = values.reduce((a, b) => Math.min(a, b), Infinity);
      const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
      return `${trace.label} ${unit(figure, low)} to ${unit(figure, high)}`;
    });
    const levels = facet.references.map((one) => `${one.label} ${one.quantity}`);
    const changes = facet.instants.filter((one) => one.label).map((one) => `change ${one.label} before ${place(figure, one.x + 1e-9)}`);
    return `${figure.y.title} over ${figure.over_time ? "time" : figure.x.title}${facet.title ? `, ${facet.title}` : ""}. ${[...parts, ...levels, ...changes].join("; ")}.`;
  }

  // How many events a row has.
  function total(trace) {
    return Words.number(trace.v.reduce((sum, value) => sum + value, 0));
  }

  // What these traces say at a place of the axis: a heading, and rows of trace, label, value.
  function at(figure, traces, x) {
    const read = figure.over_time ? atInstant : figure.distribution ? atValue : atLevel;
    return read(figure, traces, x);
  }

  // The same as one sentence, for who listens.
  function aloud(figure, traces, x) {
    const { head, lines } = figure.lanes ? { head: `${x.toFixed(3)} s`, lines: [] } : at(figure, traces, x);
    return [head, ...lines.map(([, label, value]) => `${label} ${value}`)].filter(Boolean).join("; ");
  }

  return { at, aloud, place, point, points, spoken, total, unit };
})();
