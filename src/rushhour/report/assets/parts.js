"use strict";

// What a run is shown with: its panels as figures with their legends, and what limited its flows.
const Parts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const { make } = Ink;

  // What is `silent` is said beside another trace: a run that is compared with looks like it, but for breadth.
  function legend(figure) {
    const list = make("ul", undefined, "legend");
    const [facet] = figure.facets;
    figure.readings = facet.traces.map((trace) => {
      const entry = make("li");
      const reading = make("output", "");
      // `Ink.say` speaks for all of them.
      reading.setAttribute("aria-live", "off");
      const whole = trace.group.startsWith("flow:") && !figure.styles[trace.look].pale;
      entry.append(...(whole ? [hider(trace, figure)] : [Looks.swatch(trace, figure), make("span", trace.label)]), reading);
      if (!trace.silent) list.append(entry);
      return reading;
    });
    for (const one of facet.references) {
      const entry = make("li", undefined, "limit");
      entry.append(level(), make("span", one.label), make("output", one.quantity));
      list.append(entry);
    }
    return list;
  }

  // The name of a flow's trace, which hides and shows the flow in all panels.
  function hider(trace, figure) {
    const button = make("button", undefined, "hider");
    button.type = "button";
    button.title = "Hide or show this flow";
    button.append(Looks.swatch(trace, figure), make("span", trace.label));
    return hides(button, trace.group);
  }

  // Make a button hide and show a flow; all buttons of one flow say the same.
  function hides(button, group) {
    button.dataset.group = group;
    button.setAttribute("aria-pressed", String(!Plots.hides(group)));
    button.addEventListener("click", () => {
      const shown = String(Plots.toggle(group));
      document.querySelectorAll(`button[data-group="${group}"]`).forEach((one) => one.setAttribute("aria-pressed", shown));
    });
    return button;
  }

  // The sample of a level's line.
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

  // A panel of a run in `host`; `onRead(figure, instant)` is told where the cursor is.
  function panel(figure, run, host, onRead) {
    const whole = make("figure", undefined, "panel");
    whole.dataset.panel = figure.id;
    const heading = make("h3", figure.title);
    const unit = make("span", "", "unit");
    heading.append(" ", unit);
    const plot = make("div", undefined, "plot");
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-roledescription", "plot");
    plot.setAttribute("aria-label", `${Told.spoken(figure, figure.facets[0])} Left and right move through time.`);
    const caption = [run.conditions.join(" · "), ...figure.notes].filter(Boolean).join(". ");
    whole.append(heading, plot, legend(figure), ...(caption ? [make("figcaption", caption)] : []));
    host.append(whole);
    const drawn = Plots.draw(figure, run, plot, onRead);
    const { second } = figure;
    unit.textContent = second && drawn.scales.y2 ? `${figure.y.unit} (left), ${second.unit} ${second.title} (right)` : figure.y.unit;
  }

  // The legend's numbers: what each trace is at an instant; nothing where the cursor is elsewhere.
  function read(figure, instant) {
    figure.facets[0].traces.forEach((trace, position) => {
      const value = instant === null || figure.lanes ? null : Series.at(trace, instant, figure.reach);
      figure.readings[position].textContent = instant === null || figure.lanes ? "" : Told.unit(figure, value);
    });
  }

  // What limited each flow: a bar of its time, the sentences, and what would help; `after(said)` may add to it.
  function why(list, whole, after = () => []) {
    whole.replaceChildren();
    for (const one of list) {
      const head = make("p", undefined, "limits");
      head.append(make("b", one.flow));
      // Of a connection of several paths nothing tells for what it waited: no bar is better than an empty one.
      if (one.parts.length) head.append(bar(one.parts), make("span", one.parts.map(([, word, share]) => `${word} ${Math.round(100 * share)} %`).join(" · ")));
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

  return { hides, make, panel, read, why };
})();
