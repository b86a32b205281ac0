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
  }

  document.addEventListener("change", (event) => {
    if (event.target.dataset?.key) change(event.target);
  });
  document.addEventListener("htmx:afterSettle", show);
  // A page that the browser kept comes back with its boxes as they were.
  addEventListener("pageshow", show);
})();
