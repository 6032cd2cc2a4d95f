"use strict";
// A button opens all tables of a page, and printing opens them too.
const closed = () => [...document.querySelectorAll("details:not([open])")];
const open = (tables) => tables.forEach((each) => (each.open = true));

document.querySelector("#open-all")?.addEventListener("click", () => open(closed()));

let opened = [];
addEventListener("beforeprint", () => open((opened = closed())));
addEventListener("afterprint", () => opened.forEach((each) => (each.open = false)));

// Show only the claims with the chosen verdict. Without this script, all claims are shown.
for (const filter of document.querySelectorAll(".filter")) {
  const section = filter.closest("section");
  const claims = [...section.querySelectorAll("[data-verdict]")];
  const [first] = section.querySelectorAll("table");
  filter.hidden = false;
  filter.addEventListener("change", ({ target }) => {
    for (const each of claims) each.hidden = target.value && each.dataset.verdict !== target.value;
    const shown = [...first.querySelectorAll("[data-verdict]")].filter((each) => !each.hidden);
    filter.querySelector("output").textContent = `${shown.length} shown`;
  });
}
