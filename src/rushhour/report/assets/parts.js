"use strict";

// What a run is shown with: its panels as figures with their legends, and what limited its flows.
const Parts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const { make } = Ink;

  function swatch(curve, position) {
    const picture = document.createElementNS(SVG, "svg");
    picture.setAttribute("viewBox", "0 0 28 8");
    picture.setAttribute("class", "swatch");
    picture.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(SVG, "line");
    for (const [key, value] of Object.entries({ x1: 0, x2: 28, y1: 4, y2: 4, stroke: Plots.colour(curve, position),
      "stroke-width": curve.faint ? 1.5 : curve.ghost ? 6 : 2.5, "stroke-opacity": curve.ghost ? 0.4 : 1,
      "stroke-dasharray": ((!curve.ghost || curve.faint) && Plots.dash(curve, position).join(" ")) || "none" })) {
      line.setAttribute(key, value);
    }
    picture.append(line);
    return picture;
  }

  // A curve of a run to compare with has no entry of its own: it looks like its twin, but for breadth.
  function legend(panel) {
    const list = make("ul", undefined, "legend");
    panel.readings = panel.curves.map((curve, position) => {
      const entry = make("li");
      const reading = make("output", "");
      entry.append(...(curve.flow === null || curve.ghost ? [swatch(curve, position), make("span", curve.label)]
        : [hider(curve, position)]), reading);
      if (!curve.ghost || panel.both) list.append(entry);
      return reading;
    });
    for (const limit of panel.limits) {
      const entry = make("li", undefined, "limit");
      entry.append(level(), make("span", limit.label), make("output", Words.quantity(limit.value, panel.unit)));
      list.append(entry);
    }
    return list;
  }

  // The name of a flow's curve, which hides and shows the flow in all panels.
  function hider(curve, position) {
    const button = make("button", undefined, "hider");
    button.type = "button";
    button.title = "Hide or show this flow";
    button.append(swatch(curve, position), make("span", curve.label));
    return hides(button, curve.flow);
  }

  // Make a button hide and show a flow; all buttons of one flow say the same.
  function hides(button, flow) {
    button.dataset.flow = flow;
    button.setAttribute("aria-pressed", String(!Plots.hides(flow)));
    button.addEventListener("click", () => {
      const shown = String(Plots.toggle(flow));
      document.querySelectorAll(`button[data-flow="${flow}"]`).forEach((one) => one.setAttribute("aria-pressed", shown));
    });
    return button;
  }

  // The sample of a limit's line.
  function level() {
    const picture = document.createElementNS(SVG, "svg");
    picture.setAttribute("viewBox", "0 0 28 8");
    picture.setAttribute("class", "swatch");
    picture.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("d", "M0 4H28");
    picture.append(line);
    return picture;
  }

  function spoken(panel) {
    const parts = panel.curves.map((curve) => {
      const values = curve.v.filter((value) => value !== null);
      const low = values.reduce((a, b) => Math.min(a, b), Infinity);
      const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
      return `${curve.label} ${Words.quantity(low, panel.unit)} to ${Words.quantity(high, panel.unit)}`;
    });
    return `${panel.title} over time. ${parts.join("; ")}.`;
  }

  // A panel as a figure in `host`; `onRead(panel, instant)` is told where the cursor is.
  function figure(panel, run, host, onRead) {
    const whole = make("figure", undefined, "panel");
    whole.dataset.panel = panel.id;
    const heading = make("h3", panel.title);
    const unit = make("span", "", "unit");
    heading.append(" ", unit);
    const plot = make("div", undefined, "plot");
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", spoken(panel));
    const caption = [run.conditions.join(" · "), panel.note].filter(Boolean).join(". ");
    whole.append(heading, plot, legend(panel), ...(caption ? [make("figcaption", caption)] : []));
    host.append(whole);
    Plots.draw(panel, run, plot, onRead);
    unit.textContent = panel.marks ? "" : panel.shown || panel.unit;
  }

  // The legend's numbers: what each curve says at an instant; nothing where the cursor is elsewhere.
  function read(panel, instant) {
    panel.curves.forEach((curve, position) => {
      const value = instant === null || panel.marks ? null : Series.at(curve, instant, panel.reach);
      panel.readings[position].textContent = instant === null || panel.marks ? "" : Words.quantity(value, panel.unit);
    });
  }

  // What limited each flow: a bar of its time, the sentences, and what would help; `after(said)` may add to it.
  function why(list, whole, after = () => []) {
    whole.replaceChildren();
    for (const one of list) {
      const head = make("p", undefined, "limits");
      head.append(make("b", one.flow), bar(one.parts), make("span", one.parts.map(([, word, share]) => `${word} ${Math.round(100 * share)} %`).join(" · ")));
      whole.append(head);
      for (const said of one.said) {
        whole.append(make("p", said.says, "says"));
        if (said.advice) whole.append(make("p", `→ ${said.advice}${said.expected ? ` Expected: ${said.expected}.` : ""}`, "advice"));
        const other = said.instead && (said.override ? `or ${said.instead}` : said.instead);
        const commands = [said.command, said.override, other].filter(Boolean);
        if (commands.length) whole.append(make("pre", commands.join("\n")));
        whole.append(...after(said));
      }
    }
  }

  function bar(parts) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 100 8");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    let x = 0;
    for (const [limit, , share] of parts) {
      const part = document.createElementNS(SVG, "rect");
      for (const [key, value] of Object.entries({ x, y: 0, width: Math.max(0, 100 * share - 0.4), height: 8, class: `w-${limit}` })) part.setAttribute(key, value);
      svg.append(part);
      x += 100 * share;
    }
    return svg;
  }

  return { hides, make, swatch, figure, read, why };
})();
