"""Makes and checks COSE envelopes with cwt and pycose, for the tests of Keys.

Reads lines of JSON from standard input, and answers each with one:
  {"do": "check", "token": HEX, "key": {…}}  ->  {"cwt": HEX or null, "pycose": HEX or null, "canonical": BOOL}
  {"do": "make", "payload": HEX, "key": {…}, "tag": 17 or 18}  ->  {"cwt": HEX, "pycose": HEX}, the envelopes of each
A key is {"kty": "oct", "k": HEX, "kid": TEXT} or {"pem": TEXT, "alg": NAME, "kid": TEXT}.
"""
import json
import sys

import cbor2
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cwt import COSE, COSEKey
from pycose.algorithms import HMAC256, Es256, Es384, Es512, EdDSA, Ps256
from pycose.headers import KID, Algorithm
from pycose.keys import CoseKey, EC2Key, OKPKey, RSAKey, SymmetricKey
from pycose.keys.curves import P256, P384, P521, Ed25519
from pycose.messages import CoseMessage, Mac0Message, Sign1Message

ALGORITHMS = {"HS256": HMAC256, "ES256": Es256, "ES384": Es384, "ES512": Es512, "PS256": Ps256, "EdDSA": EdDSA}


def number(value, size=None):
    return value.to_bytes(size or (value.bit_length() + 7) // 8, "big")


def pycose_key(key):
    if "k" in key:
        return SymmetricKey(k=bytes.fromhex(key["k"]))
    text = key["pem"].encode()
    private = None
    if b"PRIVATE" in text:
        private = serialization.load_pem_private_key(text, None)
        public = private.public_key()
    else:
        public = serialization.load_pem_public_key(text)
    if isinstance(public, ec.EllipticCurvePublicKey):
        curve = {256: P256, 384: P384, 521: P521}[public.curve.key_size]
        size = (public.curve.key_size + 7) // 8
        numbers = public.public_numbers()
        d = number(private.private_numbers().private_value, size) if private else b""
        return EC2Key(crv=curve, x=number(numbers.x, size), y=number(numbers.y, size), d=d)
    if isinstance(public, ed25519.Ed25519PublicKey):
        d = private.private_bytes_raw() if private else b""
        return OKPKey(crv=Ed25519, x=public.public_bytes_raw(), d=d)
    numbers = public.public_numbers()
    if not private:
        return RSAKey(n=number(numbers.n), e=number(numbers.e))
    secret = private.private_numbers()
    return RSAKey(n=number(numbers.n), e=number(numbers.e), d=number(secret.d), p=number(secret.p), q=number(secret.q),
                  dp=number(secret.dmp1), dq=number(secret.dmq1), qinv=number(secret.iqmp))


def cwt_key(key):
    if "k" in key:
        return COSEKey.from_symmetric_key(bytes.fromhex(key["k"]), alg="HS256", kid=key["kid"])
    return COSEKey.from_pem(key["pem"], alg=key["alg"], kid=key["kid"])


def check(request):
    token = bytes.fromhex(request["token"])
    answer = {"cwt": None, "pycose": None}
    # Without the tag of CWT, behind which cwt judges claims by the real clock.
    inner = cbor2.loads(token)
    inner = cbor2.dumps(inner.value) if inner.tag == 61 else token
    try:
        answer["cwt"] = COSE.new().decode(inner, keys=[cwt_key(request["key"])]).hex()
    except Exception as error:
        answer["cwt_error"] = repr(error)
    try:
        message = CoseMessage.decode(inner)
        message.key = pycose_key(request["key"])
        is_valid = message.verify_tag() if isinstance(message, Mac0Message) else message.verify_signature()
        answer["pycose"] = message.payload.hex() if is_valid else None
    except Exception as error:
        answer["pycose_error"] = repr(error)
    answer["canonical"] = cbor2.dumps(cbor2.loads(token), canonical=True) == token
    return answer


def make(request):
    kind = Mac0Message if request["tag"] == 17 else Sign1Message
    name = "HS256" if request["tag"] == 17 else request["key"]["alg"]
    message = kind(phdr={Algorithm: ALGORITHMS[name], KID: request["key"]["kid"].encode()},
                   payload=bytes.fromhex(request["payload"]))
    message.key = pycose_key(request["key"])
    own = COSE.new(alg_auto_inclusion=True, kid_auto_inclusion=True)
    return {"pycose": message.encode().hex(),
            "cwt": own.encode(bytes.fromhex(request["payload"]), cwt_key(request["key"])).hex()}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(make(request) if request["do"] == "make" else check(request)), flush=True)
