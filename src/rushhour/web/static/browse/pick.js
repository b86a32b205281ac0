"use strict";

// Two runs of the list are picked to be compared: the first is the base, the second the candidate.
(() => {
  const picked = [];

  function change(box) {
    const key = box.dataset.key;
    const place = picked.indexOf(key);
    if (place >= 0) picked.splice(place, 1);
    else picked.push(key);
    while (picked.length > 2) picked.shift();
    show();
  }

  function show() {
    const form = document.querySelector("form.pick");
    if (!form) return;
    for (const box of form.querySelectorAll("[data-key]")) box.checked = picked.includes(box.dataset.key);
    form.elements.base.value = picked[0] ?? "";
    form.elements.candidate.value = picked[1] ?? "";
    const button = form.querySelector("button");
    button.disabled = picked.length < 2;
    button.textContent = picked.length === 1 ? "Pick another one to compare" : "Compare the two picked";
    form.querySelector(".picked").classList.toggle("some", picked.length > 0);
    tell(form);
  }

  // Two are enough: what differs is said at once, and how it looks is a press away.
  async function tell(form) {
    const line = form.querySelector("[role=status]");
    const wanted = picked.join(" ");
    if (line.dataset.of === wanted) return;
    line.dataset.of = wanted;
    line.textContent = "";
    if (picked.length < 2) return;
    line.textContent = "Comparing…";
    const answer = await fetch(`/compare?${new URLSearchParams({ base: picked[0], candidate: picked[1] })}`).catch(() => null);
    const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
    if (line.dataset.of !== wanted) return;
    const said = page ? [...page.querySelectorAll("main h1, main .answer")].map((one) => one.textContent.trim()) : ["They could not be compared."];
    line.textContent = said.join(". ");
  }

  document.addEventListener("change", (event) => {
    if (event.target.dataset?.key) change(event.target);
  });
  document.addEventListener("htmx:afterSettle", show);
  // A page that the browser kept comes back with its boxes as they were.
  addEventListener("pageshow", show);
})();
