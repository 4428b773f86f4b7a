"""Makes and reads signed URIs' tokens with joserfc and jwcrypto, for the tests of EdgeTokens and of signed policies.

Reads lines of JSON from standard input, and answers each with one line:
  {"do": "verify", "with": LIBRARY, "token": TEXT, "key": JWK, "alg": TEXT}  ->  {"claims": OBJECT or null, "header": OBJECT}
  {"do": "sign", "with": LIBRARY, "claims": OBJECT, "key": JWK, "alg": TEXT, "kid": TEXT, "typ": TEXT}  ->  {"token": TEXT}
  {"do": "decrypt", "with": LIBRARY, "token": TEXT, "key": JWK}  ->  {"text": TEXT or null}
  {"do": "encrypt", "with": LIBRARY, "text": TEXT, "key": JWK, "alg": TEXT, "enc": TEXT}  ->  {"token": TEXT}
LIBRARY is joserfc or jwcrypto; "typ" may be left out.
"""
import json
import sys

import joserfc.jwe
import joserfc.jwk
import joserfc.jws
import jwcrypto.jwe
import jwcrypto.jwk
import jwcrypto.jws

ALGORITHMS = ["HS256", "HS384", "HS512", "ES256", "ES384", "ES512", "PS256", "RS256", "EdDSA"]
ENCRYPTIONS = ["dir", "A128KW", "A256KW", "A128GCM", "A256GCM"]


def joserfc_key(key):
    return joserfc.jwk.import_key(key)


def verify(request):
    try:
        if request["with"] == "joserfc":
            found = joserfc.jws.deserialize_compact(request["token"], joserfc_key(request["key"]), algorithms=[request["alg"]])
            return {"claims": json.loads(found.payload), "header": found.headers()}
        found = jwcrypto.jws.JWS()
        found.allowed_algs = [request["alg"]]
        found.deserialize(request["token"], jwcrypto.jwk.JWK(**request["key"]))
        return {"claims": json.loads(found.payload), "header": found.jose_header}
    except Exception as error:
        return {"claims": None, "header": {}, "error": repr(error)}


def sign(request):
    header = {name: request[name] for name in ("alg", "kid", "typ") if name in request}
    payload = json.dumps(request["claims"])
    if request["with"] == "joserfc":
        return {"token": joserfc.jws.serialize_compact(header, payload, joserfc_key(request["key"]), algorithms=ALGORITHMS)}
    made = jwcrypto.jws.JWS(payload)
    made.allowed_algs = ALGORITHMS
    made.add_signature(jwcrypto.jwk.JWK(**request["key"]), None, json.dumps(header), None)
    return {"token": made.serialize(compact=True)}


def decrypt(request):
    try:
        if request["with"] == "joserfc":
            found = joserfc.jwe.decrypt_compact(request["token"], joserfc_key(request["key"]), algorithms=ENCRYPTIONS)
            return {"text": found.plaintext.decode()}
        found = jwcrypto.jwe.JWE()
        found.deserialize(request["token"], jwcrypto.jwk.JWK(**request["key"]))
        return {"text": found.payload.decode()}
    except Exception as error:
        return {"text": None, "error": repr(error)}


def encrypt(request):
    header = {"alg": request["alg"], "enc": request["enc"]}
    if request["with"] == "joserfc":
        return {"token": joserfc.jwe.encrypt_compact(header, request["text"], joserfc_key(request["key"]), algorithms=ENCRYPTIONS)}
    made = jwcrypto.jwe.JWE(request["text"].encode(), json.dumps(header))
    made.add_recipient(jwcrypto.jwk.JWK(**request["key"]))
    return {"token": made.serialize(compact=True)}


ACTIONS = {"verify": verify, "sign": sign, "decrypt": decrypt, "encrypt": encrypt}
for line in sys.stdin:
    if line.strip():
        request = json.loads(line)
        print(json.dumps(ACTIONS[request["do"]](request)), flush=True)
