"use strict";

// The controls: from a setup to the form and back, sliders beside texts, a row for each flow.
const Controls = (() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const { make } = Parts;
  // What an empty field means; such keys are left out.
  const DEFAULTS = { rate: "20mbit", rtt: "40ms", buffer: "1bdp", loss: "0%", jitter: "", duration: "5s" };
  // Bits of a full packet, in which the server counts.
  const FRAME_BITS = 8 * 1514;
  let bounds = {};
  let offer = {};
  let changed = () => {};
  // The duration that was asked for, while the rate allows only a shorter one.
  let wish = "";

  const form = () => $("#setup");
  const field = (name) => form().elements[name];

  function start(state, onChange) {
    bounds = state.bounds;
    offer = state.offer;
    changed = onChange;
    fill(state.setup);
    listen();
  }

  // The setup into the form.
  function fill(setup) {
    for (const name of Object.keys(DEFAULTS)) write(name, setup[name] ?? DEFAULTS[name]);
    wish = field("duration").value;
    $("#duration-note")?.remove();
    write("size", String(setup.preset === "chain" ? setup.size ?? 2 : 2));
    form().dataset.size = setup.preset === "chain" ? "" : setup.size ?? "";
    for (const radio of $$("[name=preset]")) radio.checked = radio.value === setup.preset;
    field("ecn").checked = setup.ecn === true;
    field("seed").value = setup.seed;
    field("kernel").value = setup.kernel;
    if (offer.name !== setup.kernel) kernel();
    queues(setup.queue);
    $("#flow-list").replaceChildren();
    setup.flow.forEach((flow) => row(flow));
    shape();
  }

  function write(name, text) {
    field(name).value = text;
    slide(name);
  }

  // The slider to where the text is.
  function slide(name) {
    const slider = $(`#${name}-slider`);
    const stops = Stops.of(name, bounds, field(name).value);
    slider.max = stops.length - 1;
    slider.value = Stops.nearest(stops, field(name).value);
    slider.setAttribute("aria-valuetext", field(name).value || "default");
    slider.stops = stops;
    paint(slider);
  }

  function paint(slider) {
    slider.style.setProperty("--at", `${(100 * slider.value) / Math.max(1, slider.max)}%`);
  }

  // As long as was wished, or as the server's packets reach at the rate that a slider says.
  function fit() {
    const udp = flowsNow().filter((flow) => flow.kind === "udp").reduce((sum, flow) => sum + (Stops.worth(flow.rate) || 0), 0);
    const bits = (chain() ? Number(field("size").value) : 1) * Stops.worth(field("rate").value) + udp;
    const most = (bounds.packets * FRAME_BITS) / bits;
    const wished = Stops.worth(wish);
    const note = $("#duration-note") ?? make("p", undefined, "unit note");
    note.id = "duration-note";
    field("duration").closest(".quantity").append(note);
    note.textContent = wished > most ? `At this rate the server gives no more than this; ${wish} come back at a lower one.` : "";
    if (!(bits > 0) || !(wished > 0)) return;
    const said = wished <= most ? wish : most >= 1 ? `${Math.floor(most)}s` : `${Math.floor(1000 * most)}ms`;
    if (said !== field("duration").value) write("duration", said);
  }

  function queues(chosen) {
    const words = offer.qdiscs.includes(chosen) ? offer.qdiscs : [...offer.qdiscs, chosen];
    $("#queue").replaceChildren(...words.map((word) => new Option(word, word, false, word === chosen)));
  }

  // A new kernel: what it offers, keeping what is chosen.
  async function kernel() {
    const answer = await fetch(`/api/kernels/${encodeURIComponent(field("kernel").value)}`);
    const said = answer.ok ? await answer.json() : null;
    // Meanwhile yet another one may have been chosen.
    if (said?.name !== field("kernel").value) return;
    offer = said;
    queues($("#queue").value);
    for (const select of $$("#flow-list [data-key=cc]")) algorithms(select, select.value);
  }

  function algorithms(select, chosen) {
    const tcp = make("optgroup");
    tcp.label = "TCP";
    const known = offer.congestion_controls.includes(chosen) || ["", "udp", "ping"].includes(chosen);
    const names = known ? offer.congestion_controls : [...offer.congestion_controls, chosen];
    tcp.append(...names.map((name) => new Option(name, name, false, name === chosen)));
    tcp.append(new Option(`kernel's own (${offer.default_congestion_control})`, "", false, chosen === ""));
    const others = make("optgroup");
    others.label = "Others";
    others.append(new Option("UDP stream", "udp", false, chosen === "udp"), new Option("ping", "ping", false, chosen === "ping"));
    select.replaceChildren(tcp, others);
  }

  function row(flow) {
    const item = $("#flow-row").content.cloneNode(true).firstElementChild;
    algorithms($("[data-key=cc]", item), flow.kind && flow.kind !== "tcp" ? flow.kind : flow.cc ?? "");
    for (const input of $$("input[data-key]", item)) {
      const value = flow[input.dataset.key];
      input.value = value && !(input.dataset.key === "start" && value === "0s") ? value : "";
    }
    $(".more", item).open = Boolean(flow.rtt || flow.rcvbuf || flow.name || (flow.rate && flow.kind !== "udp"));
    $("#flow-list").append(item);
    shape();
  }

  // What fits together: rows by their number, fields by the flow's kind, links by the network's shape.
  function shape() {
    const rows = $$("#flow-list > li");
    rows.forEach((item, position) => {
      const chosen = $("[data-key=cc]", item).value;
      const kind = ["udp", "ping"].includes(chosen) ? chosen : "tcp";
      for (const part of $$("[data-of]", item)) part.hidden = !part.dataset.of.split(" ").includes(kind);
      // The rate of a stream of datagrams is what it is; that of a TCP application is for those who ask.
      const rate = $("[data-key=rate]", item);
      rate.placeholder = kind === "udp" ? "2mbit" : "full";
      $(kind === "udp" ? ".times" : ".more .times", item).append(rate.closest("label"));
      $(".look", item).replaceChildren(Looks.flow(position));
      $("legend", item).textContent = `Flow ${position + 1}`;
      $(".remove", item).hidden = rows.length === 1;
      $(".remove", item).setAttribute("aria-label", `Remove flow ${position + 1}`);
    });
    $("#add").hidden = rows.length >= bounds.flows;
    $("[data-name=size]").hidden = chain() === false;
  }

  const chain = () => field("preset").value === "chain";

  // The form as a setup.
  function read() {
    const setup = { preset: field("preset").value, queue: field("queue").value, kernel: field("kernel").value,
      seed: Number(field("seed").value), ecn: field("ecn").checked };
    for (const name of Object.keys(DEFAULTS)) {
      const text = field(name).value.trim();
      if (text || name !== "jitter") setup[name] = text || DEFAULTS[name];
    }
    if (chain()) setup.size = Number(field("size").value);
    else if (form().dataset.size) setup.size = Number(form().dataset.size);
    setup.flow = flowsNow();
    return setup;
  }

  const flowsNow = () => $$("#flow-list > li").map(flowOf);

  function flowOf(item) {
    const chosen = $("[data-key=cc]", item).value;
    const flow = ["udp", "ping"].includes(chosen) ? { kind: chosen } : chosen ? { cc: chosen } : {};
    for (const input of $$("input[data-key]", item)) {
      const text = input.value.trim();
      if (text && !input.closest("[hidden]")) flow[input.dataset.key] = text;
    }
    if (chosen === "udp" && !flow.rate) flow.rate = "2mbit";
    return flow;
  }

  // What is wrong, at the field where it is; true if that field was found.
  function fault(key, message) {
    const name = key.replace(/^topology\./, "").replace(/^rtts.*/, "rtt");
    const parts = name.split(".");
    let input = parts.length === 1 ? field(name) : null;
    if (parts[0] === "flow" && parts.length > 2) input = flowField(parts.slice(1, -1).join("."), parts.at(-1));
    if (!input || !input.setAttribute) return false;
    input.setAttribute("aria-invalid", "true");
    const said = $(`#${input.id}-said`);
    if (said) {
      said.textContent = message;
      said.hidden = false;
    }
    return Boolean(said);
  }

  function flowField(which, key) {
    const rows = $$("#flow-list > li");
    const names = called(rows.map(flowOf));
    const item = rows[names.indexOf(which)] ?? rows[Number(which) - 1];
    return item && $(`[data-key="${key === "kind" ? "cc" : key}"]`, item);
  }

  // Flows are called by their name, else by their algorithm, told apart by numbers; as the server does it.
  function called(flows) {
    const found = [];
    const taken = new Set(flows.map((flow) => flow.name).filter(Boolean));
    for (const flow of flows) {
      const name = flow.name || flow.cc || flow.kind || "tcp";
      let free = name;
      for (let number = 2; !flow.name && (found.includes(free) || taken.has(free)); number++) free = `${name}-${number}`;
      found.push(free);
    }
    return found;
  }

  function calm() {
    for (const input of $$("[aria-invalid]", form())) input.removeAttribute("aria-invalid");
    for (const said of $$(".said", form())) said.hidden = true;
  }

  function listen() {
    form().addEventListener("submit", (event) => {
      event.preventDefault();
      changed({ now: true });
    });
    form().addEventListener("input", (event) => {
      const { target } = event;
      if (target.type === "range") {
        const name = target.id.replace("-slider", "");
        field(name).value = target.stops[target.value];
        target.setAttribute("aria-valuetext", field(name).value || "default");
        paint(target);
      } else if (target.closest(".quantity")) slide(target.name);
      if (target.dataset.key === "cc") shape();
      if (target.name === "preset") {
        form().dataset.size = "";
        shape();
      }
      if (/^duration/.test(target.id)) wish = field("duration").value;
      if (target.type === "range") {
        fit();
        return void changed({ dragging: true });
      }
      changed({ typed: target.type === "text" || Boolean(target.dataset.key && target.tagName === "INPUT") });
    });
    form().addEventListener("change", (event) => { if (event.target.type === "range") changed({ now: true }); });
    field("kernel").addEventListener("change", kernel);
    $("#add").addEventListener("click", () => {
      row({ cc: offer.default_congestion_control, start: "0s" });
      changed({ now: true });
    });
    $("#flow-list").addEventListener("click", (event) => {
      if (!event.target.classList.contains("remove")) return;
      const item = event.target.closest("li");
      const next = item.nextElementSibling ?? item.previousElementSibling;
      item.remove();
      $("select", next)?.focus();
      shape();
      changed({ now: true });
    });
  }

  // Whether a key of the scenario has a control here, and how to set it: the keys are those of `--set`.
  function knows(key) {
    return /^(topology\.(rate|rtt|buffer|queue|loss|jitter)|ecn|flow\..+\.(cc|rcvbuf|rate))$/.test(key);
  }

  function changedBy(setup, names, changes) {
    const made = structuredClone(setup);
    for (const [key, value] of changes) {
      const parts = key.split(".");
      if (parts[0] === "flow") {
        const which = parts.slice(1, -1).join(".");
        made.flow.forEach((flow, place) => { if (which === "*" || which === names[place]) flow[parts.at(-1)] = value; });
      } else if (key === "ecn") made.ecn = value === "true";
      else made[parts[1]] = value;
    }
    return made;
  }

  return { start, read, fill, fault, calm, called, knows, changedBy };
})();
