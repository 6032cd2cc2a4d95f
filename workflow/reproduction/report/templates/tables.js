"use strict";
// A long table is a script of its own: a page that is opened as a file may run one, but not fetch.

function load(details) {
  const name = details.dataset.table;
  if (!name || details.dataset.asked) return;
  details.dataset.asked = "yes";
  const script = document.createElement("script");
  script.src = `tables/${name}.js`;
  script.onerror = () => {
    delete details.dataset.asked; // opened again, it is asked for again
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
let printing = false;
const opens = (event) => !printing && event.target.open && load(event.target);
document.addEventListener("toggle", opens, true);

document.querySelector("#open-all")?.addEventListener("click", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

// What is there is printed. What was never opened is not loaded in time: the names of its files are
// printed in its place.
let opened = [];
addEventListener("beforeprint", () => {
  printing = true;
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
  printing = false;
});
