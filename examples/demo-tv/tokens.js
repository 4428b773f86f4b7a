// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The tokens of a playback for demo.js: a timeline, countdowns, and attacks. The page knows the media token's life from the
// service. The grant is in a cookie that no script can read: header fields of the edge's answers tell what the gate did.

"use strict";

// Media token and grant

/** The lives that the page counts down, in milliseconds of `performance.now()`: by the elements that show them. */
const lives = new Map();
let clock;
let began;

/** Shows that the service has issued a media token, and begins the timeline. */
function showIssued(seconds) {
  hideTokens();
  began = performance.now();
  element("side").hidden = false;
  element("grant-left").textContent = "none yet";
  record("issued", `Media token for ${seconds}\u00a0s, by the service`);
  live("token", "Media token", seconds);
  clock = setInterval(tick, 200);
}

/** Shows what the edge tells of the gate's decision about a part of the stream. */
function witness(url, response) {
  if (!playback?.token) return;
  playback.url = url;
  const name = url.pathname.split("/").pop();
  const code = response.headers.get("X-Playgate-Code");
  const life = Number(response.headers.get("X-Grant-Life"));
  if (code === "verified") record("consumed", `Media token, by the gate, for ${name}`);
  if (!response.ok) record("refused", `${name}: ${code || response.status}`);
  if (!life) return;
  if (code === "renewed") record("renewed", `Grant for ${life}\u00a0s more, with ${name}`);
  else record("granted", `Grant for ${life}\u00a0s, in a cookie`);
  live("grant", "Grant", life);
}

/** Begins to count down a life, or begins again. */
function live(id, name, seconds) {
  lives.set(id, { name, seconds, end: performance.now() + seconds * 1000 });
  tick();
}

function tick() {
  for (const [id, { name, seconds, end }] of lives) {
    const left = Math.max(0, (end - performance.now()) / 1000);
    element(`${id}-left`).textContent = left ? `${Math.ceil(left)} s` : "expired";
    element(`${id}-life`).value = left / seconds;
    if (left) continue;
    lives.delete(id);
    record("expired", name);
  }
}

function record(event, text) {
  const list = element("timeline");
  const row = make("li");
  row.dataset.event = event;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  row.append(make("span", { className: "when" }, `${seconds} s`), make("b", {}, event), make("span", {}, text));
  // A viewer who has scrolled up stays there.
  const isAtEnd = list.scrollTop + list.clientHeight > list.scrollHeight - 8;
  list.append(row);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

/** Forgets the tokens of a playback that has ended. */
function hideTokens() {
  clearInterval(clock);
  lives.clear();
  element("side").hidden = true;
  for (const id of ["timeline", "reuse-outcome", "copy-outcome"]) element(id).replaceChildren();
  for (const id of ["token", "grant"]) {
    element(`${id}-left`).textContent = "";
    element(`${id}-life`).value = 0;
  }
}

// Attacks, which end no playback

/** Requests a URL as another viewer's player does, without the cookies of this browser. Returns a row about the answer. */
async function answerToAnother(url, token) {
  const row = make("li");
  row.append(make("span", { className: "what" }, url.pathname), " ");
  let response;
  try {
    const headers = token ? { "X-Media-Token": token } : {};
    response = await fetch(url, { cache: "no-store", credentials: "omit", headers, signal: AbortSignal.timeout(20000) });
  } catch {
    row.append("did not get an answer.");
    return row;
  }
  row.dataset.outcome = response.ok ? "allowed" : "refused";
  if (response.ok) row.append("was delivered, which must not be.");
  const { code, message } = meaning(response);
  if (!response.ok) row.append("is refused: ", make("code", {}, `${response.status} ${code}`), ` ${message}`);
  return row;
}

async function attack(button, outcome, requests) {
  button.disabled = true;
  const current = playback;
  const rows = await Promise.all(requests.map(([url, token]) => answerToAnother(url, token)));
  button.disabled = false;
  // The button loses the focus while it is disabled.
  if (document.activeElement === document.body) button.focus();
  if (playback === current) outcome.replaceChildren(...rows);
}

/** Tries to start a second playback with the media token of this one. */
function reuseToken() {
  const master = new URL(playback.item.path, location.origin);
  return attack(element("reuse"), element("reuse-outcome"), [[master, playback.token]]);
}

/** Copies the URL of the stream, and tries it and the last segment as another viewer would. */
function copyURL() {
  const master = new URL(playback.item.path, location.origin);
  // A browser may forbid it: the attack goes on.
  navigator.clipboard?.writeText(master.href).then(() => say("The URL is on your clipboard."), () => undefined);
  return attack(element("copy"), element("copy-outcome"), [[master], [playback.url || master]]);
}
