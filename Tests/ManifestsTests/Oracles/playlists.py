"""Reads playlists and references before and after a grant was written into them, for the tests of Manifests.

Reads lines of JSON from standard input, and answers each with one line:
  {"do": "compare", "mode": MODE, "before": PLAYLIST, "after": PLAYLIST}    by m3u8, line by line and as a whole
  {"do": "resolve", "mode": MODE, "before": REFERENCE, "after": REFERENCE}  by urllib
  ->  {"faults": [TEXT], "protected": NUMBER}
MODE is segment or query. The playlist is at URL; its own host alone is protected, and by https only. The grant is NEW.
"""
import json
import re
import sys
from collections import namedtuple
from urllib.parse import unquote, urljoin

import m3u8

URL = "https://cdn.example/live/tnt/index.m3u8"
QUERIES = {"compare": "?region=eu&cat=OLD", "resolve": "?q=1"}
Target = namedtuple("Target", "scheme host path query fragment")
# RFC 3986, appendix B.
PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.S)


def target(reference, query):
    """The absolute URL that a reference means (RFC 3986 section 5.2.2); None for schemes other than the web's."""
    # Browsers drop blanks around a reference, and encode those within its path and query.
    reference = reference.strip(" \t").replace(" ", "%20")
    scheme, host, path, own_query, fragment = PARTS.fullmatch(reference).groups()
    if scheme and scheme.lower() not in ("http", "https"):
        return None
    base = PARTS.fullmatch(URL + query).groups()
    if host is None:
        host = base[1]
        if not path:
            path, own_query = base[2], base[3] if own_query is None else own_query
        elif not path.startswith("/"):
            path = base[2][: base[2].rindex("/") + 1] + path
    resolved = Target((scheme or base[0]).lower(), authority(host, scheme or base[0]), remove_dots(path), own_query, fragment)
    compare_with_urljoin(reference, query, resolved)
    return resolved


def compare_with_urljoin(reference, query, resolved):
    """Python's own resolver joins empty segments and parameters otherwise, and knows no encoded dots."""
    if re.search(r"(?i)//|;|%2e|[?#]$|[?#]#|\.\.?([?#]|$)", reference) or not PARTS.fullmatch(reference).group(3):
        return
    joined = urljoin(URL + query, reference)
    assert text(resolved) == joined, (reference, text(resolved), joined)


def text(url):
    parts = [f"{url.scheme}://{url.host}{url.path}"]
    parts += ["?" + url.query] if url.query is not None else []
    return "".join(parts + (["#" + url.fragment] if url.fragment is not None else []))


def remove_dots(path):
    kept = []
    parts = path.split("/")[1:]
    for number, part in enumerate(parts):
        dots = re.sub("(?i)%2e", ".", part)
        if dots == "..":
            del kept[-1:]
        elif dots != ".":
            kept.append(part)
        if dots in (".", "..") and number == len(parts) - 1:
            kept.append("")
    return "/" + "/".join(kept)


def authority(host, scheme):
    name, _, port = host.lower().partition(":")
    name = name[:-1] if name.endswith(".") else name
    return name if port in ("", {"http": "80", "https": "443"}[scheme.lower()]) else f"{name}:{port}"


def without_grant(url, mode):
    """A URL without its grants, and the grants."""
    if mode == "segment":
        parts = url.path.split("/")
        grants = [part[len("~cat="):] for part in parts if part.startswith("~cat=")]
        path = "/".join(part for part in parts if not part.startswith("~cat="))
        return url._replace(path=path or "/"), grants
    parameters = [] if url.query is None else url.query.split("&")
    named = [part for part in parameters if unquote(part.split("=")[0]) == "cat"]
    # Without the grant, no query and an empty one are the same.
    query = "&".join(part for part in parameters if part not in named) or None
    return url._replace(query=query), [part[len("cat="):] for part in named]


def check(before, after, mode, query, faults):
    """Compares a reference before and after. Returns true if it is protected."""
    left, right = target(before, query), target(after, query)
    is_protected = left is not None and left.scheme == "https" and left.host == "cdn.example"
    if not is_protected:
        if before != after:
            faults.append(f"{before} is not protected, and became {after}")
        return False
    (left, _), (right, grants) = without_grant(left, mode), without_grant(right, mode)
    if grants != ["NEW"]:
        faults.append(f"{after} carries {grants}")
    if mode == "segment" and not target(after, query).path.startswith("/~cat=NEW/"):
        faults.append(f"{after} does not begin with the grant")
    if text(left) != text(right):
        faults.append(f"{before} is {text(left)}, and {after} is {text(right)}")
    return True


