"use strict";

// The playground: a change of a control becomes a run of the kernel, a run becomes a picture, and the address
// always says which.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const state = JSON.parse($("#state").textContent);
  const look = new URLSearchParams(location.search).get("look");
  // A run under way is given this long to end before it is given up for a newer one, so that there is
  // something to see while a slider moves.
  const PATIENCE_MS = 350;
  const TYPING_MS = 350;
  const SMALL = matchMedia("(max-width: 860px)");
  let current = null;
  let pinned = null;
  let waiting = false;
  let flight = null;
  let typing = 0;

  function post(setup, signal) {
    return fetch("/api/play", { method: "POST", signal, body: JSON.stringify(setup),
      headers: { "Content-Type": "application/json", Accept: "application/json" } });
  }

  async function ask(setup, signal) {
    let answer = await post(setup, signal);
    // A class moves its sliders all at once: whoever is turned away comes again.
    for (let tries = 0; answer.status === 503 && tries < 20; tries++) {
      $("#state-line").textContent = "Many experiments are running; this one waits for room…";
      await new Promise((done) => setTimeout(done, 600 + 600 * Math.random()));
      signal?.throwIfAborted();
      answer = await post(setup, signal);
    }
    if (answer.status === 401) {
      location.reload();
      throw new Error("log in again");
    }
    const said = await answer.json().catch(() => ({ error: `the server says ${answer.status}` }));
    if (!answer.ok) throw Object.assign(new Error(said.error), said);
    return { answer: said, run: await Series.unpack(said.series) };
  }

  function change({ now = false, typed = false } = {}) {
    clearTimeout(typing);
    if (typed && !now) typing = setTimeout(wanted, TYPING_MS);
    else wanted();
  }

  // Run what the controls say; if a run is under way, when that is done or given up.
  function wanted() {
    if (!flight) return void go();
    waiting = true;
    const { controller, since } = flight;
    setTimeout(() => controller.abort(), Math.max(0, PATIENCE_MS - (performance.now() - since)));
  }

  async function go() {
    waiting = false;
    const begun = performance.now();
    flight = { controller: new AbortController(), since: begun };
    document.body.classList.add("busy");
    const slow = setTimeout(() => { $("#state-line").textContent = "Running…"; }, 600);
    try {
      current = await ask(Controls.read(), flight.controller.signal);
      Controls.calm();
      $("#alert").hidden = true;
      draw();
      document.documentElement.dataset.took = String(Math.round(performance.now() - begun));
    } catch (fault) {
      if (fault.name !== "AbortError") complain(fault);
    }
    clearTimeout(slow);
    flight = null;
    if (waiting) return void go();
    document.body.classList.remove("busy");
    document.documentElement.dataset.settled = String(Number(document.documentElement.dataset.settled ?? 0) + 1);
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
    history.replaceState(null, "", `/play?${readable(query)}`);
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
    Plots.onPaper(() => current && draw());
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
