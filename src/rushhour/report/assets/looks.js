"use strict";

// How the lines of a figure look: colour, dash and mark of each, the same in plots and in legends.
const Looks = (() => {
  const THEORY = [[6, 4], [8, 3, 2, 3], [3, 3], [10, 3, 2, 3, 2, 3]];
  // Outside its range a theory is dotted; each in its own way.
  const DOUBT = [[1.5, 3.5], [1.5, 3.5, 5, 3.5], [1.5, 7], [1.5, 2, 1.5, 7]];
  const STOPS = 6;
  const { ink, make } = Ink;

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
    if (style.family === "total") return ink("--ink-2");
    if (style.family === "queue") return ink(`--q${style.colour % 4}`);
    return style.place === null ? ink(`--c${style.colour % 8}`) : along(style.place);
  }

  function dash(item, figure) {
    if (item.role === "doubtful") return DOUBT[number(item, figure) % DOUBT.length];
    if (item.role === "model") return THEORY[number(item, figure) % THEORY.length];
    if (item.look === null) return [];
    const style = figure.styles[item.look];
    // What is broad and pale would be dots if it were dashed.
    return style.faint ? [1, 3] : style.pale ? [] : Ink.dashes(style.dash);
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

  // Marks: filled for what was measured, hollow for what was published; shapes by line.
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

  function line(ctx, x0, y0, x1, y1, dashes, ratio) {
    ctx.setLineDash(dashes.map((part) => part * ratio));
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  function swatch(item, figure) {
    const canvas = make("canvas", undefined, "swatch");
    const ratio = devicePixelRatio;
    canvas.width = 28 * ratio;
    canvas.height = 12 * ratio;
    const ctx = canvas.getContext("2d");
    ctx.strokeStyle = ctx.fillStyle = colour(item, figure);
    const { faint = false, pale = false } = item.look === null ? {} : figure.styles[item.look];
    ctx.lineWidth = (theory(item) || faint ? 1.4 : pale ? 6 : 2) * ratio;
    if (pale) ctx.globalAlpha = faint ? 0.55 : 0.4;
    const mine = figure.facets.flatMap((facet) => facet.traces.filter((trace) => trace.look === item.look && trace.role === item.role));
    const dots = figure.over_time && !figure.lanes && item.role === "measured" && mine.length > 0
      && mine.every((trace) => trace.shape === "points");
    if (dots) {
      for (const x of [5, 14, 23]) mark(ctx, 0, x * ratio, 6 * ratio, 1.8 * ratio, false);
      return canvas;
    }
    const joined = (item.role !== "published" || figure.over_time) && (curved(figure) || figure.x.numeric || theory(item));
    if (joined) line(ctx, 0, 6 * ratio, 28 * ratio, 6 * ratio, dash(item, figure), ratio);
    if (!theory(item) && !pale && (!curved(figure) || item.role === "published")) {
      ctx.lineWidth = 1.4 * ratio;
      mark(ctx, marked(item, figure), 14 * ratio, 6 * ratio, (item.role === "published" ? 4.2 : 3.6) * ratio, item.role === "published");
    }
    return canvas;
  }

  // The sample of a flow of this look, where no panel is beside it.
  function flow(look, pale = false) {
    const style = { colour: look, place: null, dash: look, mark: look, family: "line", faint: false, pale };
    return swatch({ look: 0, role: "measured", group: "" }, { styles: [style], entries: [], facets: [], over_time: true });
  }

  return { colour, dash, marked, theory, curved, mark, line, swatch, flow };
})();