def reader_of_variables(playlist):
    """A function that replaces the variables of a reference, as a player does: QUERYPARAM="region" is `eu`."""
    values = {"region": "eu"}
    for line in re.findall("(?m)^#EXT-X-DEFINE:.*", playlist):
        found = dict(re.findall(r'(NAME|VALUE)="([^"]*)"', line))
        if len(found) == 2:
            values[found["NAME"]] = found["VALUE"]
    return lambda reference: re.sub(r"\{\$([\w-]+)\}", lambda match: values.get(match[1], match[0]), reference)


REFERENCE = re.compile(r'((?:^|[,:])[ \t]*(?:URI|SERVER-URI|X-ASSET-URI|X-ASSET-LIST)=")([^"]*)"')


def is_tag(line):
    return line.startswith("#")


def compare(before, after, mode, query):
    """Compares line by line, and as m3u8 reads both."""
    faults, found = compare_lines(before, after, mode, query)
    return faults + compare_as_read(before, after, mode, query), found


def compare_lines(before, after, mode, query):
    faults, found = [], 0
    before, after = before.removeprefix("\ufeff"), after.removeprefix("\ufeff")
    expanded = reader_of_variables(before)
    lines = list(zip(re.split("\r?\n", before), re.split("\r?\n", after), strict=True))
    for left, right in lines:
        if not is_tag(left):
            found += check(expanded(left), expanded(right), mode, query, faults) if left.strip() else left != right
        elif left.startswith("#EXTINF") or not REFERENCE.search(left):
            faults += [f"{left} became {right}"] * (left != right)
        else:
            if REFERENCE.sub(r'\1"', left) != REFERENCE.sub(r'\1"', right):
                faults.append(f"{left} became {right}")
            for old, new in zip(REFERENCE.findall(left), REFERENCE.findall(right), strict=True):
                found += check(expanded(old[1]), expanded(new[1]), mode, query, faults)
    return faults, found


def compare_as_read(before, after, mode, query):
    faults, expanded = [], reader_of_variables(before)
    left, right = (list(references(m3u8.loads(text.replace("\r", "")))) for text in (before, after))
    if len(left) != len(right) or not left:
        faults.append(f"m3u8 finds {len(left)} references before and {len(right)} after")
    for (kind, old), (other, new) in zip(left, right):
        if kind != other:
            faults.append(f"m3u8 finds a {kind} before and a {other} after")
        check(expanded(old), expanded(new), mode, query, faults)
    return faults


def references(playlist):
    """All references that m3u8 finds, with their kinds."""
    yield from (("variant", item.uri) for item in playlist.playlists)
    yield from (("frames", item.uri) for item in playlist.iframe_playlists)
    yield from (("images", item.uri) for item in playlist.image_playlists)
    yield from (("rendition", item.uri) for item in playlist.media if item.uri)
    yield from (("segment", item.uri) for item in playlist.segments if item.uri)
    yield from (("part", part.uri) for item in playlist.segments for part in item.parts)
    yield from (("key", item.uri) for item in [*playlist.keys, *playlist.session_keys] if item and item.uri)
    yield from (("map", item.uri) for item in playlist.segment_map if item)
    yield from (("data", item.uri) for item in playlist.session_data if item.uri)
    yield from (("report", item.uri) for item in playlist.rendition_reports)
    if playlist.preload_hint:
        yield "hint", playlist.preload_hint.uri
    if playlist.content_steering:
        yield "steering", playlist.content_steering.uri


def main():
    for line in sys.stdin:
        request = json.loads(line)
        query, faults, found = QUERIES[request["do"]], [], 0
        if request["do"] == "compare":
            faults, found = compare(request["before"], request["after"], request["mode"], query)
        else:
            found = int(check(request["before"], request["after"], request["mode"], query, faults))
        print(json.dumps({"faults": faults, "protected": found}))


if __name__ == "__main__":
    main()
