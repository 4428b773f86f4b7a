"""Makes MPDs, and judges rewritten ones: mpegdash reads them, and URLs are resolved here, from ISO/IEC 23009-1 and RFC 3986.

Reads lines of JSON from standard input, and answers each with one line or more:
  {"do": "make", "count": N, "seed": N}  ->  N lines {"mpd": TEXT}
  {"do": "judge", "before": TEXT, "after": TEXT, "url": URL, "mode": "segment" | "query", "grant": TEXT, "hosts": [TEXT]}
      ->  {"fault": TEXT or null, "protected": N, "other": N}, the numbers of requests that a player would make
"""
import itertools
import json
import random
import re
import sys
import xml.etree.ElementTree as tree
from urllib.parse import urljoin, urlsplit, urlunsplit

from mpegdash.parser import MPEGDASHParser

DASH = "{urn:mpeg:dash:schema:mpd:2011}"
HREF = "{http://www.w3.org/1999/xlink}href"


# The requests of a player.

def bases(node, above):
    """The alternatives of a level."""
    own = [(base.base_url_value or "").strip() for base in node.base_urls or []]
    return [urljoin(base, text) if text else base for base in above for text in own] if own else above


def filled(template, representation):
    def value(match):
        name = match[1]
        return "$" if not name else representation.id if name == "RepresentationID" else "1"
    return re.sub(r"\$(RepresentationID|(?:Number|Time|Bandwidth|SubNumber)(?:%0[0-9]+d)?|)\$", value, template)


def nearest(levels, kind, pick):
    """The value that the lowest level with one says."""
    for level in reversed(levels):
        for item in getattr(level, kind, None) or []:
            found = pick(item)
            if found is not None:
                return found
    return None


def media(levels, representation):
    """The references of a Representation, with None for its base itself."""
    template = lambda name: nearest(levels, "segment_templates", lambda item: getattr(item, name))
    found = [filled(text, representation) for text in map(template, ("media", "initialization", "index", "bitstream_switching"))
             if text is not None]
    urls = nearest(levels, "segment_lists", lambda item: item.segment_urls)
    for url in urls or []:
        found += [url.media] + ([url.index] if url.index is not None else [])
    for kind in ("segment_bases", "segment_lists", "segment_templates"):
        for name in ("initializations", "representation_indexes", "bitstream_switchings"):
            items = nearest(levels, kind, lambda item: getattr(item, name, None))
            found += [item.source_url for item in items or []]
    if template("media") is None and urls is None:
        found.append(None)
    return found


def requests(text, url, has_base):
    """Everything that players would ask for, in the order of the document, as (kind, absolute URL).

    `has_base` is true if a BaseURL of the MPD can be the URL of a segment, and not only one that was written for others.
    """
    mpd = MPEGDASHParser.parse(text)
    found = []
    top = bases(mpd, [url])
    for period in mpd.periods or []:
        for adaptation in period.adaptation_sets or []:
            for representation in adaptation.representations or []:
                levels = [period, adaptation, representation]
                low = top
                for level in levels:
                    low = bases(level, low)
                is_file = has_base or any(level.base_urls for level in levels)
                for base in low:
                    for reference in media(levels, representation):
                        if reference is None and not is_file:
                            continue
                        found.append(("media", urljoin(base, reference.strip()) if reference else base))
    root = tree.fromstring(text)
    for element in root.iter():
        name = element.tag.removeprefix(DASH)
        if HREF in element.attrib:
            found.append(("link", urljoin(url, element.attrib[HREF].strip())))
        if name in ("Location", "PatchLocation", "ContentSteering") and (element.text or "").strip():
            found.append((name, urljoin(url, element.text.strip())))
        if name == "UTCTiming" and ":http-" in element.get("schemeIdUri", ""):
            found += [(name, urljoin(url, item)) for item in element.get("value", "").split()]
    return found


# The judgement.

def is_protected(url, hosts):
    return urlsplit(url).scheme == "https" and urlsplit(url).netloc.lower().removesuffix(":443") in hosts


def granted(url, mode, grant):
    parts = urlsplit(url)
    path, query = parts.path or "/", parts.query
    if mode == "segment":
        kept = [segment for segment in path.split("/")[1:] if not segment.startswith("~cat=")]
        path = "/~cat=" + grant + "/" + "/".join(kept)
    else:
        kept = [item for item in query.split("&") if item and not item.startswith("cat=")]
        query = "&".join(kept + ["cat=" + grant])
    return urlunsplit(parts._replace(path=path, query=query))


