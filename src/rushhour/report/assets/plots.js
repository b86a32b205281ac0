"use strict";

// Panels over time: one uPlot each, with one time axis, one cursor and one zoom for all.
const Plots = (() => {
  const { ink, dashes, joined, widthOf } = Ink;
  const COLOURS = 8;
  // Room above the highest value or limit, for the limit's label.
  const HEADROOM = 1.14;
  const NEAR = 6;
  // Places along a line that are tried for its label, from the right.
  const PLACES = 12;
  const LEAST_SPAN_S = 1e-4;
  let live = [];
  let hidden = new Set();
  // The part of the time that a person zoomed to; it stays when something is drawn again.
  let span = null;
  let drawing = false;

  // `place` is a curve's position among those of its own run, where curves of two runs are in one panel.
  function colour(curve, position) {
    if (curve.flow !== null) return ink(`--c${(curve.look ?? curve.flow) % COLOURS}`);
    return curve.label === "total" ? ink("--ink-2") : ink(`--q${(curve.place ?? position) % 4}`);
  }

  function dash(curve, position) {
    if (curve.faint) return [1, 3];
    return dashes(curve.flow === null ? curve.place ?? position : curve.look ?? curve.flow);
  }

  function drawn(curve, position, panel) {
    const stroke = colour(curve, position);
    const series = { label: curve.label, stroke, width: curve.faint ? 1.2 : 1.6, dash: dash(curve, position),
      show: !hidden.has(curve.flow), points: { show: false } };
    // A run to compare with: broad and pale, under the lines of the one that is looked at.
    // What was dotted there stays dotted: a broad total would be one flow more.
    if (curve.ghost) Object.assign(series, curve.faint ? { width: 1.6, alpha: 0.55 } : { width: 5, alpha: 0.32, dash: [] });
    return Object.assign(series, panel.marks ? { paths: () => null } : joined(curve.shape, stroke));
  }

  function largest(panel) {
    let most = 0;
    for (const curve of panel.curves) for (const value of curve.v) if (value > most) most = value;
    return most;
  }

  // The top of the value axis: all samples, and the limits unless they would flatten them.
  function top(panel) {
    return reaching(panel, largest(panel));
  }

  function reaching(panel, most) {
    const limits = panel.limits.map((limit) => limit.value).filter((value) => value <= 4 * most || most === 0);
    return (Math.max(most, ...limits) || 1) * HEADROOM;
  }

  function axes(panel, ceiling, wide) {
    const [divisor, name] = Words.scale(ceiling / HEADROOM, panel.unit);
    const common = { stroke: ink("--ink-2"), font: `11px ${ink("--sans")}`, labelFont: `11px ${ink("--sans")}`,
      grid: { stroke: ink("--rule"), width: 1 }, ticks: { show: false } };
    const list = [
      { ...common, size: 26, space: 70, values: (_, splits) => splits.map((value) => `${Words.number(value)} s`) },
      { ...common, scale: "y", size: wide ? 52 : 40, space: 32, gap: 6, show: true,
        values: (_, splits) => splits.map((value) => panel.marks ? "" : Words.number(value / divisor)) },
    ];
    panel.shown = name;
    if (panel.second && wide) {
      const [unit, factor] = panel.second;
      const [part, second] = Words.scale((ceiling / HEADROOM) * factor, unit);
      list.push({ ...common, scale: "y2", side: 1, size: 52, space: 32, gap: 6, grid: { show: false },
        values: (_, splits) => splits.map((value) => Words.number(value / part)) });
      panel.shown = `${name} (left), ${second} at the rate of the link (right)`;
    }
    return list;
  }

  function drawLimits(u, panel) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    const taken = [];
    ctx.save();
    ctx.font = `${11 * ratio}px ${ink("--sans")}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    for (const limit of panel.limits) {
      const y = Math.round(u.valToPos(limit.value, "y", true));
      if (y < bbox.top || y > bbox.top + bbox.height) continue;
      ctx.strokeStyle = ink("--limit");
      ctx.lineWidth = ratio;
      ctx.setLineDash([6 * ratio, 4 * ratio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      const words = `${limit.label} ${Words.quantity(limit.value, panel.unit)}`;
      const box = room(u, panel, y, ctx.measureText(words).width + 6 * ratio, taken);
      // Where there is no room the legend says it.
      if (!box) continue;
      taken.push(box);
      ctx.fillStyle = ink("--ink-2");
      ctx.fillText(words, box.left + 3 * ratio, box.top + 14 * ratio);
    }
    ctx.restore();
    panel.labels = taken;
  }

  // Where along a horizontal line a label of this width covers no curve, no other line and no other label; null if
  // nowhere. All in pixels of the canvas.
  function room(u, panel, y, width, taken) {
    const { bbox } = u;
    const ratio = devicePixelRatio;
    const [height, edge] = [15 * ratio, 4 * ratio];
    const free = bbox.width - width - 2 * edge;
    if (free < 0) return null;
    const levels = panel.limits.map((limit) => u.valToPos(limit.value, "y", true));
    for (const top of [y - height - ratio, y + 2 * ratio]) {
      if (top < 0 || top + height > bbox.top + bbox.height) continue;
      if (levels.some((level) => level > top && level < top + height)) continue;
      for (let step = PLACES; step >= 0; step -= 1) {
        const left = bbox.left + edge + (free * step) / PLACES;
        const box = { left, top, right: left + width, bottom: top + height };
        const meets = (other) => other.left < box.right && box.left < other.right && other.top < box.bottom && box.top < other.bottom;
        if (!taken.some(meets) && !panel.curves.some((curve) => !hidden.has(curve.flow) && crosses(u, curve, box))) return box;
      }
    }
    return null;
  }

  // Whether a curve as it is drawn comes into a box.
  function crosses(u, curve, box) {
    const at = (pixel) => u.posToVal((pixel - u.bbox.left) / devicePixelRatio, "x");
    const [from, to] = [Series.before(curve.t, at(box.left - 3)), Series.before(curve.t, at(box.right + 3)) + 1];
    let [low, high] = [Infinity, -Infinity];
    for (let index = Math.max(0, from); index <= Math.min(to, curve.t.length - 1); index += 1) {
      const value = curve.v[index];
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low > high) return false;
    const [top, bottom] = [u.valToPos(high, "y", true), u.valToPos(low, "y", true)];
    return top < box.bottom + 2 && bottom > box.top - 2;
  }

  function drawMarks(u, panel) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    const lane = bbox.height / panel.curves.length;
    ctx.save();
    ctx.font = `${11 * ratio}px ${ink("--sans")}`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    panel.curves.forEach((curve, position) => {
      const floor = bbox.top + lane * (position + 1) - 3 * ratio;
      const most = Math.max(...curve.v);
      ctx.fillStyle = colour(curve, position);
      ctx.globalAlpha = hidden.has(curve.flow) ? 0.15 : 1;
      curve.t.forEach((t, index) => {
        const x = u.valToPos(t, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) return;
        const height = (0.25 + (0.75 * curve.v[index]) / most) * (lane - 18 * ratio);
        ctx.fillRect(Math.round(x) - ratio / 2, floor - height, 1.5 * ratio, height);
      });
      ctx.fillStyle = ink("--ink-2");
      const total = curve.v.reduce((sum, value) => sum + value, 0);
      ctx.fillText(`${curve.label}: ${Words.number(total)}`, bbox.left + 4 * ratio, bbox.top + lane * position + ratio);
    });
    ctx.restore();
  }

  // The instant that a run is about, across all its panels.
  function drawInstant(u, run) {
    if (run.mark_s === undefined || run.mark_s === null) return;
    const { ctx, bbox } = u;
    const x = Math.round(u.valToPos(run.mark_s, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.save();
    ctx.setLineDash([]);
    ctx.strokeStyle = ink("--accent");
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  function options(panel, run, width, onCursor) {
    const wide = width >= 560;
    const ceiling = panel.marks ? 1 : top(panel);
    // The values that are in sight decide about the height, and no others.
    const seen = (_, __, most) => [0, panel.marks || !(most > 0) ? ceiling : reaching(panel, most)];
    const scales = { x: { time: false, range: (_, min, max) => [min, max] }, y: { range: seen } };
    if (panel.second) scales.y2 = { from: "y", range: (_, min, max) => [min * panel.second[1], max * panel.second[1]] };
    const height = panel.marks ? 40 + 34 * panel.curves.length : wide ? 200 : 168;
    return {
      width, height, scales, legend: { show: false }, axes: axes(panel, ceiling, wide),
      padding: [8, wide ? (panel.second ? 0 : 52) : 14, 0, 0],
      series: [{}, ...panel.curves.map((curve, position) => drawn(curve, position, panel))],
      cursor: { sync: { key: run.key || "run", scales: ["x", null] }, drag: { x: true, y: false }, points: { show: false }, y: false },
      hooks: {
        draw: [(u) => (panel.marks ? drawMarks(u, panel) : drawLimits(u, panel)), (u) => drawInstant(u, run)],
        setCursor: [(u) => {
          const at = (left) => u.posToVal(left, "x");
          // What a person takes for "here": a few pixels.
          panel.reach = at(NEAR) - at(0);
          onCursor(panel, u.cursor.left >= 0 ? at(u.cursor.left) : null);
        }],
        setScale: [(u, key) => { if (key === "x" && !drawing) keep(u.scales.x, run); }],
        init: [(u) => {
          u.over.addEventListener("dblclick", () => reset(run));
          gestures(u, run);
        }],
      },
    };
  }

  function data(panel, run) {
    const tables = panel.curves.map((curve) => [curve.t, curve.v]);
    const edges = [[0, run.duration_s], [null, null]];
    const joined = uPlot.join([edges, ...tables]);
    joined.splice(1, 1);
    return joined;
  }

  function draw(panel, run, host, onCursor) {
    drawing = true;
    const plot = new uPlot(options(panel, run, widthOf(host), onCursor), data(panel, run), host);
    const kept = span && span.duration_s === run.duration_s && span.key === run.key ? span : { min: 0, max: run.duration_s };
    plot.setScale("x", { min: kept.min, max: kept.max });
    // uPlot tells of scales when the script that set them is done.
    queueMicrotask(() => { drawing = false; });
    live.push({ plot, host, panel, run });
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
  function zoomBy(factor, run) {
    if (!live.length) return;
    const { plot } = live[0];
    const { min, max } = plot.scales.x;
    const centre = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : (min + max) / 2;
    const low = Math.max(0, centre - (centre - min) * factor);
    zoom(low, Math.min(run.duration_s, centre + (max - centre) * factor), run);
  }

  function step(pixels) {
    if (!live.length) return;
    const { plot } = live[0];
    const left = plot.cursor.left >= 0 ? plot.cursor.left : plot.over.clientWidth / 2;
    const next = Math.min(plot.over.clientWidth - 1, Math.max(0, left + pixels));
    plot.setCursor({ left: next, top: 10 });
  }

  function toggle(flow) {
    if (!hidden.delete(flow)) hidden.add(flow);
    for (const { plot, panel } of live) {
      panel.curves.forEach((curve, position) => {
        if (curve.flow === flow) plot.setSeries(position + 1, { show: !hidden.has(flow) });
      });
      plot.redraw();
    }
    return !hidden.has(flow);
  }

  function forget() {
    hidden = new Set();
    span = null;
  }

  function hides(flow) {
    return hidden.has(flow);
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

  // The labels of limits as they lie in each plot, and whether a curve goes through one, for tests.
  function labels() {
    return live.map(({ plot, panel }) => ({ id: panel.id, limits: panel.limits.length, boxes: (panel.labels ?? []).length,
      covered: (panel.labels ?? []).filter((box) => panel.curves.some((curve) => crosses(plot, curve, box))).length }));
  }

  // The top of the value axis of each panel, for tests.
  function heights() {
    return Object.fromEntries(live.map(({ plot, panel }) => [panel.id, plot.scales.y.max]));
  }

  return { heights, hides, labels, ranges, draw, clear, zoom, reset, zoomBy, step, toggle, forget, colour, dash, inked };
})();
