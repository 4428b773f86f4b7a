"""Signs access tokens with PyJWT and joserfc, as an identity provider does, for the tests of AccessTokens.

Reads lines of JSON from standard input, and answers each with one line:
  {"with": "pyjwt" or "joserfc", "claims": OBJECT, "key": JWK, "alg": TEXT, "header": OBJECT}  ->  {"token": TEXT}
  {"with": "jwcrypto", "proof": {"htm": TEXT, "htu": TEXT, "iat": NUMBER, "jti": TEXT}, "key": JWK, "alg": TEXT, "token": TEXT}
      ->  {"proof": TEXT, "jkt": TEXT}
The last is a proof of possession (RFC 9449), with the thumbprint of its key.
"""
import base64
import hashlib
import json
import sys

import joserfc.jwk
import joserfc.jwt
import jwcrypto.jwk
import jwcrypto.jws
import jwt

ALGORITHMS = ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"]


def token(request):
    header = dict(request["header"], alg=request["alg"])
    if request["with"] == "pyjwt":
        key = jwt.PyJWK.from_dict(dict(request["key"], alg=request["alg"])).key
        return {"token": jwt.encode(request["claims"], key, algorithm=request["alg"], headers=header)}
    key = joserfc.jwk.import_key(request["key"])
    return {"token": joserfc.jwt.encode(header, request["claims"], key, algorithms=ALGORITHMS)}


def proof(request):
    key = jwcrypto.jwk.JWK(**request["key"])
    digest = hashlib.sha256(request["token"].encode()).digest()
    claims = dict(request["proof"], ath=base64.urlsafe_b64encode(digest).rstrip(b"=").decode())
    header = {"typ": "dpop+jwt", "alg": request["alg"], "jwk": key.export_public(as_dict=True)}
    made = jwcrypto.jws.JWS(json.dumps(claims))
    made.add_signature(key, None, json.dumps(header), None)
    return {"proof": made.serialize(compact=True), "jkt": key.thumbprint()}


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(proof(request) if "proof" in request else token(request)))
