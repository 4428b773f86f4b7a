// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A programmer's application in a browser. It gets the viewer's profile and decisions from the service (service.js), sends
// the media token to the gate in front of the streams (stream.js), and shows what becomes of the tokens (tokens.js).

"use strict";

const element = (id) => document.getElementById(id);

// Advice for the viewer by the action of a refusal: every documented action. An unknown action is shown as it is.
const advice = {
  none: "Nothing: a retry has the same result.",
  configuration: "An operator must correct the configuration of the service.",
  "application-registration": "Reload this page to register it again.",
  authentication: "Log in again.",
  authorization: "Choose the programme again to request a new media token.",
  degradation: "The operator has degraded this TV provider for now: try again later.",
  retry: "Try again in a moment.",
  "retry-after": "Try again after the time that the service states.",
};

// Headings by the origin of a refusal.
const headings = {
  service: "Refused by the service",
  gate: "Refused by the gate",
  nobody: "No response",
  page: "An error in this page",
};

// Login and logout

let demo;
let mvpd;

async function begin() {
  element("title").textContent = document.title = demo.title;
  say("Checking your login…");
  const [{ profiles }, { requestor }] = await Promise.all([call("profiles"), call("configuration")]);
  const providers = requestor.mvpds;
  // Temporary access has no login, so it is active if the viewer chose it, even without a profile.
  const chosen = session.get("mvpd");
  const isKnown = chosen && (profiles[chosen.id] || chosen.isDirect);
  mvpd = isKnown ? chosen.id : Object.keys(profiles).find((id) => profiles[id].type !== "temporary");
  const isBack = session.get("leaving");
  session.forget("leaving");
  element("account").hidden = !mvpd;
  element("chooser").hidden = Boolean(mvpd);
  element("shelf").hidden = false;
  element("shelf-title").textContent = mvpd ? "Programmes" : "Programmes without a login";
  if (!mvpd) {
    element("providers").replaceChildren(...providers.map(providerRow));
    element("items").replaceChildren(...demo.items.filter((item) => !item.protected).map((item) => itemCard(item).row));
    const login = "You are not logged in: the login was not completed.";
    return say({ login, logout: "You are logged out." }[isBack] || "You are not logged in.");
  }
  element("provider").textContent = providers.find((one) => one.id === mvpd)?.displayName || mvpd;
  await showItems();
}

function providerRow(provider) {
  const button = make("button", { type: "button" });
  button.dataset.mvpd = provider.id;
  if (provider.logoUrl) {
    // The name is enough if the logo cannot be loaded.
    const logo = make("img", { src: provider.logoUrl, alt: "", width: 40, height: 40, referrerPolicy: "no-referrer" });
    logo.addEventListener("error", () => logo.remove());
    button.append(logo);
  }
  const words = make("span", {}, provider.displayName);
  if (provider.isTempPass) words.append(make("small", {}, "Temporary access, without a login"));
  button.append(words);
  button.addEventListener("click", () => attempt(button, () => logIn(provider)));
  const row = make("li");
  row.append(button);
  return row;
}

async function logIn(provider) {
  say(`Going to ${provider.displayName}…`);
  const here = location.origin + location.pathname;
  const form = { mvpd: provider.id, domainName: location.hostname, redirectUrl: here };
  const answer = await call("sessions", { method: "POST", form });
  const isDirect = answer.actionName === "authorize";
  session.set("mvpd", { id: provider.id, isDirect });
  if (isDirect) return beginAgain();
  if (answer.actionName !== "authenticate" || !answer.url) {
    const missing = (answer.missingParameters || []).join(", ");
    throw new Refusal("service", { code: answer.actionName, message: `The login cannot start; missing: ${missing}.` });
  }
  session.set("leaving", "login");
  location.assign(new URL(answer.url, location.origin));
}