def same(left, right):
    """URLs are compared without the order of the parameters."""
    a, b = urlsplit(left), urlsplit(right)
    return (a.scheme, a.netloc, a.path, sorted(a.query.split("&"))) == (b.scheme, b.netloc, b.path, sorted(b.query.split("&")))


REFERENCES = {"media", "initialization", "index", "bitstreamSwitching", "sourceURL", "value", "queryTemplate", HREF}
TEXTS = {"BaseURL", "Location", "PatchLocation", "ContentSteering"}


def skeleton(root, has_base):
    """The elements with everything but references; a BaseURL that was written for the MPD is left out."""
    def walk(element, level):
        name = element.tag.removeprefix(DASH)
        children = [child for child in element if has_base or level or child.tag != DASH + "BaseURL"]
        attributes = sorted((key, "" if key in REFERENCES else value) for key, value in element.attrib.items())
        text = "" if name in TEXTS else element.text
        return name, attributes, text, [walk(child, level + 1) for child in children]
    return walk(root, 0)


def judge(question):
    before, after = question["before"], question["after"]
    old, new = tree.fromstring(before), tree.fromstring(after)
    has_base = old.find(DASH + "BaseURL") is not None
    fault, counts = None, [0, 0]
    if skeleton(old, has_base) != skeleton(new, has_base):
        fault = "other than references has changed"
    pairs = itertools.zip_longest(*[requests(text, question["url"], has_base) for text in (before, after)])
    for was, now in pairs:
        if was is None or now is None or was[0] != now[0]:
            fault = f"other requests: {was} {now}"
            break
        protected = is_protected(was[1], question["hosts"])
        counts[0 if protected else 1] += 1
        wanted = granted(was[1], question["mode"], question["grant"]) if protected else was[1]
        if not same(now[1], wanted):
            fault = f"{was[0]}: {was[1]} became {now[1]}, and not {wanted}"
            break
        if not protected and question["grant"] in now[1]:
            fault = f"the grant leaks to {now[1]}"
    return {"fault": fault, "protected": counts[0], "other": counts[1]}


# Random MPDs.

