"use strict";
// All tables of a page can be opened at once, and a print has them all.
const closed = () => [...document.querySelectorAll("details:not([open])")];
const open = (tables) => tables.forEach((each) => (each.open = true));

document.querySelector("#open-all").addEventListener("click", () => open(closed()));

let opened = [];
addEventListener("beforeprint", () => open((opened = closed())));
addEventListener("afterprint", () => opened.forEach((each) => (each.open = false)));