async function logOut() {
  say("Logging out…");
  const here = encodeURIComponent(location.origin + location.pathname);
  const { logouts } = await call(`logout/${encodeURIComponent(mvpd)}?redirectUrl=${here}`);
  const next = logouts[mvpd];
  session.forget("mvpd");
  if (next?.url && next.actionType !== "none") {
    session.set("leaving", "logout");
    return location.assign(new URL(next.url, location.origin));
  }
  await beginAgain();
  say("You are logged out.");
}

/** Begins again on the same page and sets the focus, because the focused element is gone. */
async function beginAgain() {
  await begin();
  document.querySelector(mvpd ? ".card" : "#providers button")?.focus();
}

// The grid

async function showItems() {
  const cards = demo.items.map((item) => itemCard(item));
  element("items").replaceChildren(...cards.map((card) => card.row));
  say("Checking your subscription…");
  const locked = demo.items.filter((item) => item.protected).map((item) => item.resource);
  const decisions = await preauthorize([...new Set(locked)]);
  for (const card of cards.filter((card) => card.item.protected)) {
    const decision = decisions.find((one) => one.resource === card.item.resource);
    const reason = decision?.error?.details || decision?.error?.message || "not included.";
    if (decision) card.show(decision.authorized ? "open" : "locked", decision.authorized ? "Included" : `Locked: ${reason}`);
  }
  const count = decisions.filter((one) => one.authorized).length;
  say(`You may play ${count} of ${decisions.length} protected programmes.`);
}

/** Gets advisory decisions for the lock icons, never for playback. The service accepts five resources a request. */
async function preauthorize(resources) {
  const calls = [];
  for (let start = 0; start < resources.length; start += 5) {
    const json = { resources: resources.slice(start, start + 5) };
    calls.push(call(`decisions/preauthorize/${encodeURIComponent(mvpd)}`, { method: "POST", json }));
  }
  return (await Promise.all(calls)).flatMap((answer) => answer.decisions);
}

function itemCard(item) {
  const button = make("button", { type: "button", className: "card" });
  const art = make("span", { className: "art" });
  const words = make("span", { className: "words" });
  const state = make("span", { className: "state" });
  const about = make("span", { className: "about" }, item.description);
  words.append(make("span", { className: "name" }, item.title), about, state);
  button.append(art, words);
  button.dataset.media = item.media;
  button.addEventListener("click", () => open(item));
  const row = make("li");
  row.append(button);
  const show = (name, text) => {
    button.dataset.state = name;
    state.textContent = text;
    art.replaceChildren(symbol(name === "free" ? "open" : name));
  };
  if (item.protected) show("unknown", "Checking…");
  else show("free", "Plays without a token");
  return { item, row, show };
}

// Playback

/** The current playback: its item, its media token, the URL of its last part, and the controller that aborts it. */
let playback;

function open(item) {
  element("stage-title").textContent = item.title;
  element("stage").showModal();
  return start(item);
}

async function start(item) {
  element("video").focus();
  playback = { item, end: new AbortController() };
  const current = playback;
  const { signal } = current.end;
  await attempt(null, async () => {
    if (item.protected) await authorize(current);
    signal.throwIfAborted();
    await play(current);
  }, signal);
}

/** Gets a media token, for a new playback: a grant of an earlier one would be taken before the token. */
async function authorize(current) {
  const { item, end: { signal } } = current;
  say("Requesting a media token…");
  // Without an answer there is none of the service either, which is then told.
  await fetch(new URL("end", new URL(item.path, location.origin)), { method: "POST", signal }).catch(() => undefined);
  const json = { resources: [item.resource] };
  const answer = await call(`decisions/authorize/${encodeURIComponent(mvpd)}`, { method: "POST", json });
  const decision = answer.decisions[0];
  if (!decision?.authorized || !decision.token) throw new Refusal("service", decision?.error || {});
  signal.throwIfAborted();
  current.token = decision.token.serializedToken;
  showIssued((decision.token.notAfter - decision.token.notBefore) / 1000);
}

