// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Requests to the service for demo.js: registration, access token, and calls of REST API v2. Refusals become messages.

"use strict";

/** State that survives the visit to the provider's login page. It is lost when the tab closes. */
const session = {
  get: (name) => JSON.parse(sessionStorage.getItem(`playgate.${name}`)),
  set: (name, value) => sessionStorage.setItem(`playgate.${name}`, JSON.stringify(value)),
  forget: (...names) => names.forEach((name) => sessionStorage.removeItem(`playgate.${name}`)),
};

/**
 * A refusal, or an answer that cannot be read. `facts` has the members of the service's enhanced errors, and `retryAfter`:
 * the header field of the answer.
 */
class Refusal extends Error {
  constructor(by, facts) {
    super(facts.message || "No reason was given.");
    this.by = by;
    this.facts = facts;
  }
}

/** Sends a request and returns the JSON answer. Throws a refusal for any other answer or an error status. */
async function send(path, { method = "POST", form, json, headers = {} }) {
  let response;
  let text;
  try {
    response = await fetch(path, {
      method,
      headers: { Accept: "application/json", ...(json && { "Content-Type": "application/json" }), ...headers },
      body: json ? JSON.stringify(json) : form && new URLSearchParams(form),
      cache: "no-store",
      signal: AbortSignal.timeout(20000),
    });
    text = await response.text();
  } catch {
    throw new Refusal("nobody", { code: "network_error", action: "retry", message: "The service did not respond." });
  }
  const retryAfter = response.headers.get("Retry-After");
  const answer = parsed(text);
  if (!answer && response.status === 429) {
    const message = "The service has too many requests from this device.";
    throw new Refusal("service", { code: "http_429", action: "retry-after", message, retryAfter });
  }
  if (!answer) {
    const message = `The response of the service cannot be parsed (status ${response.status}).`;
    throw new Refusal("nobody", { code: "unreadable_answer", action: "retry", message, retryAfter });
  }
  if (response.ok) return answer;
  // A registration error has only `error`, as in OAuth.
  const isOAuth = typeof answer.error === "string";
  const words = isOAuth ? { code: answer.error, message: "The service refused the registration of this page." } : {};
  throw new Refusal("service", { ...words, ...answer, httpStatus: response.status, retryAfter });
}

/** Returns the object of a JSON text, or null. */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

/** Returns the stored access token, or a new one for the stored registration or a new registration. */
async function accessToken() {
  const kept = session.get("access");
  if (kept && kept.until > Date.now()) return kept.token;
  const client = session.get("client") || await register();
  const form = { grant_type: "client_credentials", client_id: client.id, client_secret: client.secret };
  const answer = await send("/o/client/token", { form });
  session.set("access", { token: answer.access_token, until: Date.now() + ((answer.expires_in || 600) - 30) * 1000 });
  return answer.access_token;
}

async function register() {
  const answer = await send("/o/client/register", { json: { software_statement: demo.softwareStatement } });
  const client = { id: answer.client_id, secret: answer.client_secret };
  session.set("client", client);
  return client;
}

/** Calls REST API v2 as this device. Registers again, once, if the service no longer knows the registration. */
async function call(path, options = {}, isSecond = false) {
  try {
    const headers = {
      Authorization: `Bearer ${await accessToken()}`,
      "AP-Device-Identifier": `fingerprint ${deviceIdentifier()}`,
      // Promotional temporary access requires an identity of the viewer. This one is the browser's random name.
      "AP-TempPass-Identity": btoa(JSON.stringify({ device: deviceIdentifier() })),
      "X-Device-Info": btoa(JSON.stringify({ primaryHardwareType: "Desktop", model: "Browser", osName: "Web" })),
    };
    return await send(`/api/v2/${encodeURIComponent(demo.requestor)}/${path}`, { method: "GET", ...options, headers });
  } catch (error) {
    const isStale = error.facts?.httpStatus === 401 || error.facts?.code === "invalid_client";
    if (!isStale || isSecond) throw error;
    session.forget("client", "access");
    return call(path, options, true);
  }
}

/** Returns the random name of this browser in Base64. The service binds the login to it. */
function deviceIdentifier() {
  let name = localStorage.getItem("playgate.device");
  if (!name) {
    name = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))));
    localStorage.setItem("playgate.device", name);
  }
  return name;
}
