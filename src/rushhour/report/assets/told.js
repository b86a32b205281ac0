"use strict";

// What a figure says in words: of every line at the pointer, and of a panel to who cannot see it.
const Told = (() => {
  function unit(figure, value) {
    if (value === null || value === undefined) return "–";
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

  function atLevel(figure, traces, x) {
    const places = traces.flatMap((trace) => [...trace.t]);
    if (!places.length) return { head: "", lines: [] };
    const ticks = figure.x.numeric ? places : figure.x.ticks.map(([place]) => place);
    const near = ticks.reduce((best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best), ticks[0]);
    const reach = figure.x.numeric ? 1e-4 : 0.5 / figure.x.ticks.length;
    const lines = [];
    const order = ["measured", "published", "model", "doubtful"];
    for (const trace of traces) {
      trace.t.forEach((place, index) => {
        const joins = trace.role === "doubtful" && !trace.said[index];
        if (Math.abs(place - near) <= reach && trace.v[index] !== null && !joins) {
          const label = trace.role === "measured" || trace.look === null ? trace.label : `${line_(figure, trace)}${trace.label}`;
          lines.push([trace, label, trace.said[index] || unit(figure, trace.v[index])]);
        }
      });
    }
    lines.sort(([a], [b]) => order.indexOf(a.role) - order.indexOf(b.role));
    const tick = figure.x.levels?.find(([place]) => Math.abs(place - near) < 1e-4);
    return { head: tick ? `${figure.x.title} ${tick[1]}` : "", lines };
  }

  function line_(figure, trace) {
    const entry = figure.entries.find((one) => one.group === `line:${trace.look}`);
    return entry ? `${entry.label}: ` : "";
  }

  function spoken(figure, facet) {
    const parts = facet.traces.filter((trace) => trace.role === "measured").map((trace) => {
      const values = trace.v.filter((value) => value !== null);
      const low = values.reduce((a, b) => Math.min(a, b), Infinity);
      const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
      return `${trace.label} ${unit(figure, low)} to ${unit(figure, high)}`;
    });
    return `${figure.y.title} over ${figure.x.title}${facet.title ? `, ${facet.title}` : ""}. ${parts.join("; ")}.`;
  }

  // What these traces say at a place of the axis: a heading, and rows of trace, label, value.
  function at(figure, traces, x) {
    const read = figure.over_time ? atInstant : figure.distribution ? atValue : atLevel;
    return read(figure, traces, x);
  }

  return { at, spoken };
})();
