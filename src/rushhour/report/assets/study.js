"use strict";

// A study's page: its figures are drawn as they come into sight; print opens what is folded.
(() => {
  Figures.start();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
