"""Plays low-latency HLS (draft-ietf-hls-rfc8216bis) by one URL, for the tests of the manifest listener. It keeps no cookies.

usage: low_latency.py URL FILE

Follows the first variant with blocking reloads, fetches each part, by its hint if there was one, and writes the initialization
section and all parts to FILE. Prints JSON: {"maps", "parts", "hints", "reports", "reloads"}, the numbers of what it fetched.
"""
import json
import re
import sys
import urllib.request
from collections import Counter
from urllib.parse import urljoin, urlsplit

URL, FILE = sys.argv[1:]
# Without proxies of the environment, and without a handler for cookies.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
counts = Counter(maps=0, parts=0, hints=0, reports=0, reloads=0)


def get(url, kind=None):
    """The URL of an answer, behind redirects, and its body."""
    counts[kind] += 1
    with opener.open(url, timeout=20) as answer:
        assert answer.status == 200 and "Set-Cookie" not in answer.headers, (url, answer.status)
        return answer.url, answer.read()


def directed(url, place):
    """The URL of a media playlist that has the part at a place, §6.2.5.1."""
    join = "&" if urlsplit(url).query else "?"
    return f"{url}{join}_HLS_msn={place[0]}&_HLS_part={place[1]}"


def lines(url, kind=None):
    """The lines of a playlist: name, value, attributes; a reference has no name. References are resolved, RFC 3986 §5."""
    base, body = get(url, kind)
    text = body.decode().splitlines()
    assert text[0] == "#EXTM3U", url
    for line in filter(None, text):
        name, _, value = line.partition(":") if line.startswith("#") else ("", "", urljoin(base, line))
        pairs = dict(re.findall(r'([A-Z0-9-]+)=("[^"]*"|[^",]*)', value)) if name else {}
        if "URI" in pairs:
            pairs["URI"] = urljoin(base, pairs["URI"].strip('"'))
        yield name, value, pairs


class Playlist:
    """A media playlist. A place is the media sequence number of a segment and the number of a part of it."""

    def __init__(self, url):
        self.map = self.hint = None
        self.parts, self.reports, self.ended = {}, [], False
        sequence = part = 0
        for name, value, pairs in lines(url, "reloads"):
            if name == "#EXT-X-MEDIA-SEQUENCE":
                sequence = int(value)
            elif name == "#EXT-X-MAP":
                self.map = pairs["URI"]
            elif name == "#EXT-X-PART":
                self.parts[sequence, part] = pairs["URI"]
                part += 1
            elif name == "#EXT-X-PRELOAD-HINT":
                self.hint = pairs["URI"]
            elif name == "#EXT-X-RENDITION-REPORT":
                self.reports.append(directed(pairs["URI"], (pairs["LAST-MSN"], pairs["LAST-PART"])))
            elif name == "#EXT-X-ENDLIST":
                self.ended = True
            elif name == "":
                sequence, part = sequence + 1, 0
        self.next = sequence, part


def play():
    """The bytes of the initialization section and of all parts."""
    variant = next(value for name, value, _ in lines(URL) if name == "")
    bodies, playlist = {}, Playlist(variant)
    start = get(playlist.map, "maps")[1]
    while True:
        for place, url in playlist.parts.items():
            if place not in bodies:
                bodies[place] = get(url, "parts")[1]
        if playlist.hint:
            bodies[playlist.next] = get(playlist.hint, "hints")[1]
        for report in playlist.reports:
            list(lines(report, "reports"))
        if playlist.ended:
            return start + b"".join(bodies[place] for place in sorted(bodies))
        playlist = Playlist(directed(variant, playlist.next))


with open(FILE, "wb") as file:
    file.write(play())
del counts[None]
print(json.dumps(counts))
