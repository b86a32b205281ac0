"use strict";

// The curves of a run, drawn when its packed series has come.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const host = $("#run");
  if (!host) return;
  let run = null;

  function draw() {
    Plots.clear();
    $("#panels").replaceChildren();
    for (const panel of run.panels) Parts.panel(panel, run, $("#panels"), Parts.read);
    $("#why").replaceChildren();
    Parts.why(run.why, $("#why"));
    $("#why-part").hidden = run.why.length === 0;
    if (!run.panels.length) $("#panels").append(Parts.make("p", "This run has no curves.", "aside"));
    document.documentElement.dataset.drawn = String(run.panels.length);
  }

  async function load() {
    const answer = await fetch(host.dataset.series);
    if (!answer.ok) throw new Error((await answer.json()).error);
    run = await Series.unpack(await answer.text());
    draw();
  }

  load().catch((fault) => { $("#panels").replaceChildren(Parts.make("p", `The curves could not be drawn: ${fault.message}`, "aside")); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => run && draw());
  Ink.onPaper(() => run && draw());
  let width = innerWidth;
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (run && innerWidth !== width) draw();
      width = innerWidth;
    }, 150);
  });
})();
