"use strict";

// Curves as they travel in the page: rushhour-series/1, described and written by report/embed.py.
const Series = (() => {
  const MISSING = -2147483648;

  async function inflate(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  function column(bytes, offset, size, scale) {
    const values = new Array(size);
    let whole = 0;
    for (let i = 0; i < size; i++) {
      const zigzag = bytes[offset + i] | (bytes[offset + size + i] << 8)
        | (bytes[offset + 2 * size + i] << 16) | (bytes[offset + 3 * size + i] << 24);
      whole = (whole + ((zigzag >>> 1) ^ -(zigzag & 1))) | 0;
      values[i] = whole === MISSING ? null : whole * scale;
    }
    return values;
  }

  // The header and the columns of a packed text.
  async function open(text) {
    const bytes = await inflate(text);
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    let offset = 4 + length;
    const columns = header.columns.map(([size, scale]) => {
      const values = column(bytes, offset, size, scale);
      offset += 4 * size;
      return values;
    });
    return { header, columns };
  }

  // A figure, each of its traces with arrays `t` and `v` (null where there is none), and `low` and `high` where they vary.
  function filled(figure, columns) {
    for (const trace of figure.facets.flatMap((facet) => facet.traces)) {
      for (const [name, place] of Object.entries(trace.columns)) trace[name] = columns[place];
    }
    return figure;
  }

  // A run with its panels, which are figures.
  async function unpack(text) {
    const { header: run, columns } = await open(text);
    for (const panel of run.panels) filled(panel, columns);
    return run;
  }

  // Position of the last entry of ascending `list` that is not after `x`; -1 if there is none.
  function before(list, x) {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // What a curve says at instant `x`: held, valid for the interval before, or the nearest sample. Where nothing is
  // drawn there is nothing to say: before the first sample, after the last, and beside points further than `reach`.
  function at(curve, x, reach = Infinity) {
    let index = before(curve.t, x);
    const last = curve.t.length - 1;
    const slack = curve.shape === "points" && Number.isFinite(reach) ? reach : 0;
    if (last < 0 || x < curve.t[0] - slack || x > curve.t[last] + slack) return null;
    if (curve.shape === "interval") {
      if (curve.t[index] < x) index += 1;
    } else if (curve.shape !== "hold" && index < last) {
      if (index < 0 || curve.t[index + 1] - x < x - curve.t[index]) index += 1;
    }
    if (curve.shape === "points" && Math.abs(curve.t[index] - x) > reach) return null;
    return curve.v[index];
  }

  // The share of a distribution up to place `x`: none of it lies below its first step, all of it below its last.
  function share(curve, x) {
    const index = before(curve.t, x);
    return index < 0 ? 0 : curve.v[index];
  }

  return { inflate, open, filled, unpack, before, at, share };
})();

// Numbers as they are written.
const Words = (() => {
  function number(value) {
    return String(Number(value.toPrecision(4)));
  }

  return { number };
})();
