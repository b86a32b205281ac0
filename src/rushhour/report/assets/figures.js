"use strict";

// Figures that compare cells (report/figure): panels of one uPlot each, with one legend, one cursor, one zoom.
const Figures = (() => {
  const { colour, dash, marked, theory, curved, mark, line, swatch } = Looks;
  const { ink, make } = Ink;
  // How near to a point, in pixels, a click means its run.
  const NEAR = 14;
  const drawn = new Map();
  let keys = 0;
  // The run that the page shows; its points have a ring.
  let current = -1;

  function shown(trace, hidden) {
    return !hidden.has(trace.group) && !(trace.look !== null && hidden.has(`line:${trace.look}`));
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
      if (trace.runs[index] === current) ring(ctx, x, y, ratio);
    });
  }

  function ring(ctx, x, y, ratio) {
    ctx.save();
    ctx.strokeStyle = ink("--ink");
    mark(ctx, 0, x, y, 6 * ratio, true);
    ctx.restore();
  }

  // The run of the point nearest to a place in the plot; nothing where none is near, or the page has no runs.
  function runAt(state, facet, u, { left, top }) {
    if (!state.linked || curved(state.figure) || left < 0) return undefined;
    let [best, found] = [NEAR ** 2, undefined];
    for (const trace of facet.traces.filter((one) => one.runs.length && shown(one, state.hidden))) {
      trace.t.forEach((t, index) => {
        if (trace.v[index] === null) return;
        const away = (u.valToPos(t, "x") - left) ** 2 + (u.valToPos(trace.v[index], "y") - top) ** 2;
        if (away < best) [best, found] = [away, trace.runs[index]];
      });
    }
    return found;
  }

  // The run that the page shows now.
  function show(run) {
    current = run;
    for (const { plots, linked } of drawn.values()) if (linked) plots.forEach(({ plot }) => plot.redraw(false));
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
    // Points over a factor are marks, which `overlay` draws.
    return Object.assign(one, trace.shape === "points" && !figure.over_time ? { paths: () => null } : Ink.joined(trace.shape, stroke));
  }

  function options(state, facet, width, height) {
    const { figure, hidden } = state;
    const [low, high] = figure.over_time ? [figure.x.low, figure.x.high] : [-0.05, 1.05];
    const y = { range: () => Axes.range(figure, facet) };
    if (figure.y.log) y.distr = 3;
    // Where nothing can be dragged every click is one, also of a hand that shakes.
    const drag = figure.over_time ? { x: true, y: false } : { x: false, y: false, click: () => {} };
    const both = Axes.both(figure, facet, width);
    // Long words under the axis take nothing from the plot.
    return {
      width, height: height + both[0].size - 24, legend: { show: false }, axes: both, padding: [8, 10, 0, 0],
      scales: { x: { time: false, range: (_, min, max) => (figure.over_time && min !== max ? [min, max] : [low, high]) }, y },
      series: [{}, ...facet.traces.map((trace) => series(trace, figure, hidden))],
      cursor: { sync: { key: state.key, scales: ["x", null] }, drag,
        points: { show: false }, y: false },
      hooks: {
        draw: [(u) => overlay(u, figure, facet, hidden)],
        setCursor: [(u) => tell(state, u)],
        ready: [(u) => {
          u.setScale("x", { min: low, max: high });
          u.over.addEventListener("dblclick", () => state.plots.forEach(({ plot }) => plot.setScale("x", { min: low, max: high })));
          u.over.addEventListener("click", (event) => {
            const box = u.over.getBoundingClientRect();
            const run = runAt(state, facet, u, { left: event.clientX - box.left, top: event.clientY - box.top });
            if (run !== undefined) location.hash = `run-${run}`;
          });
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
    u.over.style.cursor = runAt(state, mine.facet, u, u.cursor) === undefined ? "" : "pointer";
    const x = u.posToVal(u.cursor.left, "x");
    const rows = Told.at(figure, mine.facet.traces.filter((trace) => shown(trace, hidden)), x);
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

  function panels(state, host) {
    for (const { plot } of state.plots) plot.destroy();
    state.plots = [];
    host.replaceChildren();
    const hosts = state.figure.facets.map((facet) => {
      const panel = make("div", undefined, "facet");
      if (facet.title) panel.append(make("h4", facet.title));
      const plot = make("div", undefined, "plot");
      plot.setAttribute("role", "img");
      plot.setAttribute("aria-label", Told.spoken(state.figure, facet));
      panel.append(plot);
      host.append(panel);
      return plot;
    });
    const height = hosts.length === 1 ? 290 : 210;
    state.figure.facets.forEach((facet, index) => {
      const plot = new uPlot(options(state, facet, Ink.widthOf(hosts[index]), height), data(state.figure, facet), hosts[index]);
      state.plots.push({ plot, facet, host: hosts[index] });
    });
  }

  // What is hidden, as another metric's overview, is drawn when it comes into sight.
  function redraw(element) {
    const state = drawn.get(element);
    state.stale = element.clientWidth === 0;
    if (state.stale) return;
    legend(state, element.querySelector(".legend-row"));
    panels(state, element.querySelector(".facets"));
  }

  async function load(element) {
    if (drawn.has(element)) return;
    const state = { key: `figure-${(keys += 1)}`, figure: null, hidden: new Set(), plots: [], tip: make("div", undefined, "tip"),
      linked: element.querySelector(".facets").classList.contains("linked"), stale: false };
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

  function inSight() {
    return [...document.querySelectorAll("figure.compare")].filter((one) => one.clientWidth > 0 && one.querySelector(".figure-data"));
  }

  // Draw what was hidden until now.
  function look() {
    for (const element of inSight()) {
      if (drawn.get(element)?.stale) redraw(element);
    }
    drawAll(inSight().filter((one) => !drawn.has(one)));
  }

  function start() {
    drawAll(inSight().filter((one) => !drawn.has(one)));
    document.addEventListener("toggle", look, true);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
    addEventListener("beforeprint", () => inSight().forEach(load));
    Ink.onPaper(all);
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

  return { start, look, show };
})();
