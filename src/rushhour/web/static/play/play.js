"use strict";

// The playground: a change of a control becomes a run of the kernel, a run becomes a picture, and the address
// always says which.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const state = JSON.parse($("#state").textContent);
  const look = new URLSearchParams(location.search).get("look");
  // While a slider moves, the first seconds of the experiment are run: a picture on the way. Such a run is let
  // finish; a whole one is given this long before it is given up for a newer one.
  const PATIENCE_MS = 1500;
  const PREVIEW_S = 2;
  // A slider that rests this long is where it is wanted.
  const REST_MS = 700;
  const LONGEST_WAIT_S = 15;
  const TYPING_MS = 350;
  const SMALL = matchMedia("(max-width: 860px)");
  let current = null;
  let pinned = null;
  let waiting = null;
  let flight = null;
  let typing = 0;
  let resting = 0;
  // Whether the next address replaces the one that is there: the first, and those gone back to.
  let replaces = true;

  function post(setup, signal) {
    return fetch("/api/play", { method: "POST", signal, body: JSON.stringify(setup),
      headers: { "Content-Type": "application/json", Accept: "application/json" } });
  }

  // Ask until the server is there: a lost connection is said and tried again, sooner if the network comes back.
  async function reach(setup, signal) {
    for (let wait = 1; ; wait = Math.min(2 * wait, LONGEST_WAIT_S)) {
      try {
        const answer = await post(setup, signal);
        document.body.classList.remove("lost");
        return answer;
      } catch (fault) {
        if (fault.name === "AbortError") throw fault;
      }
      document.body.classList.add("lost");
      $("#state-line").textContent = `The server cannot be reached; trying again in ${wait} s…`;
      await new Promise((done) => {
        setTimeout(done, 1000 * wait);
        addEventListener("online", done, { once: true });
        signal?.addEventListener("abort", done, { once: true });
      });
      signal?.throwIfAborted();
    }
  }

  async function ask(setup, signal) {
    let answer = await reach(setup, signal);
    // A class moves its sliders all at once: whoever is turned away comes again.
    for (let tries = 0; answer.status === 503 && tries < 20; tries++) {
      $("#state-line").textContent = "Many experiments are running; this one waits for room…";
      await new Promise((done) => setTimeout(done, 600 + 600 * Math.random()));
      signal?.throwIfAborted();
      answer = await reach(setup, signal);
    }
    if (answer.status === 401) {
      location.reload();
      throw new Error("log in again");
    }
    const said = await answer.json().catch(() => ({ error: `the server says ${answer.status}` }));
    if (!answer.ok) throw Object.assign(new Error(said.error), said);
    return { answer: said, run: await Series.unpack(said.series) };
  }

  function change({ now = false, typed = false, dragging = false } = {}) {
    clearTimeout(typing);
    clearTimeout(resting);
    if (typed && !now) typing = setTimeout(wanted, TYPING_MS);
    else if (dragging) {
      resting = setTimeout(wanted, REST_MS);
      wanted(true);
    } else wanted();
  }

  // The first seconds of an experiment, with all its flows; null where that is no shorter.
  function beginning(setup) {
    const seconds = (text) => Stops.worth(text || "0s") || 0;
    const length = Math.max(PREVIEW_S, Math.ceil(Math.max(0, ...setup.flow.map((flow) => seconds(flow.start))) + 1));
    if (!(seconds(setup.duration) >= 1.5 * length)) return null;
    const flow = setup.flow.map(({ duration, ...rest }) => (seconds(rest.start) + seconds(duration) < length && duration ? { ...rest, duration } : rest));
    return { ...setup, duration: `${length}s`, flow };
  }

  // Run what the controls say, or its beginning; if a run is under way, when that is done or given up.
  function wanted(preview = false) {
    const setup = Controls.read();
    const first = preview === true ? beginning(setup) : null;
    const next = { setup: first ?? setup, whole: setup, preview: first !== null };
    if (!flight) return void go(next);
    const { controller, since } = flight;
    if (JSON.stringify(flight.setup) === JSON.stringify(next.setup)) {
      waiting = null;
      return;
    }
    waiting = next;
    if (flight.preview) return;
    const late = flight;
    setTimeout(() => { if (waiting && flight === late) controller.abort(); }, Math.max(0, PATIENCE_MS - (performance.now() - since)));
  }

  async function go(next) {
    waiting = null;
    const begun = performance.now();
    flight = { controller: new AbortController(), since: begun, ...next };
    document.body.classList.add("busy");
    const slow = setTimeout(() => { $("#state-line").textContent = "Running…"; }, 600);
    try {
      const found = await ask(next.setup, flight.controller.signal);
      Controls.calm();
      $("#alert").hidden = true;
      if (next.preview) glance(found, next.whole);
      else {
        current = found;
        draw();
      }
      document.documentElement.dataset.took = String(Math.round(performance.now() - begun));
    } catch (fault) {
      if (fault.name !== "AbortError") complain(fault);
    }
    clearTimeout(slow);
    flight = null;
    if (waiting) return void go(waiting);
    if (next.preview) return;
    document.body.classList.remove("busy");
    document.documentElement.dataset.settled = String(Number(document.documentElement.dataset.settled ?? 0) + 1);
  }

  // The beginning of an experiment, on the axis of the whole; what is kept, shared and pinned is the whole.
  function glance(found, whole) {
    Results.show(found, pinned, tryOut, Stops.worth(whole.duration));
    $("#state-line").textContent = `The first ${Words.number(found.answer.virtual_s)} s; the whole follows when the slider rests.`;
    const { dataset } = document.documentElement;
    dataset.glances = String(Number(dataset.glances ?? 0) + 1);
  }

  function draw() {
    $(".acts").hidden = false;
    Results.show(current, pinned, tryOut);
    brief();
    address();
  }

  function complain(fault) {
    Controls.calm();
    const listed = fault.faults ?? [];
    const placed = listed.map((one) => Controls.fault(one.key, one.message));
    const said = [fault.message, fault.hint].filter(Boolean).join(". ");
    const box = $("#alert");
    box.replaceChildren(Parts.make("b", "This cannot be run. "), said);
    box.hidden = false;
    $("#state-line").textContent = current ? "The picture is that of the last run." : "";
    document.body.classList.toggle("placed", placed.length > 0 && placed.every(Boolean));
  }

  // The experiment in a line, for where the controls are folded away.
  function brief() {
    const { setup, names } = current.answer;
    $("#brief").textContent = [setup.rate, setup.rtt, setup.buffer, setup.queue, names.join(" + ")].join(" · ");
  }

  function address() {
    const query = new URLSearchParams(current.answer.query);
    const file = `?${query}`;
    $("#export").href = `/play/scenario.toml${file}`;
    $("#full").href = `/play/report${file}`;
    if (look) query.set("look", look);
    if (pinned) query.set("pin", pinned.answer.query);
    const there = `/play?${readable(query)}`;
    const same = there === location.pathname + location.search;
    history[replaces || same ? "replaceState" : "pushState"]({ setup: current.answer.setup }, "", there);
    replaces = false;
  }

  // Back and Forward lead through the experiments.
  function back(event) {
    if (!event.state?.setup) return;
    replaces = true;
    Controls.fill(event.state.setup);
    wanted();
  }

  // An address that a person can read: what need not be escaped in a query is not.
  function readable(query) {
    return query.toString().replace(/%2C/g, ",").replace(/%3D/g, "=");
  }

  function pin() {
    pinned = pinned ? null : current;
    mark();
    draw();
  }

  // Do what the advice says, and keep the run it was given for to compare with.
  function tryOut(changes) {
    pinned = current;
    mark();
    Controls.fill(Controls.changedBy(current.answer.setup, current.answer.names, changes));
    wanted();
    $(".tools").scrollIntoView({ block: "nearest" });
  }

  function mark() {
    const button = $("#pin");
    button.textContent = pinned ? "Unpin" : "Pin";
    button.setAttribute("aria-pressed", String(Boolean(pinned)));
    const line = $("#pinned");
    line.hidden = !pinned;
    if (!pinned) return;
    const back = Parts.make("button", "Go back to it", "act");
    back.type = "button";
    back.addEventListener("click", () => {
      Controls.fill(pinned.answer.setup);
      wanted();
    });
    line.replaceChildren(Parts.make("b", "Pinned: "), `${described(pinned.answer)} `, back,
      Parts.make("span", "Its curves are the broad pale ones. Now change one thing.", "unit"));
  }

  function described({ setup, names, kernel }) {
    const path = [setup.rate, setup.rtt, `buffer ${setup.buffer}`, setup.queue, names.join(" + ")].join(", ");
    return `${path}, on Linux ${kernel.release}.`;
  }

  async function share() {
    const button = $("#share");
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "Copied";
    } catch {
      // Without leave to use the clipboard the address bar has it.
      button.textContent = "Copy it from the address bar";
    }
    setTimeout(() => { button.textContent = "Share"; }, 2500);
  }

  // On a phone the sheet of controls leaves the upper part of the screen: let that show the picture.
  function unfold() {
    if (SMALL.matches && $("#sheet").open) $("#panels").scrollIntoView({ block: "start" });
  }

  function listen() {
    addEventListener("popstate", back);
    $("#sheet").addEventListener("toggle", unfold);
    $("#pin").addEventListener("click", () => current && pin());
    $("#share").addEventListener("click", share);
    let resizing = 0;
    let width = innerWidth;
    addEventListener("resize", () => {
      clearTimeout(resizing);
      resizing = setTimeout(() => {
        if (current && innerWidth !== width) draw();
        width = innerWidth;
      }, 150);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current && draw());
    Ink.onPaper(() => current && draw());
  }

  async function start() {
    if (SMALL.matches) $("#sheet").open = false;
    Controls.start(state, change);
    listen();
    if (state.fault) {
      complain(Object.assign(new Error(state.fault.error), state.fault));
      return;
    }
    if (state.pin) {
      pinned = await ask(state.pin).catch((fault) => { complain(fault); return null; });
      mark();
    }
    wanted();
  }

  start();
})();
