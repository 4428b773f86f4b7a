-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Playgate authors.
-- Asks a gate by HAProxy's own HTTP client, for the comparison of bench/edge; docs/how-to/edges/haproxy.md has a faster way.
-- Sets txn.playgate_allowed if a request may be served, and variables from the answer's headers.

-- The headers of the client that the gate gets, beside target, method, scheme, host and address: those that tokens may be in,
-- and those that a grant may be bound to.
local handed_on = {
  "cookie", "authorization", "x-media-token", "cta-common-access-token", "range", "user-agent", "traceparent",
}

-- HAProxy asks four times before it gives up, so this is a quarter of what a player waits at most. In milliseconds.
local timeout = 75

core.register_action("playgate", { "http-req" }, function(txn, gate)
  local sent = txn.http:req_get_headers()
  local headers = {
    ["x-forwarded-uri"] = { txn.f:pathq() },
    ["x-forwarded-method"] = { txn.f:method() },
    ["x-forwarded-proto"] = { txn.sf:ssl_fc() == "1" and "https" or "http" },
  }
  local address = txn.sf:src()
  if address ~= "" then headers["x-forwarded-for"] = { address } end
  if sent["host"] then headers["x-forwarded-host"] = { sent["host"][0] } end
  for _, name in ipairs(handed_on) do
    if sent[name] then
      headers[name] = {}
      for index = 0, #sent[name] do table.insert(headers[name], sent[name][index]) end
    end
  end

  local answer = core.httpclient():get {
    url = "http://gate/v1/check/forward", dst = gate, headers = headers, timeout = timeout,
  }
  if not answer or not answer.headers then return end
  for name, values in pairs(answer.headers) do
    local short = name:match("^x%-playgate%-([%a-]+)$")
    if short then txn:set_var("txn.playgate_" .. short:gsub("-", "_"), values[0]) end
  end
  if answer.status == 200 and answer.headers["x-playgate-decision"] then
    txn:set_var("txn.playgate_allowed", true)
  end
end, 1)
