"use strict";
// A long table is a script of its own: a page that is opened as a file may run one, but not fetch.

function load(details) {
  const name = details.dataset.table;
  if (!name || details.dataset.asked) return;
  details.dataset.asked = "yes";
  const script = document.createElement("script");
  script.src = `tables/${name}.js`;
  script.onerror = () => {
    details.querySelector(".later").textContent = `tables/${name}.js is missing beside this page.`;
  };
  document.head.append(script);
}

function showTable(name, table) {
  const details = document.querySelector(`details[data-table="${name}"]`);
  details.querySelector(".later").innerHTML = table;
  details.dataset.loaded = "yes";
}

// What opens says so to nothing above it, but can be heard on the way down.
document.addEventListener("toggle", (event) => event.target.open && load(event.target), true);

document.querySelector("#open-all")?.addEventListener("click", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

// What is there is printed; what was never opened is not loaded in time.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")].filter(
    (each) => !each.dataset.table || each.dataset.loaded,
  );
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
