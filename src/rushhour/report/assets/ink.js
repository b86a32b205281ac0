"use strict";

// What all drawing begins with: elements, colours of the page's style, dashes, how samples are joined, paper.
const Ink = (() => {
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2, 1, 2]];
  const COLOURS = 8;
  // Width of a page of A4 or letter within its margins.
  const PAPER = 680;

  // Paper is light, whatever the screen is: this comes before everybody's drawing again.
  for (const [event, on] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => document.documentElement.classList.toggle("paper", on));
  }

  // What is drawn must be drawn again for paper, and after it for the screen.
  function onPaper(again) {
    for (const event of ["beforeprint", "afterprint"]) addEventListener(event, again);
  }

  // The printer has not laid out its page yet when plots are drawn for it.
  function widthOf(host) {
    return document.documentElement.classList.contains("paper") ? Math.min(host.clientWidth, PAPER) : host.clientWidth;
  }

  function make(tag, text, name) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  }

  function ink(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // The dashes of the look of this number; those of one colour differ.
  function dashes(look) {
    return DASHES[(look + Math.floor(look / COLOURS)) % DASHES.length];
  }

  // What of a series of uPlot says how its samples are joined.
  function joined(shape, stroke) {
    if (shape === "points") return { paths: () => null, points: { show: true, size: 3, fill: stroke, width: 0 } };
    const way = { hold: 1, interval: -1 }[shape];
    return way ? { paths: uPlot.paths.stepped({ align: way }) } : {};
  }

  // Said to who cannot see where the cursor is.
  function say(text) {
    let line = document.querySelector(".said-aloud");
    if (!line) {
      line = make("div", undefined, "said-aloud");
      line.setAttribute("aria-live", "polite");
      document.body.append(line);
    }
    line.textContent = text;
  }

  return { onPaper, say, widthOf, make, ink, dashes, joined };
})();
