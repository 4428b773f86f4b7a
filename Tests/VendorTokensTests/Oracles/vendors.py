"""A second implementation of vendors' signed URLs and tokens, from the vendors' own libraries where they are on PyPI (botocore and
awscli for CloudFront, akamai-edgeauth), otherwise from the vendors' descriptions, for the tests of EdgeTokens.

Usage: vendors.py FORMAT. Reads lines of JSON, each a request with the settings of a profile, and answers each with a line of JSON that
has what is delivered: "token", "query", "path", "cookies".
"""
import base64
import contextlib
import datetime
import hashlib
import hmac
import io
import ipaddress
import json
import sys
import urllib.parse
from types import SimpleNamespace


def urlsafe(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def mac(request, text, digest):
    data = text if isinstance(text, bytes) else text.encode()
    return hmac.new(bytes.fromhex(request["key"]), data, digest)


def is_folder(request):
    return request["path"].endswith("/")


def edgeauth(request):
    from akamai.edgeauth import EdgeAuth

    set = request["settings"]
    signer = EdgeAuth(token_name=set["name"], key=request["key"], algorithm=set.get("algorithm", "sha256"), salt=set.get("salt"),
                      ip=request.get("client"), payload=set.get("data"), session_id=request.get("session"),
                      start_time=request["issued"] if set.get("start") == "true" else None, end_time=request["expires"],
                      escape_early=set.get("escape") == "true")
    if is_folder(request) or "acl" in set or set.get("url") == "false":
        acl = [request["path"] + ("*" if is_folder(request) else "")] + (set["acl"].split("!") if "acl" in set else [])
        token = signer.generate_acl_token(acl)
    else:
        token = signer.generate_url_token(request["path"])
    return {"token": token}


class CloudFront:
    def __init__(self):
        self.keys = {}

    def __call__(self, request):
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, padding
        from botocore.signers import CloudFrontSigner

        pem, set = request["pem"], request["settings"]
        if pem not in self.keys:
            self.keys[pem] = serialization.load_pem_private_key(pem.encode(), None)
        key = self.keys[pem]
        digest = hashes.SHA1() if set.get("digest") == "sha1" else hashes.SHA256()
        if "signature" in request:
            # ECDSA has another signature each time: theirs is verified.
            raw = base64.b64decode(request["signature"].replace("-", "+").replace("_", "=").replace("~", "/"))
            key.public_key().verify(raw, request["policy"].encode(), ec.ECDSA(digest))
            return {"token": request["signature"]}
        signer = CloudFrontSigner(set["key-pair-id"], lambda message: key.sign(message, padding.PKCS1v15(), digest))
        resource = f'{request["scheme"]}://{request["host"]}{request["path"]}' + ("*" if is_folder(request) else "")
        if request["query"] and not is_folder(request):
            resource += "?" + request["query"]
        end = datetime.datetime.fromtimestamp(request["expires"], datetime.timezone.utc)
        start = None
        if set.get("start") == "true":
            start = datetime.datetime.fromtimestamp(request["issued"], datetime.timezone.utc)
        if is_folder(request) or request.get("client") or start or set.get("custom") == "true":
            policy = signer.build_policy(resource, end, start, request.get("client"))
            url = signer.generate_presigned_url(resource, policy=policy)
        else:
            url = signer.generate_presigned_url(resource, date_less_than=end)
        query = url[len(resource) + 1 :]
        if set.get("digest") == "sha1":
            self.compare_awscli(request, key, resource, url, start, set)
        else:
            query += "&Hash-Algorithm=SHA256"
        cookies = {"CloudFront-" + name: value for name, value in (pair.split("=") for pair in query.split("&"))}
        return {"query": query, "cookies": cookies}

    def compare_awscli(self, request, key, resource, url, start, set):
        """What awscli prints, which has no custom policy without a condition of its own."""
        from awscli.customizations.cloudfront import SignCommand
        from cryptography.hazmat.primitives import serialization

        if not (request.get("client") or start) and (is_folder(request) or set.get("custom") == "true"):
            return
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
                                serialization.NoEncryption()).decode()
        arguments = SimpleNamespace(url=resource, key_pair_id=set["key-pair-id"], private_key=pem,
                                    date_less_than=str(request["expires"]), ip_address=request.get("client"),
                                    date_greater_than=str(request["issued"]) if start else None)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            SignCommand(None)._run_main(arguments, None)
        assert printed.getvalue() == url, (printed.getvalue(), url)


def media_cdn(request):
    set = request["settings"]
    if is_folder(request) and set.get("folder") == "prefix":
        first = both = "URLPrefix=" + urlsafe(f'{request["scheme"]}://{request["host"]}{request["path"]}'.encode())
    elif is_folder(request) or "globs" in set:
        globs = [request["path"] + ("*" if is_folder(request) else "")] + (set["globs"].split(",") if "globs" in set else [])
        first = both = "PathGlobs=" + ",".join(globs)
    else:
        first, both = "FullPath", "FullPath=" + request["path"]
    shown, signed = [first], [both]

    def add(name, value, own=None):
        shown.append(f"{name}={value}")
        signed.append(f"{name}={own or value}")

    if set.get("start") == "true":
        add("Starts", request["issued"])
    add("Expires", request["expires"])
    if request.get("session"):
        add("SessionID", request["session"])
    if "data" in set:
        add("Data", set["data"])
    if "headers" in set:
        pairs = [header.split("=", 1) for header in set["headers"].split(",")]
        add("Headers", ",".join(name for name, _ in pairs), ",".join(f"{name}={value}" for name, value in pairs))
    if request.get("client"):
        add("IPRanges", urlsafe(request["client"].encode()))
    text = "~".join(signed)
    if set["algorithm"] == "ed25519":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(request["key"]))
        shown.append("Signature=" + urlsafe(key.sign(text.encode())))
    else:
        shown.append("hmac=" + mac(request, text, set["algorithm"]).hexdigest())
    return {"token": "~".join(shown)}


