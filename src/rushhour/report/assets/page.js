"use strict";

// The page around the plots: which run is shown, its words, the controls, the result table.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const { make } = Parts;
  // A page without figures comes without their scripts.
  const figures = typeof Figures === "undefined" ? { start: () => {}, look: () => {}, show: () => {} } : Figures;
  let run = null;
  let index = -1;
  const runs = JSON.parse($("#runs").textContent);

  function read(panel, instant) {
    Parts.read(panel, instant);
    $("#instant").textContent = instant === null ? "" : `t = ${instant.toFixed(4)} s`;
  }

  function flows() {
    const list = $("#flows");
    list.replaceChildren();
    run.flows.forEach((flow, position) => {
      const button = make("button");
      button.type = "button";
      button.append(Looks.flow(flow.look ?? position), make("b", flow.name),
        make("span", [flow.kind === "tcp" ? flow.cc : flow.kind, flow.path, flow.active].filter(Boolean).join(" · ")));
      list.append(Parts.hides(button, `flow:${position}`));
    });
    if (run.more_flows > 0) list.append(make("p", `and ${run.more_flows} more, in the tables only`, "aside"));
  }

  function words() {
    $("#run-label").textContent = run.label;
    $("#run-conditions").textContent = [...run.conditions, run.kernel, `${run.lab} lab`, `seed ${run.seed}`].join(" · ");
    const notes = $("#run-notes");
    notes.replaceChildren();
    for (const reason of run.reasons) notes.append(make("li", `Invalid: ${reason}`, "bad"));
    for (const warning of run.warnings) notes.append(make("li", warning, "doubt"));
    for (const [ok, message] of run.verdicts) notes.append(make("li", `${ok ? "✓" : "✗"} ${message}`, ok ? "good" : "bad"));
    $("#run-command").textContent = run.command;
    for (const id of ["#run-again", "#run-command"]) $(id).hidden = runs.length < 2;
    $("#run").classList.toggle("invalid", !run.valid);
    const body = $("#run-metrics tbody");
    body.replaceChildren(...run.metrics.map((cells) => {
      const row = make("tr");
      cells.slice(0, 3).forEach((cell, column) => row.append(make(column === 0 ? "th" : "td", cell, column === 2 ? "num" : "")));
      row.append(make("td", cells[3], "why"));
      return row;
    }));
  }

  // What programs of this run said; the page of a single run has a section of them.
  function programs() {
    const list = $("#run-programs");
    if (!list) return;
    list.replaceChildren(...(run.programs ?? []).map((program) => {
      const whole = make("details");
      const head = make("summary");
      whole.open = program.said.length > 0 || Boolean(program.fault);
      head.append(make("strong", program.name), ` ${program.how}`);
      whole.append(head);
      if (program.fault) whole.append(make("p", program.fault, "bad"));
      if (program.before) whole.append(make("p", program.before, "aside"));
      if (program.said.length) whole.append(make("pre", program.said.map(([when, text]) => `${when}  ${text}`).join("\n")));
      return whole;
    }));
  }

  function redraw() {
    Plots.clear();
    $("#panels").replaceChildren();
    flows();
    Parts.why(run.why, $("#why"));
    if (run.unexplained) $("#why").append(make("p", run.unexplained, "limits"));
    run.panels.forEach((panel) => Parts.panel(panel, run, $("#panels"), read));
    $("#empty").hidden = run.panels.length > 0;
  }

  async function show(next) {
    if (!runs[next]) return;
    index = next;
    const packed = $(`#series-${next}`);
    if (!packed) return missing(next);
    run = await Series.unpack(packed.textContent);
    if (index !== next) return;
    Plots.forget();
    words();
    programs();
    redraw();
    mark(next);
    setTimeout(report, 50);
  }

  // Of very large sets the page holds the curves of some runs only.
  function missing(next) {
    run = null;
    Plots.forget();
    Plots.clear();
    for (const id of ["#panels", "#flows", "#why", "#run-notes", "#run-programs", "#run-metrics tbody"]) $(id)?.replaceChildren();
    $("#run-label").textContent = runs[next].label;
    $("#run-conditions").textContent = "";
    $("#empty").hidden = false;
    mark(next);
  }

  function mark(next) {
    for (const select of $$("#picker select")) select.value = runs[next].factors[select.name] ?? "";
    $$("[data-run]").forEach((link) => link.toggleAttribute("aria-current", Number(link.dataset.run) === next));
    figures.show(next);
    $("#position").textContent = `${next + 1} of ${runs.length}`;
  }

  // Say in the document what was drawn, for a test that looks from outside: panels, and canvases with something on them.
  function report() {
    document.documentElement.dataset.drawn = String(run.panels.length);
    if (location.hash.endsWith("-check")) document.documentElement.dataset.inked = String(Plots.inked());
  }

  // The run with these factors; where a combination was not run, the one that shares most of them.
  function pick(changed) {
    const wanted = Object.fromEntries($$("#picker select").map((select) => [select.name, select.value]));
    const score = (entry) => Object.entries(wanted)
      .reduce((sum, [key, value]) => sum + (entry.factors[key] === value ? (key === changed ? 100 : 1) : 0), 0);
    const best = runs.reduce((found, entry, position) => (score(entry) > score(runs[found]) ? position : found), 0);
    go(best);
  }

  function go(next) {
    const wrapped = (next + runs.length) % runs.length;
    history.replaceState(null, "", `#run-${wrapped}`);
    show(wrapped);
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    const actions = {
      ArrowLeft: () => Plots.step(event.shiftKey ? -20 : -2), ArrowRight: () => Plots.step(event.shiftKey ? 20 : 2),
      "+": () => Plots.zoomBy(0.5, run), "-": () => Plots.zoomBy(2, run), 0: () => Plots.reset(run),
      "[": () => go(index - 1), "]": () => go(index + 1),
    };
    const scoped = event.key.startsWith("Arrow") && !$("#run").contains(document.activeElement);
    if (!actions[event.key] || scoped || (!run && !"[]".includes(event.key))) return;
    actions[event.key]();
    event.preventDefault();
  }

  function sortBy(header) {
    const table = header.closest("table");
    const body = table.tBodies[0];
    const column = header.cellIndex;
    const down = header.getAttribute("aria-sort") !== "descending";
    $$("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const worth = (row) => Number(row.cells[column].dataset.value ?? "NaN");
    const compare = (a, b) => {
      const [left, right] = [worth(a), worth(b)];
      if (Number.isNaN(left) && Number.isNaN(right)) {
        return a.cells[column].textContent.localeCompare(b.cells[column].textContent) * (down ? 1 : -1);
      }
      if (Number.isNaN(left) || Number.isNaN(right)) return Number.isNaN(left) ? 1 : -1;
      return down ? right - left : left - right;
    };
    body.append(...[...body.rows].sort(compare));
  }

  function listen() {
    $$("#picker select").forEach((select) => select.addEventListener("change", () => pick(select.name)));
    $$("[data-run]").forEach((link) => link.addEventListener("click", () => show(Number(link.dataset.run))));
    $$("button[data-step]").forEach((b) => b.addEventListener("click", () => go(index + Number(b.dataset.step))));
    $("#reset").addEventListener("click", () => run && Plots.reset(run));
    $$("button.sort").forEach((button) => button.addEventListener("click", () => sortBy(button.closest("th"))));
    $$("[name=heat]").forEach((radio) => radio.addEventListener("change", heat));
    document.addEventListener("keydown", keys);
    addEventListener("hashchange", () => show(wanted()));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => run && redraw());
    Ink.onPaper(() => run && redraw());
    let waiting = 0;
    let width = innerWidth;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        if (run && innerWidth !== width) redraw();
        width = innerWidth;
      }, 150);
    });
  }

  function heat() {
    const chosen = $("[name=heat]:checked");
    $$(".heat").forEach((map) => { map.hidden = Boolean(chosen) && map.dataset.metric !== chosen.value; });
    figures.look();
  }

  function wanted() {
    const match = /^#run-(\d+)/.exec(location.hash);
    return match && runs[Number(match[1])] ? Number(match[1]) : 0;
  }

  listen();
  heat();
  figures.start();
  if (runs.length) {
    show(wanted()).catch((fault) => {
      $("#empty").hidden = false;
      $("#empty").textContent = `The plots could not be drawn: ${fault.message}. The tables are complete.`;
    });
  }
})();
