"use strict";

// The files' source, each line with how many cells execute it; `#net/ipv4/tcp_input.c:120` in the address is a place.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const $$ = (selector) => [...document.querySelectorAll(selector)];
  const names = [...$("#file").options].map((option) => option.value);
  let common = null;
  let shown = "";

  function make(tag, text, kind) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  }

  async function unpack(selector) {
    return JSON.parse(new TextDecoder().decode(await Series.inflate($(selector).textContent)));
  }

  const count = (set) => common.sets[set].length;

  function tell(title, set) {
    const cells = common.sets[set].map((number) => common.cells[number]).sort((a, b) => a[1] - b[1]);
    const list = make("ol");
    list.append(...cells.map(([label]) => make("li", label)));
    $("#by").replaceChildren(make("p", `${title}: ${cells.length} ${cells.length === 1 ? "cell" : "cells"}, the cheapest first`), list);
  }

  // Of each line the word for its colour: a decision that never went one of its ways is executed by half.
  function kinds(source) {
    const kind = new Map(source.lines.map(([line, set]) => [line, count(set) ? "yes" : "no"]));
    for (const [line, set] of source.branches) if (kind.get(line) === "yes" && !count(set)) kind.set(line, "half");
    return kind;
  }

  function ways(source) {
    const found = new Map();
    for (const [line, set] of source.branches) found.set(line, [...(found.get(line) ?? []), count(set)]);
    return found;
  }

  function row(number, text, set, kind, branches) {
    const line = make("tr", undefined, kind ?? "");
    line.id = `L${number}`;
    const cell = make("td", undefined, "count");
    if (kind === "no") cell.textContent = "0";
    else if (kind) {
      const button = make("button", count(set));
      button.type = "button";
      button.addEventListener("click", () => tell(`${shown}:${number}`, set));
      cell.append(button);
    }
    line.append(make("th", number), cell, make("td", text));
    if (kind === "half") line.title = `cells that go each of its ways: ${branches.join(", ")}`;
    return line;
  }

  // How many of all: `1 of 8 functions is`.
  const part = (some, all, noun) => `${some} of ${all} ${noun}${all === 1 ? "" : "s"} ${some === 1 ? "is" : "are"}`;

  function gaps(source) {
    const never = source.functions.filter(([, , , set]) => !count(set));
    const all = source.functions.length;
    $("#gaps").hidden = never.length === 0;
    $("#gaps summary").textContent = `${part(never.length, all, "function")} never executed`;
    $("#gaps ul").replaceChildren(...never.map(([name, first]) => {
      const link = make("a", name);
      link.href = `#${shown}:${first}`;
      const item = make("li");
      item.append(link);
      return item;
    }));
  }

  function draw(source) {
    const sets = new Map(source.lines);
    const [kind, branches] = [kinds(source), ways(source)];
    const texts = source.text.replace(/\n$/, "").split("\n");
    $("#lines").replaceChildren(...texts.map((text, place) =>
      row(place + 1, text, sets.get(place + 1), kind.get(place + 1), branches.get(place + 1))));
    const executed = source.lines.filter(([, set]) => count(set)).length;
    $("#said").textContent = `${part(executed, source.lines.length, "line")} executed.`;
    $("#by").replaceChildren();
    gaps(source);
  }

  function go(line) {
    $$("#lines .here").forEach((one) => one.classList.remove("here"));
    const place = $(`#L${line}`);
    if (!place) return;
    place.classList.add("here");
    const box = $(".code");
    box.scrollTop = place.offsetTop - box.clientHeight / 3;
  }

  // The beginning of the next run of lines that nothing executes, before or after the marked one.
  function step(direction) {
    const lines = $$("#lines tr");
    const begins = lines.filter((one, place) => one.classList.contains("no") && !lines[place - 1]?.classList.contains("no"));
    const here = Number($("#lines .here")?.id.slice(1) ?? 0);
    const numbers = begins.map((one) => Number(one.id.slice(1)));
    const next = direction > 0 ? numbers.find((one) => one > here) : numbers.reverse().find((one) => one < here);
    if (next) go(next);
  }

  async function show() {
    const [name, line] = decodeURIComponent(location.hash.slice(1)).split(":");
    const number = names.indexOf(name);
    if (number < 0) return;
    common = common ?? await unpack("#common");
    if (shown !== name) {
      shown = name;
      const source = await unpack(`#source-${number}`);
      if (shown !== name) return;
      $("#name").textContent = name;
      $("#file").selectedIndex = number;
      $("#source").hidden = false;
      draw(source);
    }
    $("#source").scrollIntoView();
    $(".code").scrollTop = 0;
    if (line) go(Number(line));
  }

  function filter() {
    const wanted = $("#find").value.trim();
    let left = 0;
    for (const one of $$("tr[data-name]")) {
      one.hidden = !one.dataset.name.includes(wanted);
      left += one.hidden ? 0 : 1;
    }
    for (const body of $$("#files tbody")) body.hidden = ![...body.rows].some((one) => one.dataset.name && !one.hidden);
    $("#left").textContent = wanted ? `${left} ${left === 1 ? "file" : "files"}` : "";
  }

  $("#find").addEventListener("input", filter);
  $("#file").addEventListener("change", () => { location.hash = $("#file").value; });
  $("#before").addEventListener("click", () => step(-1));
  $("#after").addEventListener("click", () => step(1));
  addEventListener("hashchange", show);
  show();
})();
