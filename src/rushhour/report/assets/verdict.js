"use strict";

// A verdict's page: filters of the cells, and each cell's picture.
(() => {
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const drawn = new Map();

  function filter() {
    const shown = new Set($$(".filters [data-verdict][aria-pressed=true]").map((button) => button.dataset.verdict));
    const area = document.querySelector("#area")?.value ?? "";
    for (const part of $$("tr[data-verdict], section[data-verdict]")) {
      part.hidden = !shown.has(part.dataset.verdict) || (area !== "" && part.dataset.area !== area);
    }
    const rows = $$("tr[data-verdict]");
    const left = rows.filter((row) => !row.hidden).length;
    const status = document.querySelector("#left");
    if (status) status.textContent = left < rows.length ? `${left} of ${rows.length} shown` : "";
  }

  async function draw(host) {
    const run = await Series.unpack(document.getElementById(host.dataset.series).textContent);
    run.key = host.dataset.series;
    drawn.set(host, run);
    paint(host, run);
    document.documentElement.dataset.drawn = String(drawn.size);
    if (location.hash.endsWith("-check")) document.documentElement.dataset.inked = String(Plots.inked());
  }

  function paint(host, run) {
    const output = host.querySelector("output");
    const read = (panel, instant) => {
      Parts.read(panel, instant);
      output.textContent = instant === null ? "" : `t = ${instant.toFixed(6)} s`;
    };
    for (const panel of run.panels) Parts.panel(panel, run, host, read);
  }

  function zoom(button) {
    const run = drawn.get(button.closest(".pictures"));
    if (!run) return;
    if (button.dataset.zoom === "whole") Plots.reset(run);
    else Plots.zoom(Math.max(0, run.mark_s - run.around_s), Math.min(run.duration_s, run.mark_s + run.around_s), run);
  }

  function again() {
    Plots.clear();
    for (const [host, run] of drawn) {
      $$(".panel", host).forEach((panel) => panel.remove());
      paint(host, run);
    }
  }

  function listen() {
    $$(".filters [data-verdict]").forEach((button) => button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filter();
    }));
    document.querySelector("#area")?.addEventListener("change", filter);
    $$("[data-zoom]").forEach((button) => button.addEventListener("click", () => zoom(button)));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    Ink.onPaper(again);
    let waiting = 0;
    let width = innerWidth;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        if (innerWidth !== width) again();
        width = innerWidth;
      }, 150);
    });
  }

  listen();
  document.documentElement.dataset.drawn = "0";
  // One after the other, with room between for whoever scrolls already.
  (async () => {
    for (const host of $$(".pictures")) {
      await draw(host);
      await new Promise((done) => setTimeout(done));
    }
  })();
})();
