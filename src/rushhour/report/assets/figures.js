"use strict";

// Figures that compare cells (report/figure): panels of one uPlot each, with one legend, one cursor, one zoom.
const Figures = (() => {
  const { curved, swatch } = Looks;
  const { make } = Ink;
  // How near to a point, in pixels, a click means its run.
  const NEAR = 14;
  const drawn = new Map();
  let figures = 0;
  // The run that the page shows; its points have a ring.
  let current = -1;

  function shown(trace, hidden) {
    return !hidden.has(trace.group) && !(trace.look !== null && hidden.has(`line:${trace.look}`));
  }

  // Where a point leads: to an address of its own, or to its run where the page has runs.
  function target(state, trace, index) {
    if (trace.links.length) return trace.links[index];
    return state.linked && trace.runs.length ? `#run-${trace.runs[index]}` : undefined;
  }

  // Where the point nearest to a place in the plot leads; nowhere where none is near.
  function targetAt(state, facet, u, { left, top }) {
    if (curved(state.figure) || left < 0) return undefined;
    let [best, found] = [NEAR ** 2, undefined];
    for (const trace of facet.traces.filter((one) => shown(one, state.hidden))) {
      trace.t.forEach((t, index) => {
        const to = target(state, trace, index);
        if (to === undefined || trace.v[index] === null) return;
        const away = (u.valToPos(t, "x") - left) ** 2 + (u.valToPos(trace.v[index], "y") - top) ** 2;
        if (away < best) [best, found] = [away, to];
      });
    }
    return found;
  }

  // Whether a point has a ring: its run is the one that the page shows, or it was reached with the keys.
  function ringed(state, trace, index) {
    return (state.linked && trace.runs[index] === current) || (state.reached?.trace === trace && state.reached.index === index);
  }

  // The run that the page shows now.
  function show(run) {
    current = run;
    for (const { plots, linked } of drawn.values()) if (linked) plots.forEach(({ plot }) => plot.redraw(false));
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
      width, height: height + both[0].size - 24, legend: { show: false }, axes: both, padding: [facet.instants.some((one) => one.label) ? 20 : 8, 10, 0, 0],
      scales: { x: { time: false, range: (_, min, max) => (figure.over_time && min !== max ? [min, max] : [low, high]) }, y },
      series: [{}, ...facet.traces.map((trace) => Draw.series(trace, figure, facet, shown(trace, hidden)))],
      cursor: { sync: { key: state.key, scales: ["x", null] }, drag,
        points: { show: false }, y: false },
      hooks: {
        draw: [(u) => Draw.over(u, figure, facet, (trace) => shown(trace, hidden), (trace, index) => ringed(state, trace, index))],
        setCursor: [(u) => tell(state, u)],
        ready: [(u) => {
          u.setScale("x", { min: low, max: high });
          u.over.addEventListener("dblclick", () => state.plots.forEach(({ plot }) => plot.setScale("x", { min: low, max: high })));
          u.over.addEventListener("click", (event) => {
            const box = u.over.getBoundingClientRect();
            const to = targetAt(state, facet, u, { left: event.clientX - box.left, top: event.clientY - box.top });
            if (to !== undefined) location.assign(to);
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

  // What every line says at the cursor: beside it, in the panel that the pointer is in.
  function tell(state, u) {
    const { figure, tip, hidden } = state;
    const mine = state.plots.find(({ plot }) => plot === u);
    // The cursors of the other panels follow; only the one under the pointer speaks.
    if (!mine || state.under !== u || u.cursor.left < 0) return;
    u.over.style.cursor = targetAt(state, mine.facet, u, u.cursor) === undefined ? "" : "pointer";
    const x = u.posToVal(u.cursor.left, "x");
    const rows = Told.at(figure, mine.facet.traces.filter((trace) => shown(trace, hidden)), x);
    tip.hidden = rows.lines.length === 0;
    if (tip.hidden) return;
    tip.replaceChildren(make("b", rows.head), ...rows.lines.map(([item, label, value]) => {
      const row = make("div", undefined, state.reached?.trace === item ? "reached" : "");
      row.append(swatch(item, figure), make("span", label), make("output", value));
      return row;
    }));
    mine.host.append(tip);
    const right = u.cursor.left > u.over.clientWidth / 2;
    const edge = u.over.offsetLeft + u.cursor.left;
    tip.style.left = right ? "" : `${edge + 14}px`;
    tip.style.right = right ? `${mine.host.clientWidth - edge + 14}px` : "";
  }

  // Keys in a panel that has the focus: left and right go along the axis, up and down from line to line, Enter to the run.
  function keys(event, state, one) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { figure } = state;
    const known = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") return void leave(state);
    if (event.key === "Enter" && state.reached) {
      const to = target(state, state.reached.trace, state.reached.index);
      if (to !== undefined) location.assign(to);
      return;
    }
    if (!known) return;
    event.preventDefault();
    event.stopPropagation();
    state.under = one.plot;
    if (curved(figure)) along(state, one, known[0] * (event.shiftKey ? 20 : 2));
    else reach(state, one, known);
  }

  // Over time and of a distribution there are no points to go to: the cursor moves by so many pixels.
  function along(state, { plot, facet }, pixels) {
    const { left } = plot.cursor;
    const width = plot.over.clientWidth;
    const next = Math.min(width - 1, Math.max(0, (left >= 0 ? left : width / 2) + pixels));
    plot.setCursor({ left: next, top: 10 });
    Ink.say(Told.aloud(state.figure, facet.traces.filter((trace) => shown(trace, state.hidden)), plot.posToVal(next, "x")));
  }

  // The next point to this side, or of the next line at the same place of the axis.
  function reach(state, { plot, facet }, [right, down]) {
    const { figure } = state;
    const points = Told.points(figure, facet.traces.filter((trace) => shown(trace, state.hidden)));
    if (!points.length) return;
    const last = points.findIndex((row) => row.some((one) => same(one, state.reached)));
    const column = last < 0 ? (right < 0 ? points.length - 1 : 0) : Math.min(points.length - 1, Math.max(0, last + right));
    const row = points[column];
    const before = last < 0 ? -1 : row.findIndex((one) => one.trace === state.reached.trace);
    const place = last < 0 ? 0 : Math.min(row.length - 1, Math.max(0, before + down));
    state.reached = row[place];
    const { trace, index } = state.reached;
    plot.setCursor({ left: plot.valToPos(trace.t[index], "x"), top: plot.valToPos(trace.v[index], "y") });
    plot.redraw(false);
    Ink.say(`${Told.place(figure, trace.t[index])}; ${Told.point(figure, state.reached)}`);
  }

  function same(one, other) {
    return one.trace === other?.trace && one.index === other?.index;
  }

  function leave(state) {
    state.reached = state.under = null;
    state.tip.hidden = true;
    for (const { plot } of state.plots) {
      plot.setCursor({ left: -10, top: -10 });
      plot.redraw(false);
    }
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
      plot.setAttribute("role", "application");
      plot.setAttribute("aria-roledescription", "plot");
      plot.setAttribute("aria-label", `${Told.spoken(state.figure, facet)} ${hint(state)}`);
      plot.tabIndex = 0;
      panel.append(plot);
      host.append(panel);
      return plot;
    });
    const height = hosts.length === 1 ? 290 : 210;
    state.figure.facets.forEach((facet, index) => {
      const { x, over_time } = state.figure;
      const table = Draw.data(state.figure, facet, over_time ? [x.low, x.high] : [0, 1]);
      const plot = new uPlot(options(state, facet, Ink.widthOf(hosts[index]), height), table, hosts[index]);
      const one = { plot, facet, host: hosts[index] };
      state.plots.push(one);
      hosts[index].addEventListener("keydown", (event) => keys(event, state, one));
      hosts[index].addEventListener("blur", () => leave(state));
    });
  }

  function hint(state) {
    if (curved(state.figure)) return "Left and right move along the axis.";
    const leads = state.linked || state.figure.facets.some((facet) => facet.traces.some((trace) => trace.links.length));
    return `Left and right move along the axis, up and down from line to line${leads ? ", Enter shows the run" : ""}.`;
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
    const state = { key: `figure-${(figures += 1)}`, figure: null, hidden: new Set(), plots: [], tip: make("div", undefined, "tip"),
      linked: element.querySelector(".facets").classList.contains("linked"), stale: false, reached: null };
    drawn.set(element, state);
    state.tip.hidden = true;
    const { header, columns } = await Series.open(element.querySelector(".figure-data").textContent);
    state.figure = Series.filled(header.figure, columns);
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
