"use strict";

// How a panel of a figure (report/figure/description.py) is drawn with uPlot, wherever it stands: its series, marks with
// their ranges, levels that the traces are held against, rows of events, instants.
const Draw = (() => {
  const { colour, dash, marked, theory, curved, mark, line } = Looks;
  const { ink } = Ink;
  // Of a panel with more lines than this they are thinner.
  const MANY = 8;
  // Places along a level that are tried for its words, from the right.
  const PLACES = 12;

  function width(trace, figure, facet) {
    if (theory(trace)) return 1.2;
    const style = trace.look === null ? {} : figure.styles[trace.look];
    if (style.faint) return style.pale ? 1.6 : 1.2;
    if (style.pale) return 5;
    return curved(figure) ? (facet.traces.length > MANY ? 1.3 : 1.6) : 1.8;
  }

  function series(trace, figure, facet, shown) {
    const stroke = colour(trace, figure);
    const style = trace.look === null ? {} : figure.styles[trace.look];
    const one = { label: trace.label, stroke, width: width(trace, figure, facet), dash: dash(trace, figure), show: shown,
      points: { show: false } };
    if (style.pale) one.alpha = style.faint ? 0.55 : 0.32;
    // Events are ticks and points over a factor are marks, which `over` draws.
    const own = figure.lanes || (trace.shape === "points" && !figure.over_time);
    return Object.assign(one, own ? { paths: () => null } : Ink.joined(trace.shape, stroke));
  }

  // The table that uPlot draws, over an axis with these ends.
  function data(figure, facet, ends) {
    const positive = (values) => (figure.y.log ? values.map((value) => (value > 0 ? value : null)) : values);
    const joined = uPlot.join([[ends, [null, null]], ...facet.traces.map((trace) => [trace.t, positive(trace.v)])]);
    joined.splice(1, 1);
    return joined;
  }

  // What uPlot does not draw itself; `shown(trace)` says what is to be seen, `ringed(trace, index)` which point is marked.
  // Returns the boxes of the words at levels.
  function over(u, figure, facet, shown, ringed = () => false) {
    if (figure.lanes) lanes(u, figure, facet, shown);
    else {
      const ratio = devicePixelRatio;
      u.ctx.save();
      u.ctx.setLineDash([]);
      u.ctx.beginPath();
      u.ctx.rect(u.bbox.left - 6 * ratio, u.bbox.top - 6 * ratio, u.bbox.width + 12 * ratio, u.bbox.height + 12 * ratio);
      u.ctx.clip();
      for (const trace of facet.traces) if (shown(trace)) points(u, figure, trace, ratio, ringed);
      u.ctx.restore();
    }
    const boxes = figure.lanes ? [] : levels(u, facet, shown);
    instants(u, facet);
    return boxes;
  }

  function points(u, figure, trace, ratio, ringed) {
    if (curved(figure) && trace.role !== "published") return;
    const flat = theory(trace) && trace.shape === "points";
    if ((theory(trace) && !flat) || figure.styles[trace.look]?.pale) return;
    const { ctx } = u;
    ctx.strokeStyle = ctx.fillStyle = colour(trace, figure);
    const half = (0.3 / Math.max(1, figure.x.levels.length || figure.x.ticks.length)) * u.bbox.width;
    trace.t.forEach((t, index) => {
      if (trace.v[index] === null || (figure.y.log && trace.v[index] <= 0)) return;
      const x = u.valToPos(t, "x", true);
      const y = u.valToPos(trace.v[index], "y", true);
      ctx.lineWidth = 1.4 * ratio;
      if (flat) return line(ctx, x - half, y, x + half, y, dash(trace, figure), ratio);
      if (trace.low) bar(u, ctx, x, trace.low[index], trace.high[index], ratio, figure.y.log);
      mark(ctx, marked(trace, figure), x, y, (trace.role === "published" ? 4.6 : 3.4) * ratio, trace.role === "published");
      if (ringed(trace, index)) ring(ctx, x, y, ratio);
    });
  }

  function ring(ctx, x, y, ratio) {
    ctx.save();
    ctx.strokeStyle = ink("--ink");
    mark(ctx, 0, x, y, 6 * ratio, true);
    ctx.restore();
  }

  function bar(u, ctx, x, low, high, ratio, log) {
    if (low === null || high === null || low === high || (log && low <= 0)) return;
    const [from, to] = [low, high].map((value) => u.valToPos(value, "y", true));
    line(ctx, x, from, x, to, [], ratio);
    for (const y of [from, to]) line(ctx, x - 3 * ratio, y, x + 3 * ratio, y, [], ratio);
  }

  function levels(u, facet, shown) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    const taken = [];
    ctx.save();
    ctx.font = `${11 * ratio}px ${ink("--sans")}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    for (const one of facet.references) {
      const y = Math.round(u.valToPos(one.value, "y", true));
      if (y < bbox.top || y > bbox.top + bbox.height) continue;
      ctx.strokeStyle = ink("--limit");
      ctx.lineWidth = ratio;
      line(ctx, bbox.left, y, bbox.left + bbox.width, y, [6, 4], ratio);
      const words = `${one.label} ${one.quantity}`;
      const box = room(u, facet, y, ctx.measureText(words).width + 6 * ratio, taken, shown);
      // Where there is no room the legend says it.
      if (!box) continue;
      taken.push(box);
      ctx.fillStyle = ink("--ink-2");
      ctx.fillText(words, box.left + 3 * ratio, box.top + 14 * ratio);
    }
    ctx.restore();
    return taken;
  }

  // Where along a level words of this width cover no trace, no other level and no other words; null if nowhere. All in
  // pixels of the canvas.
  function room(u, facet, y, wide, taken, shown) {
    const { bbox } = u;
    const ratio = devicePixelRatio;
    const [height, edge] = [15 * ratio, 4 * ratio];
    const free = bbox.width - wide - 2 * edge;
    if (free < 0) return null;
    const others = facet.references.map((one) => u.valToPos(one.value, "y", true));
    for (const top of [y - height - ratio, y + 2 * ratio]) {
      if (top < 0 || top + height > bbox.top + bbox.height) continue;
      if (others.some((level) => level > top && level < top + height)) continue;
      for (let step = PLACES; step >= 0; step -= 1) {
        const left = bbox.left + edge + (free * step) / PLACES;
        const box = { left, top, right: left + wide, bottom: top + height };
        const meets = (other) => other.left < box.right && box.left < other.right && other.top < box.bottom && box.top < other.bottom;
        if (!taken.some(meets) && !facet.traces.some((trace) => shown(trace) && crosses(u, trace, box))) return box;
      }
    }
    return null;
  }

  // Whether a trace as it is drawn comes into a box.
  function crosses(u, trace, box) {
    const at = (pixel) => u.posToVal((pixel - u.bbox.left) / devicePixelRatio, "x");
    const [from, to] = [Series.before(trace.t, at(box.left - 3)), Series.before(trace.t, at(box.right + 3)) + 1];
    let [low, high] = [Infinity, -Infinity];
    for (let index = Math.max(0, from); index <= Math.min(to, trace.t.length - 1); index += 1) {
      const value = trace.v[index];
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low > high) return false;
    const [top, bottom] = [u.valToPos(high, "y", true), u.valToPos(low, "y", true)];
    return top < box.bottom + 2 && bottom > box.top - 2;
  }

  // A row for each trace: a tick at each instant with events, as high as they are many.
  function lanes(u, figure, facet, shown) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    const lane = bbox.height / facet.traces.length;
    ctx.save();
    ctx.font = `${11 * ratio}px ${ink("--sans")}`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    facet.traces.forEach((trace, position) => {
      const floor = bbox.top + lane * (position + 1) - 3 * ratio;
      const most = trace.v.reduce((a, b) => Math.max(a, b), 0);
      ctx.fillStyle = colour(trace, figure);
      ctx.globalAlpha = shown(trace) ? 1 : 0.15;
      trace.t.forEach((t, index) => {
        const x = u.valToPos(t, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) return;
        const height = (0.25 + (0.75 * trace.v[index]) / most) * (lane - 18 * ratio);
        ctx.fillRect(Math.round(x) - ratio / 2, floor - height, 1.5 * ratio, height);
      });
      ctx.fillStyle = ink("--ink-2");
      ctx.fillText(`${trace.label}: ${Told.total(trace)}`, bbox.left + 4 * ratio, bbox.top + lane * position + ratio);
    });
    ctx.restore();
  }

  // Vertical lines where something happened; words above those that have some and room.
  function instants(u, facet) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    let free = 0;
    ctx.save();
    ctx.font = `600 ${11 * ratio}px ${ink("--sans")}`;
    ctx.textBaseline = "bottom";
    ctx.textAlign = "center";
    ctx.lineWidth = 1.5 * ratio;
    for (const one of facet.instants) {
      const x = Math.round(u.valToPos(one.x, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = ink({ good: "--good", bad: "--bad", plain: "--accent" }[one.tone]);
      if (one.small) {
        ctx.fillRect(x - 1.5 * ratio, bbox.top + bbox.height - 6 * ratio, 3 * ratio, 6 * ratio);
        continue;
      }
      line(ctx, x, bbox.top, x, bbox.top + bbox.height, one.label ? [5, 3] : [], ratio);
      const half = ctx.measureText(one.label).width / 2;
      if (!one.label || x - half < free) continue;
      ctx.fillText(one.label, x, bbox.top - 2 * ratio);
      free = x + half + 6 * ratio;
    }
    ctx.restore();
  }

  return { series, data, over, crosses };
})();
