"use strict";
// All tables of a page can be opened at once, and a print has them all.
const closed = () => [...document.querySelectorAll("details:not([open])")];
const open = (tables) => tables.forEach((each) => (each.open = true));

document.querySelector("#open-all")?.addEventListener("click", () => open(closed()));

let opened = [];
addEventListener("beforeprint", () => open((opened = closed())));
addEventListener("afterprint", () => opened.forEach((each) => (each.open = false)));

// A list of claims shows those with the chosen verdict. Without this script it shows all.
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