/** Starts the stream, which goes on past the end of the media token, with the grant that the gate gives for it. */
async function play({ item, token, end }) {
  element("again").hidden = !item.protected;
  say(token ? "Sending the media token to the gate…" : "Opening the stream…");
  await openStream(element("video"), new URL(item.path, location.origin), token, end.signal);
  end.signal.throwIfAborted();
  // If the browser blocks autoplay, the viewer starts the video.
  await element("video").play().catch(() => undefined);
  say("Playing.");
}

function stop() {
  playback.end.abort();
  const video = element("video");
  video.pause();
  video.removeAttribute("src");
  video.load();
  element("refusal").hidden = true;
  element("screen").hidden = false;
}

/** Plays the same item from its start, as a new playback with a new media token. */
function playAgain() {
  const { item } = playback;
  stop();
  hideTokens();
  return start(item);
}

function closed() {
  stop();
  playback = undefined;
  hideTokens();
  element("again").hidden = true;
  element("stage-status").textContent = "";
}

// Display

function make(name, properties = {}, text = "") {
  const made = Object.assign(document.createElement(name), properties);
  made.textContent = text;
  return made;
}

function symbol(name) {
  const [svg, use] = ["svg", "use"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  use.setAttribute("href", `#${name}`);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

/** Shows a status message, on the stage if it is open, because the stage covers the page. */
function say(text) { element(element("stage").open ? "stage-status" : "status").textContent = text; }

/** Runs an action of the viewer and shows its error. */
async function attempt(button, body, signal) {
  element("fault").hidden = true;
  if (button) button.disabled = true;
  try {
    await body();
  } catch (error) {
    refuse(error, signal);
  } finally {
    if (button) button.disabled = false;
  }
}

/** Returns the seconds that a `Retry-After` field states: a number, or a date (RFC 9110 §10.2.3). */
function secondsUntil(field) {
  return /^\d+$/.test(field) ? Number(field) : Math.max(0, Math.ceil((Date.parse(field) - Date.now()) / 1000));
}

function refuse(error, signal) {
  // The viewer has closed the stage or started another playback.
  if (signal?.aborted) return;
  if (!(error instanceof Refusal)) console.error(error);
  const isStaged = element("stage").open;
  const panel = element(isStaged ? "refusal" : "fault");
  if (isStaged) {
    stop();
    element("screen").hidden = true;
  }
  say(isStaged ? "Not playing." : "");
  const unknown = { message: "An unexpected error occurred in this page.", code: error.name, action: "retry" };
  const { by = "page", facts = unknown } = error;
  const rows = make("dl");
  const row = (name, ...values) => {
    const value = make("dd");
    value.append(...values);
    rows.append(make("dt", {}, name), value);
  };
  if (facts.action) row("What to do", advice[facts.action] || facts.action);
  if (facts.code) row("Code", make("code", { className: "code" }, facts.code));
  if (facts.action) row("Action", make("code", { className: "action" }, facts.action));
  const seconds = facts.retryAfter && secondsUntil(facts.retryAfter);
  if (Number.isFinite(seconds)) row("Retry after", make("span", { className: "retry-after" }, `${seconds} s`));
  if (facts.trace) row("Trace", make("code", { className: "trace" }, facts.trace));
  const message = make("p", { className: "message" }, facts.message || error.message);
  panel.replaceChildren(make("h3", {}, headings[by]), message);
  if (facts.details && facts.details !== facts.message) panel.append(make("p", { className: "details" }, facts.details));
  panel.append(rows);
  if (facts.action === "authentication") {
    const again = make("button", { type: "button" }, "Log in again");
    again.addEventListener("click", () => {
      session.forget("mvpd");
      element("stage").close();
      attempt(null, beginAgain);
    });
    panel.append(again);
  }
  panel.hidden = false;
  panel.focus();
}

element("logout").addEventListener("click", () => attempt(element("logout"), logOut));
element("again").addEventListener("click", playAgain);
element("reuse").addEventListener("click", reuseToken);
element("copy").addEventListener("click", copyURL);
element("close").addEventListener("click", () => element("stage").close());
element("stage").addEventListener("close", closed);
attempt(null, async () => {
  demo = await send("/sandbox/demo.json", { method: "GET" });
  await begin();
});
