"use strict";

// The panels of a run (report/figure/over_run.py): one uPlot each, with one time axis, one cursor and one zoom for all.
const Plots = (() => {
  const { widthOf } = Ink;
  // Room above the highest value or level, for the level's words.
  const HEADROOM = 1.14;
  // A level so many times above all samples would flatten them; it is out of sight.
  const FLATTENS = 4;
  const NEAR = 6;
  const LEAST_SPAN_S = 1e-4;
  let live = [];
  // Groups of traces, by flow, that are not shown.
  let hidden = new Set();
  // The part of the time that a person zoomed to; it stays when something is drawn again.
  let span = null;
  let drawing = false;

  const shown = (trace) => !hidden.has(trace.group);

  function reaching(facet, most) {
    const levels = facet.references.map((one) => one.value).filter((value) => value <= FLATTENS * most || most === 0);
    return (Math.max(most, ...levels) || 1) * HEADROOM;
  }

  function options(figure, run, width, onCursor) {
    const wide = width >= 560;
    const [facet] = figure.facets;
    const second = wide ? figure.second : null;
    const ceiling = figure.lanes ? 1 : facet.top * HEADROOM;
    // The values that are in sight decide about the height, and no others.
    const seen = (_, __, most) => [0, figure.lanes || !(most > 0) ? ceiling : reaching(facet, most)];
    const scales = { x: { time: false, range: (_, min, max) => [min, max] }, y: { range: seen } };
    if (second) scales.y2 = { from: "y", range: (_, min, max) => [min * second.factor, max * second.factor] };
    const height = figure.lanes ? 40 + 34 * facet.traces.length : wide ? 200 : 168;
    return {
      width, height, scales, legend: { show: false }, axes: Axes.stacked(figure, wide),
      padding: [8, wide ? (second ? 0 : 52) : 14, 0, 0],
      series: [{}, ...facet.traces.map((trace) => Draw.series(trace, figure, facet, shown(trace)))],
      cursor: { sync: { key: run.key || "run", scales: ["x", null] }, drag: { x: true, y: false }, points: { show: false }, y: false },
      hooks: {
        draw: [(u) => { figure.labels = Draw.over(u, figure, facet, shown); }],
        setCursor: [(u) => {
          const at = (left) => u.posToVal(left, "x");
          // What a person takes for "here": a few pixels.
          figure.reach = at(NEAR) - at(0);
          onCursor(figure, u.cursor.left >= 0 ? at(u.cursor.left) : null);
        }],
        setScale: [(u, key) => { if (key === "x" && !drawing) keep(u.scales.x, run); }],
        init: [(u) => {
          u.over.addEventListener("dblclick", () => reset(run));
          gestures(u, run);
        }],
      },
    };
  }

  function draw(figure, run, host, onCursor) {
    drawing = true;
    const table = Draw.data(figure, figure.facets[0], [0, run.duration_s]);
    const plot = new uPlot(options(figure, run, widthOf(host), onCursor), table, host);
    const kept = span && span.duration_s === run.duration_s && span.key === run.key ? span : { min: 0, max: run.duration_s };
    plot.setScale("x", { min: kept.min, max: kept.max });
    // uPlot tells of scales when the script that set them is done.
    queueMicrotask(() => { drawing = false; });
    live.push({ plot, host, figure, run });
    host.tabIndex = 0;
    host.addEventListener("keydown", (event) => keys(event, plot, figure, run));
    return plot;
  }

  function clear() {
    for (const { plot } of live) plot.destroy();
    live = [];
  }

  function keep({ min, max }, run) {
    const whole = min <= 0 && max >= run.duration_s;
    span = whole ? null : { min, max, duration_s: run.duration_s, key: run.key };
  }

  function zoom(min, max, run) {
    const width = Math.min(run.duration_s, Math.max(LEAST_SPAN_S, max - min));
    const low = Math.min(Math.max(0, min), run.duration_s - width);
    keep({ min: low, max: low + width }, run);
    for (const one of live) if (one.run === run) one.plot.setScale("x", { min: low, max: low + width });
  }

  // Fingers: one moves the cursor, two zoom. The wheel zooms with Control, or in a plot that was clicked, and moves
  // sideways; without either it scrolls the page.
  function gestures(u, run) {
    const { over } = u;
    const fingers = new Map();
    let held = null;
    let awake = false;
    const at = (event) => event.clientX - over.getBoundingClientRect().left;
    over.style.touchAction = "pan-y";
    over.addEventListener("pointerdown", (event) => {
      awake = true;
      if (event.pointerType !== "touch") return;
      fingers.set(event.pointerId, at(event));
      held = [...fingers.values()].map((x) => u.posToVal(x, "x"));
    });
    over.addEventListener("pointermove", (event) => {
      if (!fingers.has(event.pointerId)) return;
      fingers.set(event.pointerId, at(event));
      const places = [...fingers.values()];
      if (places.length === 1) return void u.setCursor({ left: places[0], top: 10 });
      if (places.length > 2 || Math.abs(places[1] - places[0]) < 8) return;
      // What lay under the fingers stays under them.
      const each = (held[1] - held[0]) / (places[1] - places[0]);
      if (each > 0) zoom(held[0] - places[0] * each, held[0] + (over.clientWidth - places[0]) * each, run);
    });
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
      over.addEventListener(name, (event) => {
        if (name === "pointerleave") awake = false;
        fingers.delete(event.pointerId);
        held = [...fingers.values()].map((x) => u.posToVal(x, "x"));
      });
    }
    over.addEventListener("wheel", (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!(event.ctrlKey || event.metaKey || awake) || (sideways && !span)) return;
      event.preventDefault();
      const { min, max } = u.scales.x;
      if (sideways) {
        const by = ((event.deltaX || event.deltaY) / over.clientWidth) * (max - min);
        return void zoom(min + by, max + by, run);
      }
      const centre = u.posToVal(at(event), "x");
      const factor = 1.2 ** (Math.max(-300, Math.min(300, event.deltaY)) / 100);
      zoom(centre - (centre - min) * factor, centre + (max - centre) * factor, run);
    }, { passive: false });
  }

  function reset(run) {
    zoom(0, run.duration_s, run);
  }

  // Zoom by a factor around the cursor, or around the middle where there is none.
  function zoomBy(factor, run, plot = live[0]?.plot) {
    if (!plot) return;
    const { min, max } = plot.scales.x;
    const centre = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : (min + max) / 2;
    const low = Math.max(0, centre - (centre - min) * factor);
    zoom(low, Math.min(run.duration_s, centre + (max - centre) * factor), run);
  }

  function step(pixels, plot = live[0]?.plot) {
    if (!plot) return;
    const left = plot.cursor.left >= 0 ? plot.cursor.left : plot.over.clientWidth / 2;
    const next = Math.min(plot.over.clientWidth - 1, Math.max(0, left + pixels));
    plot.setCursor({ left: next, top: 10 });
  }

  // A plot that has the focus: arrows move the cursor, and what its traces are there is said aloud.
  function keys(event, plot, figure, run) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = event.shiftKey ? 20 : 2;
    const actions = {
      ArrowLeft: () => step(-by, plot), ArrowRight: () => step(by, plot),
      "+": () => zoomBy(0.5, run, plot), "-": () => zoomBy(2, run, plot), 0: () => reset(run),
    };
    if (!actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
    event.stopPropagation();
    if (event.key.startsWith("Arrow")) Ink.say(Told.aloud(figure, figure.facets[0].traces.filter(shown), plot.posToVal(plot.cursor.left, "x")));
  }

  // Hide or show a group of traces in all panels.
  function toggle(group) {
    if (!hidden.delete(group)) hidden.add(group);
    for (const { plot, figure } of live) {
      figure.facets[0].traces.forEach((trace, position) => {
        if (trace.group === group) plot.setSeries(position + 1, { show: shown(trace) });
      });
      plot.redraw();
    }
    return !hidden.has(group);
  }

  function forget() {
    hidden = new Set();
    span = null;
  }

  function hides(group) {
    return hidden.has(group);
  }

  // How many canvases have something on them: for the test that a browser draws.
  function inked() {
    return live.filter(({ plot }) => {
      const { width, height } = plot.ctx.canvas;
      return plot.ctx.getImageData(0, 0, width, height).data.some((byte) => byte > 0);
    }).length;
  }

  // The span of time that each panel shows, for tests.
  function ranges() {
    return live.map(({ plot }) => [plot.scales.x.min, plot.scales.x.max]);
  }

  // The words of levels as they lie in each plot, and whether a trace goes through some, for tests.
  function labels() {
    return live.map(({ plot, figure: { id, labels: boxes = [], facets: [facet] } }) => ({
      id, limits: facet.references.length, boxes: boxes.length,
      covered: boxes.filter((box) => facet.traces.some((trace) => Draw.crosses(plot, trace, box))).length,
    }));
  }

  // The top of the value axis of each panel, for tests.
  function heights() {
    return Object.fromEntries(live.map(({ plot, figure }) => [figure.id, plot.scales.y.max]));
  }

  return { heights, hides, labels, ranges, draw, clear, zoom, reset, zoomBy, step, toggle, forget, inked };
})();
