"""Makes, reads and judges Common Access Tokens with cwt, pycose, cbor2 and Python's library, for the tests of EdgeTokens.

Reads lines of JSON from standard input, and answers each with one line or more:
  {"do": "read", "token": HEX, "key": KEY}  ->  {"payload": HEX, "pycose": BOOL, "canonical": BOOL, "labels": [INT]}
  {"do": "make", "count": N, "now": SECONDS, "seed": N, "key": KEY}  ->  N lines {"token": HEX, "target", "host", "method", "client",
      "allowed": BOOL, "claims": TEXT}
A key is {"k": HEX, "kid": TEXT} or {"pem": TEXT, "alg": NAME, "kid": TEXT}.
"""
import functools
import ipaddress
import json
import math
import os
import random
import sys

import cbor2
from cwt import COSE
from pycose.messages import CoseMessage, Mac0Message

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../KeysTests/Oracles"))
from cose import cwt_key, pycose_key

PATHS = ["/live/tnt/a.m3u8", "/live/tnt/seg1.m4s", "/live/a", "/vod/1/b.ts", "/"]
HOSTS = ["cdn.example", "edge.cdn.example", "other.example"]
ADDRESSES = ["203.0.113.9", "203.0.112.9", "10.1.2.3", "2001:db8::1", "2001:db9::1", "::ffff:10.1.2.3"]
NETWORKS = ["203.0.113.0/24", "203.0.112.0/23", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "203.0.113.9/32", "2001:db8::1/128"]
METHODS = ["GET", "HEAD", "POST", "get"]


@functools.lru_cache
def keys(text):
    """The key for cwt and for pycose."""
    key = json.loads(text)
    return cwt_key(key), pycose_key(key)


def keys_of(request):
    return keys(json.dumps(request["key"], sort_keys=True))


def read(request):
    token = cbor2.loads(bytes.fromhex(request["token"]))
    assert token.tag == 61
    inner = cbor2.dumps(token.value)
    cwt, pycose = keys_of(request)
    payload = COSE.new().decode(inner, keys=[cwt])
    message = CoseMessage.decode(inner)
    message.key = pycose
    is_valid = message.verify_tag() if isinstance(message, Mac0Message) else message.verify_signature()
    claims = cbor2.loads(payload)
    return {"payload": payload.hex(), "pycose": is_valid and message.payload == payload,
            "canonical": cbor2.dumps(claims, canonical=True) == payload, "labels": list(claims)}


def network(text, dice):
    """RFC 9164: an address, or a prefix without its trailing zero bytes."""
    given = ipaddress.ip_network(text)
    tag = 52 if given.version == 4 else 54
    if given.prefixlen == given.max_prefixlen and dice.random() < 0.5:
        return cbor2.CBORTag(tag, given.network_address.packed)
    return cbor2.CBORTag(tag, [given.prefixlen, given.network_address.packed.rstrip(b"\0")])


def component(path, host, number):
    name = path[path.rindex("/") + 1 :]
    stem, dot, extension = name.rpartition(".")
    return {0: "https", 1: host, 3: path, 5: path[: path.rindex("/")], 6: name, 7: stem if dot else name,
            8: extension if dot else ""}[number]


def rule(dice, target, host):
    """A component with a match, and whether it holds."""
    number = dice.choice([0, 1, 3, 3, 5, 6, 7, 8])
    other = component(dice.choice(PATHS), dice.choice(HOSTS), number)
    value, match = component(target, host, number), dice.choice([0, 1, 2, 3])
    text = other if dice.random() < 0.4 else value
    if match:
        start = dice.randrange(len(text) + 1)
        text = {1: text[:start], 2: text[start:], 3: text[start : start + 3]}[match]
    if match and not text or text.endswith("/") and number == 5 or text.startswith(".") and number == 8:
        text, match = value, 0
    return number, match, text, [value == text, value.startswith(text), value.endswith(text), text in value][match]


def make(request):
    dice, now, key = random.Random(request["seed"]), request["now"], keys_of(request)[0]
    own = COSE.new(alg_auto_inclusion=True, kid_auto_inclusion=True)
    for _ in range(request["count"]):
        target, host, method, client = dice.choice(PATHS), dice.choice(HOSTS), dice.choice(METHODS), dice.choice(ADDRESSES)
        expires = now + dice.choice([1, 1, 300, 0, -1, 0.5, 0.001, 2.0])
        claims, allowed = [(1, "playgate"), (4, expires)], math.floor(expires * 1000) > now * 1000
        if dice.random() < 0.3:
            starts = now + dice.choice([0, -1, 1, -0.5, 0.5])
            claims.append((5, starts))
            allowed = allowed and math.ceil(starts * 1000) <= now * 1000
        if dice.random() < 0.5:
            methods = dice.sample(METHODS, dice.randint(1, 3))
            claims.append((313, methods))
            allowed = allowed and method in methods
        if dice.random() < 0.7:
            rules = {}
            for _ in range(dice.randint(1, 2)):
                number, match, text, holds = rule(dice, target, host)
                if number not in rules:
                    rules[number] = {match: text}
                    allowed = allowed and holds
            claims.append((312, rules))
        if dice.random() < 0.4:
            networks = dice.sample(NETWORKS, dice.randint(1, 3))
            claims.append((311, [network(text, dice) for text in networks]))
            address = ipaddress.ip_address(client)
            address = getattr(address, "ipv4_mapped", None) or address
            allowed = allowed and any(address in ipaddress.ip_network(text) for text in networks)
        if dice.random() < 0.2:
            claims.append((dice.choice([9999, -70000, "vendor"]), dice.choice([1, "x", [1, {"a": None}], b"y", 1.5])))
        dice.shuffle(claims)
        token = own.encode(cbor2.dumps(dict(claims)), key)
        print(json.dumps({"token": token.hex(), "target": target, "host": host, "method": method, "client": client,
                          "allowed": allowed, "claims": repr(claims)}))


for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "make":
        make(request)
    else:
        print(json.dumps(read(request)))
