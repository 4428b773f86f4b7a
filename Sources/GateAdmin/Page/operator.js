// The live parts of the operator page: the page is complete without this script, and shows the moment it was loaded.
"use strict";

const table = document.querySelector("#decisions tbody");
const state = document.querySelector("#state");
const pause = document.querySelector("#pause");
const filter = document.querySelector("form.filter");
const most = 100;
let newest = Number(table.dataset.newest);
let paused = false;

function row(decision) {
  const line = document.createElement("tr");
  const cells = [
    ["time", decision.time], ["", decision.code], ["", decision.target], ["wide", decision.mvpd],
    ["wide", decision.source], ["number", decision.latency], ["wide", decision.trace],
  ];
  for (const [kind, text] of cells) {
    const cell = line.insertCell();
    cell.className = kind;
    cell.textContent = text ?? "";
  }
  line.cells[1].className = decision.decision;
  return line;
}

function show(answer) {
  newest = answer.newest;
  table.prepend(...answer.decisions.map(row));
  while (table.rows.length > most) table.deleteRow(-1);
  for (const [name, points] of Object.entries(answer.plots)) document.getElementById(name).setAttribute("points", points);
  for (const [name, text] of Object.entries(answer.texts)) {
    const output = document.getElementById(name);
    if (output.textContent !== text) output.textContent = text;
  }
}

// An answer to another request than the last one would show decisions twice, or those that are filtered out.
let lastRequest = 0;

async function update() {
  const number = ++lastRequest;
  const query = new URLSearchParams(new FormData(filter));
  query.set("after", newest);
  try {
    const response = await fetch("/ui/state?" + query, { headers: { "X-Playgate-Request": "page" } });
    if (response.status === 401) location.assign("/ui/sign-in");
    if (!response.ok) throw new Error(response.status);
    const answer = await response.json();
    if (number !== lastRequest) return;
    if (!paused) show(answer);
    state.textContent = paused ? "paused" : "live";
  } catch (error) {
    state.textContent = "the gate does not answer";
  }
}

async function go() {
  if (!paused && !document.hidden) await update();
  setTimeout(go, 1000);
}

pause.hidden = false;
pause.addEventListener("click", () => {
  paused = !paused;
  pause.textContent = paused ? "Go on" : "Pause";
  pause.setAttribute("aria-pressed", paused);
  state.textContent = paused ? "paused" : "live";
});
filter.querySelector("button").hidden = true;
filter.addEventListener("submit", (event) => event.preventDefault());
filter.addEventListener("input", () => {
  newest = 0;
  table.replaceChildren();
  update();
});
state.textContent = "live";
go();
