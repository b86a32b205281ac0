"use strict";

// The results: totals, panels, flows and reasons of a run, with those of a pinned run beside them.
const Results = (() => {
  const $ = (selector) => document.querySelector(selector);
  const { make } = Parts;

  // The panels of two runs laid over each other: the pinned run's traces below, broad and pale.
  function overlaid(run, pinned) {
    return run.panels.map((panel) => {
      const other = pinned?.panels.find((one) => one.id === panel.id && one.y.base === panel.y.base);
      return other ? both(panel, other) : panel;
    });
  }

  function both(panel, other) {
    const [[mine], [below]] = [panel.facets, other.facets];
    // The styles of the pinned run come behind those of the other.
    const styles = [...panel.styles, ...other.styles.map((style) => ({ ...style, pale: true }))];
    const pale = below.traces.map((trace) => ({ ...trace, look: trace.look + panel.styles.length, silent: true, label: `pinned ${trace.label}` }));
    const over = mine.traces.map((trace) => ({ ...trace, twin: pale.find((one) => one.label === `pinned ${trace.label}`) }));
    const same = (level) => mine.references.some((one) => one.label === level.label && one.value === level.value);
    const references = [...mine.references, ...below.references.filter((level) => !same(level))
      .map((level) => ({ ...level, label: `pinned ${level.label}` }))];
    const facet = { ...mine, references, top: Math.max(mine.top, below.top), traces: panel.lanes ? [...over, ...pale] : [...pale, ...over] };
    const second = other.second && panel.second && other.second.factor === panel.second.factor ? panel.second : null;
    return { ...panel, styles, second, y: other.y.divisor > panel.y.divisor ? other.y : panel.y, facets: [facet] };
  }

  // What the traces are where the cursor is, and what those of the pinned run are.
  function read(figure, instant) {
    Parts.read(figure, instant);
    if (instant === null || figure.lanes) return;
    figure.facets[0].traces.forEach((trace, position) => {
      if (trace.twin) figure.readings[position].append(` (${Told.unit(figure, Series.at(trace.twin, instant, figure.reach))})`);
    });
  }

  function totals(answer, pinned) {
    const before = new Map((pinned?.totals ?? []).map((one) => [one.metric, one]));
    $("#totals").replaceChildren(...answer.totals.map((one) => {
      const entry = make("div");
      entry.dataset.metric = one.metric;
      entry.append(make("dt", one.title), make("dd", one.text));
      const old = before.get(one.metric);
      if (pinned) entry.append(make("dd", old ? `pinned ${old.text}` : "pinned –", "was"));
      return entry;
    }));
  }

  function table(answer, pinned) {
    const heads = [...new Map(answer.flows.flatMap((flow) => flow.numbers).map((one) => [one.metric, one.title]))];
    const head = make("tr");
    head.append(make("th", "flow"), make("th", "path"), make("th", "active"), ...heads.map(([, title]) => make("th", title, "num")));
    const top = make("thead");
    top.append(head);
    for (const cell of head.cells) cell.scope = "col";
    const body = make("tbody");
    body.append(...answer.flows.map((flow, place) => line(flow, place, heads, "")));
    if (pinned) body.append(...pinned.flows.map((flow, place) => line(flow, place, heads, "pinned ")));
    $("#numbers").replaceChildren(top, body);
    $("#flows-part").hidden = answer.flows.length === 0;
  }

  function line(flow, place, heads, before) {
    const row = make("tr");
    if (before) row.className = "was";
    const name = make("th");
    name.scope = "row";
    name.append(Looks.flow(place, Boolean(before)), ` ${before}${flow.name}`);
    if (flow.cc && flow.cc !== flow.name) name.append(" ", make("span", flow.cc, "unit"));
    const numbers = new Map(flow.numbers.map((one) => [one.metric, one.text]));
    row.append(name, make("td", flow.path), make("td", flow.when), ...heads.map(([metric]) => make("td", numbers.get(metric) ?? "–", "num")));
    return row;
  }

  function exact(answer) {
    const pairs = [["run", answer.key], ["raw tables", answer.raw_sha256], ["kernel", answer.ran_on]];
    $("#exact").replaceChildren(...pairs.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
  }

  // A button for advice that is a change of the controls.
  function remedy(said, tryOut) {
    const changes = [...said.override.matchAll(/--set (\S+?)="([^"]*)"/g)].map(([, key, value]) => [key, value]);
    if (!changes.length || !changes.every(([key]) => Controls.knows(key))) return [];
    const button = make("button", "Try it, with this run pinned", "act");
    button.type = "button";
    button.addEventListener("click", () => tryOut(changes));
    const line = make("p", undefined, "try");
    line.append(button);
    return [line];
  }

  // The server's own drawing; nothing of a visitor is in it but names of nodes, which are escaped there.
  function network(answer) {
    const drawing = new DOMParser().parseFromString(answer.topology, "text/html").querySelector("svg");
    $("#network").replaceChildren(...(drawing ? [document.importNode(drawing, true)] : []));
    $("#network-part").hidden = !drawing;
  }

  function words(answer) {
    const cached = answer.cached ? "known already" : `run in ${answer.elapsed_s.toFixed(2)} s`;
    const good = answer.valid ? [] : [make("b", `Invalid: ${answer.invalid_reasons.join("; ")}`, "bad")];
    $("#state-line").replaceChildren(`${Words.number(answer.virtual_s)} s of virtual time on ${answer.ran_on}, ${cached}. `, ...good);
  }

  // Everything of a run; `pinned` is another one to compare it with, or null.
  // `least_s` is a duration that the axis of time has at least.
  function show(current, pinned, tryOut, least_s = 0) {
    const { answer, run } = current;
    words(answer);
    totals(answer, pinned?.answer);
    Plots.clear();
    const host = $("#panels");
    const heightBefore = host.offsetHeight;
    host.style.minHeight = `${heightBefore}px`;
    host.replaceChildren();
    const whole = { ...run, conditions: [], duration_s: Math.max(run.duration_s, pinned?.run.duration_s ?? 0, least_s) };
    for (const panel of overlaid(run, pinned?.run)) Parts.panel(panel, whole, host, read);
    host.style.minHeight = "";
    table(answer, pinned?.answer);
    Parts.why(run.why, $("#why"), (said) => remedy(said, tryOut));
    $("#why-part").hidden = run.why.length === 0;
    network(answer);
    exact(answer);
    document.documentElement.dataset.drawn = String(run.panels.length);
    document.documentElement.dataset.key = answer.key;
  }

  return { show };
})();
