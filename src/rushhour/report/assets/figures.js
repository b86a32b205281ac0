"use strict";

// Figures that compare cells (report/figure): panels of one uPlot each, with one legend, one cursor, one zoom.
const Figures = (() => {
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2, 1, 2]];
  const THEORY = [[6, 4], [8, 3, 2, 3], [3, 3], [10, 3, 2, 3, 2, 3]];
  // Outside its range a theory is dotted; each in its own way.
  const DOUBT = [[1.5, 3.5], [1.5, 3.5, 5, 3.5], [1.5, 7], [1.5, 2, 1.5, 7]];
  const STOPS = 6;
  const LETTER = 6.4;
  const drawn = new Map();
  let keys = 0;

  function ink(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // The colour at a place from 0 to 1 along the ramp of the page's style.
  function along(place) {
    const at = place * (STOPS - 1);
    const left = Math.min(Math.floor(at), STOPS - 2);
    const [low, high] = [left, left + 1].map((stop) => ink(`--ramp${stop}`));
    const parts = [1, 3, 5].map((k) => {
      const [a, b] = [low, high].map((text) => parseInt(text.slice(k, k + 2), 16));
      return Math.round(a + (b - a) * (at - left));
    });
    return `rgb(${parts.join(",")})`;
  }

  function colour(item, figure) {
    if (item.look === null) return theory(item) ? ink(`--t${number(item, figure) % 4}`) : ink("--ink-2");
    const style = figure.styles[item.look];
    return style.place === null ? ink(`--c${style.colour % 8}`) : along(style.place);
  }

  function dash(item, figure) {
    if (item.role === "doubtful") return DOUBT[number(item, figure) % DOUBT.length];
    if (item.role === "model") return THEORY[number(item, figure) % THEORY.length];
    if (item.look === null) return [];
    const index = figure.styles[item.look].dash;
    return DASHES[(index + Math.floor(index / 8)) % DASHES.length];
  }

  // Which of the figure's theories it is.
  function number(item, figure) {
    return Math.max(0, [...new Set(figure.entries.filter(theory).map((entry) => entry.group))].indexOf(item.group));
  }

  function marked(item, figure) {
    return item.look === null ? 0 : figure.styles[item.look].mark;
  }

  function theory(item) {
    return item.role === "model" || item.role === "doubtful";
  }

  // Over time and of a distribution lines have no marks.
  function curved(figure) {
    return figure.over_time || figure.distribution;
  }

  function shown(trace, hidden) {
    return !hidden.has(trace.group) && !(trace.look !== null && hidden.has(`line:${trace.look}`));
  }

  // Marks: filled for what was measured, hollow for what was published; shapes by line as in report/lines_svg.py.
  function mark(ctx, number, x, y, size, hollow) {
    const ways = [
      () => ctx.arc(x, y, size, 0, 2 * Math.PI),
      () => ctx.rect(x - 0.88 * size, y - 0.88 * size, 1.76 * size, 1.76 * size),
      () => { ctx.moveTo(x, y - 1.15 * size); ctx.lineTo(x + 1.1 * size, y + 0.85 * size); ctx.lineTo(x - 1.1 * size, y + 0.85 * size); },
      () => { ctx.moveTo(x, y - 1.25 * size); ctx.lineTo(x + 1.25 * size, y); ctx.lineTo(x, y + 1.25 * size); ctx.lineTo(x - 1.25 * size, y); },
    ];
    ctx.beginPath();
    ways[number % ways.length]();
    ctx.closePath();
    if (hollow) ctx.stroke();
    else ctx.fill();
  }

  function overlay(u, figure, facet, hidden) {
    const { ctx } = u;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.rect(u.bbox.left - 6 * ratio, u.bbox.top - 6 * ratio, u.bbox.width + 12 * ratio, u.bbox.height + 12 * ratio);
    ctx.clip();
    for (const trace of facet.traces) if (shown(trace, hidden)) points(u, figure, trace, ratio);
    ctx.restore();
  }

  function points(u, figure, trace, ratio) {
    if (curved(figure) && trace.role !== "published") return;
    const { ctx } = u;
    ctx.strokeStyle = ctx.fillStyle = colour(trace, figure);
    const levels = theory(trace) && trace.shape === "points";
    if (theory(trace) && !levels) return;
    const half = (0.3 / Math.max(1, figure.x.ticks.length)) * u.bbox.width;
    trace.t.forEach((t, index) => {
      if (trace.v[index] === null || (figure.y.log && trace.v[index] <= 0)) return;
      const x = u.valToPos(t, "x", true);
      const y = u.valToPos(trace.v[index], "y", true);
      ctx.lineWidth = 1.4 * ratio;
      if (levels) return line(ctx, x - half, y, x + half, y, dash(trace, figure), ratio);
      if (trace.low) bar(u, ctx, x, trace.low[index], trace.high[index], ratio, figure.y.log);
      mark(ctx, marked(trace, figure), x, y, (trace.role === "published" ? 4.6 : 3.4) * ratio, trace.role === "published");
    });
  }

  function line(ctx, x0, y0, x1, y1, dashes, ratio) {
    ctx.setLineDash(dashes.map((part) => part * ratio));
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  function bar(u, ctx, x, low, high, ratio, log) {
    if (low === null || high === null || low === high || (log && low <= 0)) return;
    const [from, to] = [low, high].map((value) => u.valToPos(value, "y", true));
    line(ctx, x, from, x, to, [], ratio);
    for (const y of [from, to]) line(ctx, x - 3 * ratio, y, x + 3 * ratio, y, [], ratio);
  }

  function series(trace, figure, hidden) {
    const stroke = colour(trace, figure);
    const one = { label: trace.label, stroke, width: theory(trace) ? 1.2 : curved(figure) ? 1.3 : 1.8,
      dash: dash(trace, figure), show: shown(trace, hidden), points: { show: false } };
    if (trace.shape === "points" && figure.over_time) {
      Object.assign(one, { paths: () => null, points: { show: true, size: 3, fill: stroke, width: 0 } });
    } else if (trace.shape === "points") one.paths = () => null;
    else if (trace.shape === "hold") one.paths = uPlot.paths.stepped({ align: 1 });
    else if (trace.shape === "interval") one.paths = uPlot.paths.stepped({ align: -1 });
    return one;
  }

  // Ticks whose words do not touch; the first and the last stay.
  function apart(ticks, width) {
    const kept = ticks.slice(0, 1);
    for (const [place, word] of ticks.slice(1)) {
      const [last, before] = kept[kept.length - 1];
      if ((place - last) * width >= (LETTER * (word.length + before.length + 2)) / 2) kept.push([place, word]);
    }
    if (kept.length > 1) kept[kept.length - 1] = ticks[ticks.length - 1];
    return kept;
  }

  // Levels that are words all stay: broken into lines where each word fits into its place, else slanted.
  function categories(words, width) {
    const place = width / 1.1 / words.length;
    const lines = words.map((word) => broken(word, Math.floor(place / LETTER)));
    const fit = lines.every((parts) => parts.every((part) => part.length * LETTER <= place));
    if (fit) return { said: lines.map((parts) => parts.join("\n")), rotate: 0, size: 8 + 16.5 * Math.max(...lines.map((parts) => parts.length)) };
    const long = LETTER * Math.max(...words.map((word) => word.length));
    const angle = [40, 60].find((degrees) => long * Math.cos((degrees * Math.PI) / 180) < 44 + place / 2) ?? 90;
    return { said: words, rotate: angle, size: 16 + long * Math.sin((angle * Math.PI) / 180) };
  }

  function broken(text, letters) {
    return text.split(" ").reduce((lines, word) => {
      const last = lines[lines.length - 1];
      if (last !== undefined && last.length + 1 + word.length <= letters) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
      return lines;
    }, []);
  }

  function axes(figure, facet, width) {
    const common = { stroke: ink("--ink-2"), font: `11px ${ink("--sans")}`, labelFont: `11px ${ink("--sans")}`,
      grid: { stroke: ink("--rule"), width: 1 }, ticks: { show: false } };
    const x = { ...common, size: 24, label: figure.x.label, labelSize: 18, labelGap: 0 };
    if (!figure.over_time) {
      const ticks = figure.x.numeric ? apart(figure.x.ticks, width - 80) : figure.x.ticks;
      Object.assign(x, { splits: () => ticks.map(([place]) => place), values: () => ticks.map(([, word]) => word) });
      if (!figure.x.numeric) {
        const { said, rotate, size } = categories(ticks.map(([, word]) => word), width - 80);
        Object.assign(x, { values: () => said, rotate, size });
      }
    } else x.space = 56;
    const said = (value) => (value === null || value === undefined ? "" : Words.number(value / figure.y.divisor));
    const y = { ...common, size: 50, gap: 6, space: 28, values: (_, splits) => splits.map(said) };
    if (figure.y.log) {
      y.splits = () => decades(figure, facet);
      y.filter = (_, splits) => splits;
    }
    return [x, y];
  }

  // Ticks of a logarithmic axis: powers of ten, with 2 and 5 where there are few of them.
  function decades(figure, facet) {
    const [low, high] = yRange(figure, facet).map((value) => value / figure.y.divisor);
    const steps = high / low < 300 ? [1, 2, 5] : [1];
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      for (const step of steps) {
        const value = Number(`${step}e${power}`);
        if (value >= low && value <= high) found.push(value * figure.y.divisor);
      }
    }
    return found;
  }

  function yRange(figure, facet) {
    const all = figure.same ? figure.facets : [facet];
    const low = Math.min(...all.map((other) => other.low));
    const top = Math.max(...all.map((other) => other.top));
    return figure.y.log ? [0.8 * low, 1.25 * top] : [low, 1.06 * top];
  }

  function options(state, facet, width, height) {
    const { figure, hidden } = state;
    const [low, high] = figure.over_time ? [figure.x.low, figure.x.high] : [-0.05, 1.05];
    const y = { range: () => yRange(figure, facet) };
    if (figure.y.log) y.distr = 3;
    const both = axes(figure, facet, width);
    // Long words under the axis take nothing from the plot.
    return {
      width, height: height + both[0].size - 24, legend: { show: false }, axes: both, padding: [8, 10, 0, 0],
      scales: { x: { time: false, range: (_, min, max) => (figure.over_time && min !== max ? [min, max] : [low, high]) }, y },
      series: [{}, ...facet.traces.map((trace) => series(trace, figure, hidden))],
      cursor: { sync: { key: state.key, scales: ["x", null] }, drag: { x: figure.over_time, y: false },
        points: { show: false }, y: false },
      hooks: {
        draw: [(u) => overlay(u, figure, facet, hidden)],
        setCursor: [(u) => tell(state, u)],
        ready: [(u) => {
          u.setScale("x", { min: low, max: high });
          u.over.addEventListener("dblclick", () => state.plots.forEach(({ plot }) => plot.setScale("x", { min: low, max: high })));
          u.over.addEventListener("mousemove", () => { state.under = u; }, { capture: true });
          u.over.addEventListener("mouseleave", () => {
            state.under = null;
            state.tip.hidden = true;
          });
        }],
      },
    };
  }

  function data(figure, facet) {
    const ends = figure.over_time ? [figure.x.low, figure.x.high] : [0, 1];
    const positive = (values) => (figure.y.log ? values.map((value) => (value > 0 ? value : null)) : values);
    const joined = uPlot.join([[ends, [null, null]], ...facet.traces.map((trace) => [trace.t, positive(trace.v)])]);
    joined.splice(1, 1);
    return joined;
  }

  // What every line says at the cursor: beside it, in the panel that the pointer is in.
  function tell(state, u) {
    const { figure, tip, hidden } = state;
    const mine = state.plots.find(({ plot }) => plot === u);
    // The cursors of the other panels follow; only the one under the pointer speaks.
    if (!mine || state.under !== u || u.cursor.left < 0) return;
    const x = u.posToVal(u.cursor.left, "x");
    const read = figure.over_time ? atInstant : figure.distribution ? atValue : atLevel;
    const rows = read(figure, mine.facet, x, hidden);
    tip.hidden = rows.lines.length === 0;
    if (tip.hidden) return;
    tip.replaceChildren(make("b", rows.head), ...rows.lines.map(([item, label, value]) => {
      const row = make("div");
      row.append(swatch(item, figure), make("span", label), make("output", value));
      return row;
    }));
    mine.host.append(tip);
    const right = u.cursor.left > u.over.clientWidth / 2;
    const edge = u.over.offsetLeft + u.cursor.left;
    tip.style.left = right ? "" : `${edge + 14}px`;
    tip.style.right = right ? `${mine.host.clientWidth - edge + 14}px` : "";
  }

  function unit(figure, value) {
    if (value === null || value === undefined) return "–";
    const said = Words.number(value / figure.y.divisor);
    return figure.y.unit ? `${said} ${figure.y.unit}` : said;
  }

  function atInstant(figure, facet, x, hidden) {
    const level = (trace) => trace.role !== "measured";
    const lines = facet.traces.filter((trace) => shown(trace, hidden) && trace.t.length)
      .filter((trace) => x >= trace.t[0] && x <= trace.t[trace.t.length - 1])
      .map((trace) => [trace, trace.label, unit(figure, level(trace) ? trace.v[0] : Series.at(trace, x))]);
    return { head: `${x.toFixed(3)} s`, lines };
  }

  // Of a distribution: the value at this place of the axis, and the share of each line up to it.
  function atValue(figure, facet, place, hidden) {
    const { low, high, log, divisor, unit: name } = figure.x;
    const value = log ? low * (high / low) ** place : low + (high - low) * place;
    const lines = facet.traces.filter((trace) => shown(trace, hidden) && place >= 0)
      .map((trace) => [trace, trace.label, unit(figure, Series.share(trace, place))]);
    return { head: `up to ${Words.number(value / divisor)}${name ? ` ${name}` : ""}`, lines };
  }

  function atLevel(figure, facet, x, hidden) {
    const places = facet.traces.flatMap((trace) => [...trace.t]);
    if (!places.length) return { head: "", lines: [] };
    const ticks = figure.x.numeric ? places : figure.x.ticks.map(([place]) => place);
    const near = ticks.reduce((best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best), ticks[0]);
    const reach = figure.x.numeric ? 1e-4 : 0.5 / figure.x.ticks.length;
    const lines = [];
    const order = ["measured", "published", "model", "doubtful"];
    for (const trace of facet.traces.filter((one) => shown(one, hidden))) {
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

  function make(tag, text, name) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  }

  function swatch(item, figure) {
    const canvas = make("canvas", undefined, "swatch");
    const ratio = devicePixelRatio;
    canvas.width = 28 * ratio;
    canvas.height = 12 * ratio;
    const ctx = canvas.getContext("2d");
    ctx.strokeStyle = ctx.fillStyle = colour(item, figure);
    ctx.lineWidth = (theory(item) ? 1.4 : 2) * ratio;
    const dots = figure.over_time && item.role === "measured"
      && figure.facets.every((facet) => facet.traces.every((trace) => trace.group !== item.group || trace.shape === "points"));
    if (dots) {
      for (const x of [5, 14, 23]) mark(ctx, 0, x * ratio, 6 * ratio, 1.8 * ratio, false);
      return canvas;
    }
    const joined = (item.role !== "published" || figure.over_time) && (curved(figure) || figure.x.numeric || theory(item));
    if (joined) line(ctx, 0, 6 * ratio, 28 * ratio, 6 * ratio, dash(item, figure), ratio);
    if (!theory(item) && (!curved(figure) || item.role === "published")) {
      ctx.lineWidth = 1.4 * ratio;
      mark(ctx, marked(item, figure), 14 * ratio, 6 * ratio, (item.role === "published" ? 4.2 : 3.6) * ratio, item.role === "published");
    }
    return canvas;
  }

  function legend(state, host) {
    const { figure, hidden } = state;
    host.replaceChildren();
    if (figure.legend) host.append(make("span", `${figure.legend}:`, "what"));
    for (const entry of figure.entries) {
      const button = make("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(!hidden.has(entry.group)));
      button.append(swatch(entry, figure), entry.label);
      button.addEventListener("click", () => {
        if (!hidden.delete(entry.group)) hidden.add(entry.group);
        legend(state, host);
        refresh(state);
      });
      host.append(button);
    }
  }

  function refresh(state) {
    for (const { plot, facet } of state.plots) {
      facet.traces.forEach((trace, index) => plot.setSeries(index + 1, { show: shown(trace, state.hidden) }));
      plot.redraw();
    }
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

  function panels(state, host) {
    for (const { plot } of state.plots) plot.destroy();
    state.plots = [];
    host.replaceChildren();
    const hosts = state.figure.facets.map((facet) => {
      const panel = make("div", undefined, "facet");
      if (facet.title) panel.append(make("h4", facet.title));
      const plot = make("div", undefined, "plot");
      plot.setAttribute("role", "img");
      plot.setAttribute("aria-label", spoken(state.figure, facet));
      panel.append(plot);
      host.append(panel);
      return plot;
    });
    const height = hosts.length === 1 ? 290 : 210;
    state.figure.facets.forEach((facet, index) => {
      const plot = new uPlot(options(state, facet, Plots.widthOf(hosts[index]), height), data(state.figure, facet), hosts[index]);
      state.plots.push({ plot, facet, host: hosts[index] });
    });
  }

  function redraw(element) {
    const state = drawn.get(element);
    legend(state, element.querySelector(".legend-row"));
    panels(state, element.querySelector(".facets"));
  }

  async function load(element) {
    if (drawn.has(element)) return;
    const state = { key: `figure-${(keys += 1)}`, figure: null, hidden: new Set(), plots: [], tip: make("div", undefined, "tip") };
    drawn.set(element, state);
    state.tip.hidden = true;
    const { header, columns } = await Series.open(element.querySelector(".figure-data").textContent);
    state.figure = header.figure;
    for (const facet of state.figure.facets) {
      for (const trace of facet.traces) {
        for (const [name, place] of Object.entries(trace.columns)) trace[name] = columns[place];
      }
    }
    redraw(element);
    document.documentElement.dataset.figures = String([...drawn.values()].filter((one) => one.plots.length).length);
  }

  function all() {
    for (const [element, state] of drawn) if (state.figure) redraw(element);
  }

  // One figure after the other, the nearest to the window first: a study has dozens, and the page stays awake.
  async function drawAll(waiting) {
    while (waiting.length) {
      const far = waiting.map((one) => Math.abs(one.getBoundingClientRect().top));
      const [element] = waiting.splice(far.indexOf(Math.min(...far)), 1);
      await load(element).catch((fault) => {
        element.querySelector(".facets").textContent = `The plot could not be drawn: ${fault.message}. The tables are complete.`;
      });
      await new Promise((done) => setTimeout(done, 0));
    }
  }

  function start() {
    const waiting = [...document.querySelectorAll("figure.compare")].filter((one) => one.querySelector(".figure-data"));
    drawAll([...waiting]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
    addEventListener("beforeprint", () => waiting.forEach((element) => load(element)));
    Plots.onPaper(all);
    let width = innerWidth;
    let later = 0;
    addEventListener("resize", () => {
      clearTimeout(later);
      later = setTimeout(() => {
        if (innerWidth !== width) all();
        width = innerWidth;
      }, 150);
    });
  }

  return { start };
})();
