// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Streams for demo.js: HLS with fragmented MP4, appended to a media source. The browser plays the stream itself if it has
// no media source for the type. Refusals of the gate become messages.

"use strict";

// Messages and actions by the gate's codes. The gate answers an edge without a body, with the code in a header field.
const gateCodes = {
  media_token_missing: ["A media token is required to play this.", "authorization"],
  token_conflict: ["The request has two different media tokens.", "authorization"],
  untrusted_signature: ["The signature of the media token is not trusted.", "authorization"],
  signature_length: ["The signature of the media token is not trusted.", "authorization"],
  key_out_of_scope: ["The signing key is not trusted for the media token's requestor.", "authorization"],
  no_usable_key: ["The gate has no trusted key that is currently valid.", "configuration"],
  requestor_mismatch: ["The media token was issued to another requestor.", "authorization"],
  resource_mismatch: ["The media token is for another resource.", "authorization"],
  issued_in_future: ["The media token is not valid yet.", "authorization"],
  expired: ["The media token has expired.", "authorization"],
  mvpd_not_allowed: ["Viewers of this TV provider may not play this now.", "none"],
  rating_not_allowed: ["The rating of this programme is not allowed.", "none"],
  token_revoked: ["The media token was revoked.", "authorization"],
  session_revoked: ["The session was revoked after the media token was issued.", "authorization"],
  mvpd_revoked: ["The tokens of this TV provider were revoked.", "none"],
  token_already_used: ["The media token was used before: it starts one playback only.", "authorization"],
  replay_store_full: ["The replay store has no room for another media token.", "retry"],
  replay_store_unavailable: ["The replay store did not answer, so a replay cannot be excluded.", "retry"],
  gate_overloaded: ["The gate has too many requests in flight.", "retry"],
  grant_missing: ["Only a grant opens this, and none was shown.", "authorization"],
  grant_expired: ["The grant has expired, and was not renewed in time.", "authorization"],
  grant_uri_mismatch: ["The grant is for another stream.", "none"],
  grant_revoked: ["The playback was revoked.", "authorization"],
  playback_shared: ["The playback was ended: several players had its grant. Start it again.", "authorization"],
  session_ended: ["The playback has reached its end.", "authorization"],
  stream_limit_reached: ["The viewer has as many playbacks as are allowed.", "retry"],
  unknown_media: ["The media is not in the catalogue.", "none"],
  invalid_path: ["The path is malformed or ambiguous.", "none"],
  peer_not_trusted: ["The request to the gate comes from an untrusted peer.", "configuration"],
  edge_request_invalid: ["The edge's headers for this request are missing, ambiguous or malformed.", "configuration"],
};

/**
 * Fetches a part of a stream: the first with the media token, the others with the grant's cookie, which the browser adds. A
 * refusal of the gate has its reason in header fields.
 */
async function part(url, signal, token) {
  const response = await fetch(url, { cache: "no-store", signal, headers: token ? { "X-Media-Token": token } : {} });
  signal.throwIfAborted();
  witness(url, response);
  if (response.ok) return response;
  const code = response.headers.get("X-Playgate-Code");
  const [trace, retryAfter] = ["X-Playgate-Trace", "Retry-After"].map((name) => response.headers.get(name));
  throw new Refusal(code ? "gate" : "nobody", { ...meaning(response), trace, retryAfter });
}

/** Returns code, message and action of a refusal. */
function meaning(response) {
  const code = response.headers.get("X-Playgate-Code");
  const [message, action] = gateCodes[code]
    || (code ? ["The gate refused this request.", "authorization"] : ["The stream is not available now.", "retry"]);
  return { message, action, code: code || `http_${response.status}` };
}

async function openStream(video, masterURL, token, signal) {
  // The first variant is the only one.
  const master = (await (await part(masterURL, signal, token)).text()).split(/\r?\n/);
  const place = master.findIndex((line) => line.startsWith("#EXT-X-STREAM-INF:"));
  const url = new URL(master[place + 1], masterURL);
  const type = `video/mp4; codecs="${/CODECS="([^"]*)"/.exec(master[place])?.[1] || ""}"`;
  if (!window.MediaSource?.isTypeSupported(type)) {
    video.src = url;
    return;
  }
  const list = (await (await part(url, signal)).text()).split(/\r?\n/);
  const first = /^#EXT-X-MAP:.*URI="([^"]*)"/m.exec(list.join("\n"))[1];
  const parts = [first, ...list.filter((line) => line && !line.startsWith("#"))].map((name) => new URL(name, url));
  const source = new MediaSource();
  video.src = URL.createObjectURL(source);
  await event(source, "sourceopen", signal);
  URL.revokeObjectURL(video.src);
  const buffer = source.addSourceBuffer(type);
  source.duration = list.reduce((sum, line) => sum + (parseFloat(line.split("#EXTINF:")[1]) || 0), 0);
  for (const url of parts.slice(0, 2)) await append(buffer, url, signal);
  // The other parts are fetched during playback.
  fill(video, source, buffer, parts.slice(2), signal).catch((error) => refuse(error, signal));
}

async function fill(video, source, buffer, parts, signal) {
  for (const url of parts) {
    const ahead = () => video.buffered.length ? video.buffered.end(video.buffered.length - 1) - video.currentTime : 0;
    while (ahead() > 6) await event(video, "timeupdate seeking", signal);
    await append(buffer, url, signal);
  }
  source.endOfStream();
}

async function append(buffer, url, signal) {
  const bytes = await (await part(url, signal)).arrayBuffer();
  signal.throwIfAborted();
  const done = event(buffer, "updateend", signal);
  buffer.appendBuffer(bytes);
  await done;
}

/** Waits for the first of the named events. */
function event(target, names, signal) {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    for (const name of names.split(" ")) target.addEventListener(name, resolve, { once: true, signal });
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