def bunny(request):
    set, parameters = request["settings"], {}
    if set.get("ignore-params") == "true":
        parameters["token_ignore_params"] = "true"
    else:
        parameters.update(urllib.parse.parse_qsl(request["query"], keep_blank_values=True))
        for name, parameter in [("countries", "token_countries"), ("blocked-countries", "token_countries_blocked"), ("limit", "limit")]:
            if name in set:
                parameters[parameter] = set[name]
    path = urllib.parse.unquote(request["path"])
    if is_folder(request):
        parameters["token_path"] = path
    names = sorted(parameters)
    address = b""
    if request.get("client"):
        address = ipaddress.ip_address(request["client"]).packed
        if len(address) == 16:
            address = address[:8] + bytes(8)
    text = (path + str(request["expires"])).encode() + address + "&".join(f"{name}={parameters[name]}" for name in names).encode()
    token = "HS256-" + ("1-" if address else "") + urlsafe(mac(request, text, "sha256").digest())
    tail = "".join(f"&{name}={urllib.parse.quote(parameters[name], safe='')}" for name in names) + f'&expires={request["expires"]}'
    answer = {"token": token, "query": f"token={token}{tail}"}
    if is_folder(request):
        answer["path"] = f'/bcdn_token={token}{tail}{request["path"]}'
    return answer


def cloudflare(request):
    set = request["settings"]
    issued = min(request["issued"], request["expires"] - int(set["life"]))
    message = request["path"] + ("?" + request["query"] if request["query"] and not is_folder(request) else "")
    code = mac(request, message + str(issued), "sha256").digest()
    text = urlsafe(code) if set.get("url-safe") != "false" else urllib.parse.quote(base64.b64encode(code), safe="")
    return {"token": f"{issued}-{text}", "query": f'{set["name"]}={issued}-{text}'}


def fill(request, template, path, secret=b""):
    text = template.encode()
    for name, value in [("expires", str(request["expires"]).encode()), ("path", path), ("scope", path),
                        ("address", (request.get("client") or "").encode()), ("secret", secret)]:
        text = text.replace(b"{" + name.encode() + b"}", value)
    return text


def fastly(request):
    set = request["settings"]
    template = set.get("template", "{path}{expires}")
    code = mac(request, fill(request, template, request["path"].encode()), set.get("algorithm", "sha1")).hexdigest()
    return {"token": f'{request["expires"]}_{code}', "query": f'{set["name"]}={request["expires"]}_{code}'}


def secure_link(request):
    set = request["settings"]
    path = urllib.parse.unquote_to_bytes(request["path"])
    text = fill(request, set["template"], path, bytes.fromhex(request["key"]))
    code = urlsafe(hashlib.md5(text).digest())
    answer = {"token": f'{code},{request["expires"]}'}
    if "prefix" in set:
        answer["path"] = f'/{set["prefix"]}/{answer["token"]}{request["path"]}'
    else:
        answer["query"] = f'md5={code}&expires={request["expires"]}'
    return answer


def access_control(request):
    set = request["settings"]
    pairs = [("sub", request.get("session") or set["subject"]), ("exp", request["expires"])]
    if set.get("start") == "true":
        pairs.append(("nbf", request["issued"] - 1))
    if set.get("issue-time") != "false":
        pairs.append(("iat", request["issued"]))
    pairs += [(name, set[other]) for name, other in [("tid", "tid"), ("ver", "version"), ("scope", "scope")] if other in set]
    digest = set.get("algorithm", "sha256")
    pairs += [("kid", set["kid"]), ("st", "HMAC-SHA-" + digest[3:]), ("md", "")]
    text = "&".join(f"{name}={value}" for name, value in pairs)
    token = urlsafe((text + mac(request, text, digest).hexdigest()).encode())
    return {"token": token, "cookies": {set["cookie"]: token}}


def url_sig(request):
    set = request["settings"]
    digest, number = ("md5", 2) if set.get("algorithm") == "md5" else ("sha1", 1)
    whole = (request["host"] + request["path"]).rstrip("/")
    pairs = ["C=" + request["client"]] if request.get("client") else []
    in_path = "anchor" in set or set.get("place") == "segment"
    parts = "1" if in_path or not is_folder(request) else "1" * len(whole.split("/")) + "0"
    pairs += [f'E={request["expires"]}', f"A={number}", f'K={set["key"]}', f"P={parts}", "S="]
    if in_path:
        text = ";" + ";".join(pairs)
        token = urlsafe((text + mac(request, whole + text, digest).hexdigest()).encode())
        folder = request["path"].rstrip("/")
        return {"token": token, "path": f'{folder};{set["anchor"]}={token}/' if "anchor" in set else f"{folder}/{token}/"}
    own = request["query"] + "&" if request["query"] and not is_folder(request) else ""
    text = "&".join(pairs)
    code = mac(request, f"{whole}?{own}{text}", digest).hexdigest()
    return {"token": text + code, "query": text + code}


FORMATS = {"edgeauth": edgeauth, "cloudfront": CloudFront(), "media-cdn": media_cdn, "bunny": bunny, "cloudflare": cloudflare,
           "fastly": fastly, "secure-link": secure_link, "access-control": access_control, "url-sig": url_sig}

if __name__ == "__main__":
    answer = FORMATS[sys.argv[1]]
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))))
