"use strict";

// The axes of a figure: what they span, where their ticks are, how the words under them find room.
const Axes = (() => {
  const LETTER = 6.4;
  const { ink } = Ink;

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

  function plain() {
    return { stroke: ink("--ink-2"), font: `11px ${ink("--sans")}`, labelFont: `11px ${ink("--sans")}`,
      grid: { stroke: ink("--rule"), width: 1 }, ticks: { show: false } };
  }

  // Of panels over time that stand under one another: the unit stands at the times and in the heading.
  function stacked(figure, wide) {
    const common = plain();
    const said = (factor) => (_, splits) => splits.map((value) => (figure.lanes ? "" : Words.number(value * factor)));
    const list = [
      { ...common, size: 26, space: 70, values: (_, splits) => splits.map((value) => `${Words.number(value)} ${figure.x.unit}`) },
      { ...common, scale: "y", size: wide ? 52 : 40, space: 32, gap: 6, values: said(1 / figure.y.divisor) },
    ];
    if (figure.second && wide) {
      list.push({ ...common, scale: "y2", side: 1, size: 52, space: 32, gap: 6, grid: { show: false }, values: said(1 / figure.second.divisor) });
    }
    return list;
  }

  function axes(figure, facet, width) {
    const common = plain();
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
    return figure.y.log ? [0.8 * low, 1.25 * top] : [low, top + 0.06 * (top - low)];
  }

  return { both: axes, stacked, range: yRange };
})();
