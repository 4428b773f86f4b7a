#!/usr/bin/env python3
"""A second implementation of the comparison of URIs, from RFC 3986, for the tests.

Reads rows as JSON, one in a line: {"target", "scheme", "authority", "component", "match", "operand"}. Prints for each "refused",
"true" or "false".
"""
import hashlib, json, re, string, sys

UNRESERVED = set((string.ascii_letters + string.digits + "-._~").encode())
PATH = UNRESERVED | set(b"!$&'()*+,=:@/")
QUERY = PATH | set(b"?;")


def decoded(text):
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), text)


def encoded(text, allowed):
    """Section 6.2.2: what is unreserved is decoded, what is encoded has capitals, what is not allowed is encoded."""
    out = b""
    for part in re.findall(rb"%[0-9A-Fa-f]{2}|.", text, re.DOTALL):
        byte = int(part[1:], 16) if len(part) == 3 else part[0]
        stays = UNRESERVED if len(part) == 3 else allowed
        out += bytes([byte]) if byte in stays else b"%%%02X" % byte
    return out


def without_dots(path):
    """Section 5.2.4, with its input and output buffers; nothing above the root."""
    source, target = path, b""
    while source:
        if source.startswith(b"/./") or source == b"/.":
            source = b"/" + source[3:]
        elif source.startswith(b"/../") or source == b"/..":
            if not target:
                return None
            source, target = b"/" + source[4:], target[: target.rindex(b"/")]
        else:
            end = source.find(b"/", 1)
            end = len(source) if end < 0 else end
            source, target = source[end:], target + source[:end]
    return target


def normal_path(path):
    if not path.startswith(b"/") or re.search(rb"%(?![0-9A-Fa-f]{2})|\\|%5[Cc]|;|%3[Bb]|#", path):
        return None
    for segment in path.split(b"/"):
        parts = re.split(b"%2[Ff]", segment)
        if len(parts) > 1 and any(decoded(part) in (b"", b".", b"..") for part in parts):
            return None
    plain = decoded(path)
    if re.search(rb"[\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}", plain):
        return None
    try:
        plain.decode()
    except UnicodeDecodeError:
        return None
    # As in the catalogue, empty segments are none.
    return without_dots(re.sub(rb"/+", b"/", encoded(path, PATH)))


def normal_query(query):
    if re.search(rb"%(?![0-9A-Fa-f]{2})|[\x00-\x1f\x7f#]", query):
        return None
    return encoded(query, QUERY)


def values(row):
    """The values of the component that may match; None for a URI that is refused."""
    path, _, query = row["target"].encode().partition(b"?")
    path, query = normal_path(path), normal_query(query)
    if path is None:
        return None
    host, colon, port = row["authority"].lower().partition(":")
    default = {"http": "80", "https": "443"}[row["scheme"]]
    port = port or default
    folder, name = path[: path.rindex(b"/")], path[path.rindex(b"/") + 1 :]
    stem, dot, extension = name.rpartition(b".")
    if not dot:
        stem, extension = name, b""
    operand = row["operand"].encode()
    text = row["match"] >= 0
    return [
        [row["scheme"].encode()], [host.removesuffix(".").encode()], [port.encode()] + ([b""] if port == default else []),
        [path], [query], [folder + (b"/" if text and operand.endswith(b"/") else b"")], [name], [stem],
        [(b"." if text and dot and operand.startswith(b".") else b"") + extension],
    ][row["component"]]


def holds(value, match, operand):
    if value is None:
        return False
    if match == -1:
        return hashlib.sha256(value).hexdigest() == operand
    return [value == operand.encode(), value.startswith(operand.encode()), value.endswith(operand.encode()),
            operand.encode() in value][match]


for line in sys.stdin:
    row = json.loads(line)
    found = values(row)
    if found is None:
        print("refused")
    else:
        print("true" if any(holds(value, row["match"], row["operand"]) for value in found) else "false")