class Maker:
    def __init__(self, seed):
        self.dice = random.Random(seed)

    def escaped(self, text, quote=""):
        out = ""
        for character in text:
            odd = self.dice.random() < 0.01
            if character in "&<" or character == quote or odd and character != "\n":
                named = {"&": "&amp;", "<": "&lt;", '"': "&quot;", "'": "&apos;"}.get(character, "&#%d;" % ord(character))
                out += named if self.dice.random() < 0.7 else "&#x%x;" % ord(character)
            else:
                out += character
        return out

    def space(self):
        return self.dice.choice(["", "", "\n  ", " ", "\r\n\t", "<!-- <BaseURL>x</BaseURL> -->", "<?a b?>"])

    def attribute(self, name, value):
        quote = self.dice.choice("\"'")
        gap = self.dice.choice([" ", " ", "\n    "])
        return gap + name + self.dice.choice(["=", "=", " = "]) + quote + self.escaped(value, quote) + quote

    def url(self, name, attributes, text):
        """An element whose text is a URL."""
        gaps = ["", "", "\n  ", " ", "\r\n\t"]
        return (self.space() + "<" + name + attributes + ">" + self.dice.choice(gaps) + self.escaped(text)
                + self.dice.choice(gaps) + "</" + name + ">")

    def element(self, name, attributes="", content=None):
        if content is None:
            return self.space() + "<" + name + attributes + self.dice.choice(["/>", " />", "></" + name + ">"])
        return self.space() + "<" + name + attributes + ">" + content + self.space() + "</" + name + ">"

    def reference(self, file, folder=False):
        end = "/" if folder else file
        return self.dice.choice([
            end if not folder else "a/", "b/" + end.lstrip("/"), "../" + ("c/" if folder else file),
            "../../../../d/" + end.lstrip("/"), "/e/" + end.lstrip("/"), "https://cdn.example/f/" + end.lstrip("/"),
            "https://two.example/g/" + end.lstrip("/"), "https://ads.example/h/" + end.lstrip("/"), "./" + end.lstrip("/"),
            "//two.example/i/" + end.lstrip("/"), "http://cdn.example/j/" + end.lstrip("/"),
        ] + ([end + "?x=1&y=2", end + "?cat=" + 22 * "OLD", "/~cat=OLD/k/" + end] if not folder else ["https://cdn.example/~cat=OLD/l/"]))

    def base_urls(self, chance, folder):
        out = ""
        while self.dice.random() < chance:
            out += self.url("BaseURL", self.dice.choice(["", self.attribute("serviceLocation", "a'b\"c")]),
                            self.reference("v.mp4", folder))
            chance /= 3
        return out

    def template(self):
        out = self.attribute("media", self.reference(self.dice.choice(
            ["$RepresentationID$/$Number%05d$.m4s", "$Time$-$$-$Bandwidth$.m4s", "s$Number$.m4s"])))
        if self.dice.random() < 0.7:
            out += self.attribute("initialization", self.reference("$RepresentationID$.mp4"))
        if self.dice.random() < 0.2:
            out += self.attribute("index", self.reference("$Number$.sidx"))
        timeline = self.element("SegmentTimeline", "", self.element("S", self.attribute("d", "4")))
        return self.element("SegmentTemplate", out, self.dice.choice([None, timeline]))

    def list(self):
        out = self.element("Initialization", self.dice.choice(
            [self.attribute("sourceURL", self.reference("i.mp4")), self.attribute("range", "0-9")]))
        for number in range(self.dice.randrange(1, 5)):
            out += self.element("SegmentURL", self.dice.choice([
                self.attribute("media", self.reference("s%d.m4s" % number)), self.attribute("mediaRange", "0-9"),
                self.attribute("media", "s%d.m4s" % number) + self.attribute("index", "s.sidx")]))
        return self.element("SegmentList", self.attribute("duration", "4"), out)

    def segments(self, chance):
        if self.dice.random() > chance:
            return ""
        return self.dice.choice([self.template, self.template, self.list, lambda: self.element(
            "SegmentBase", self.attribute("indexRange", "0-9"), self.element("Initialization", self.attribute("range", "0-1")))])()

    def mpd(self):
        folder = self.dice.random() < 0.8
        plain = self.dice.random() < 0.4
        chance = 0.15 if plain else 0.35
        out = self.element("ProgramInformation", "", "<Title>t</Title>") if self.dice.random() < 0.3 else ""
        out += self.base_urls(chance, True)
        for name in ("Location", "PatchLocation", "ContentSteering"):
            if self.dice.random() < 0.15:
                out += self.url(name, "", self.reference("m.mpd"))
        for _ in range(self.dice.randrange(1, 3)):
            period = self.base_urls(chance, True) + self.segments(0.2)
            if self.dice.random() < 0.2:
                period += self.element("EventStream", self.attribute("xlink:href", self.reference("e.xml")))
            for _ in range(self.dice.randrange(1, 3)):
                adaptation = self.base_urls(chance / 2, True) + self.segments(0.4)
                for number in range(self.dice.randrange(1, 4)):
                    name = self.dice.choice(["v%d" % number, "v/%d" % number, "v%d'<&" % number])
                    adaptation += self.element("Representation", self.attribute("id", name) + self.attribute("bandwidth", "9"),
                                               self.base_urls(chance, folder) + self.segments(0.3))
                period += self.element("AdaptationSet", "", adaptation)
            out += self.element("Period", "", period)
        if self.dice.random() < 0.2:
            out += self.element("UTCTiming", self.attribute("schemeIdUri", "urn:mpeg:dash:utc:http-iso:2014")
                                + self.attribute("value", self.reference("t") + " https://time.example/t"))
        start = ' xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:xlink="http://www.w3.org/1999/xlink"'
        head = self.dice.choice(["", '<?xml version="1.0" encoding="UTF-8"?>\n', "<!-- a -->"])
        return head + "<MPD" + start + ">" + out + "</MPD>\n"


def main():
    for line in sys.stdin:
        question = json.loads(line)
        if question["do"] == "make":
            maker = Maker(question["seed"])
            for _ in range(question["count"]):
                print(json.dumps({"mpd": maker.mpd()}))
        else:
            print(json.dumps(judge(question)))


if __name__ == "__main__":
    main()
