"""Makes the claims of licence tokens from a description, independently, and compares them with a token, field by field.

Reads lines of JSON from standard input:
  {"form": TEXT, "token": TEXT, "key": {"hex": TEXT} or {"pem": TEXT}, "alg": TEXT, "kid": TEXT or null,
   "asset": TEXT, "keys": [UUID], "life": SECONDS, "now": SECONDS, "persistent": BOOL, "duration": SECONDS or null,
   "outputs": [TEXT] or null, "merchant": TEXT, "list": BOOL, "claims": OBJECT}
Answers each with one line: {"differences": [TEXT]}. PyJWT and joserfc check the signature.
"""
import datetime
import json
import sys
import uuid

import joserfc.jwk
import joserfc.jws
import jwt
from cryptography.hazmat.primitives.serialization import load_pem_private_key


def iso(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


def castlabs(r, claims):
    rights = {"assetId": r["asset"], "storeLicense": r["persistent"]}
    if r["duration"]:
        text = f"PT{r['duration']}S"
        rights["profile"] = {"type": "rental", "relativeExpiration": text, "playDuration": text}
    else:
        rights["profile"] = {"type": "purchase"}
    if r["outputs"] is not None:
        rights["outputProtection"] = {
            "digital": "digital" in r["outputs"], "analogue": "analogue" in r["outputs"], "enforce": bool(r["outputs"]),
        }
    # Texts with JSON, not objects.
    for name in "optData", "crt":
        if not isinstance(claims[name], str):
            yield f"{name} is no text"
    yield {
        "jti": claims["jti"], "iat": r["now"], "exp": r["now"] + r["life"],
        "optData": {"merchant": r["merchant"]}, "crt": [rights] if r["list"] else rights,
    }, dict(claims, optData=json.loads(claims["optData"]), crt=json.loads(claims["crt"]))


def axinom(r, claims):
    licence = {"allow_persistence": r["persistent"]}
    if r["duration"]:
        licence["duration"] = r["duration"]
    own = dict(claims)
    for name, time in ("begin_date", r["now"]), ("expiration_date", r["now"] + r["life"]):
        if datetime.datetime.fromisoformat(own.pop(name)) != iso(time):
            yield f"{name} is another time"
    yield {
        "version": 1, "id": claims["id"], "com_key_id": r["kid"],
        "message": {
            "type": "entitlement_message", "version": 2, "license": licence,
            "content_keys_source": {"inline": [{"id": key} for key in r["keys"]]},
        },
    }, own


def nagra(r, claims):
    yield {
        "typ": "ContentAuthZ", "ver": "1.0", "jti": claims["jti"], "exp": r["now"] + r["life"], "contentRights": r["claims"],
    }, claims


def drm_cloud(r, claims):
    made = {"exp": r["now"] + r["life"], "kid": r["keys"]}
    if r["duration"]:
        made["duration"] = r["duration"]
    yield made, claims


def mux(r, claims):
    yield {"kid": r["kid"], "aud": "d", "sub": r["asset"], "exp": r["now"] + r["life"]}, claims


def jws(r, claims):
    yield r["claims"], claims


FORMS = {"castlabs": castlabs, "axinom": axinom, "nagra": nagra, "drm-cloud": drm_cloud, "mux": mux, "jws": jws}


def compare(r):
    differences = []
    if "hex" in r["key"]:
        key = bytes.fromhex(r["key"]["hex"])
        other = joserfc.jwk.OctKey.import_key(key)
    else:
        pem = r["key"]["pem"]
        key = load_pem_private_key(pem.encode(), None).public_key()
        other = joserfc.jwk.import_key(pem, "RSA" if r["alg"].startswith("RS") else "EC")
    options = {"verify_aud": False, "verify_exp": False, "verify_iat": False}
    claims = jwt.decode(r["token"], key, algorithms=[r["alg"]], options=options)
    joserfc.jws.deserialize_compact(r["token"], other, algorithms=[r["alg"]])
    header = jwt.get_unverified_header(r["token"])
    wanted = {"alg": r["alg"], "typ": "JWT"}
    if r["form"] not in ("axinom", "drm-cloud") and r["kid"]:
        wanted["kid"] = r["kid"]
    if header != wanted:
        differences.append(f"header {header}, wanted {wanted}")
    for name in "jti", "id":
        if name in claims and r["form"] != "jws" and str(uuid.UUID(claims[name])) != claims[name]:
            differences.append(f"{name} is no UUID")
    for found in FORMS[r["form"]](r, claims):
        if isinstance(found, str):
            differences.append(found)
        elif found[0] != found[1]:
            differences.append(f"claims {found[1]}, wanted {found[0]}")
    return {"differences": differences}


for line in sys.stdin:
    print(json.dumps(compare(json.loads(line))), flush=True)
