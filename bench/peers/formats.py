# SPDX-License-Identifier: Apache-2.0
# Copyright the Playgate authors.
"""The part of Python's libraries in bench/formats: PyJWT, joserfc, python-cwt, botocore, akamai-edgeauth.

Usage: formats.py FOLDER, with the protocol of Playgate's program of the same name. "formats.py --versions" prints versions instead.
"""
import base64, datetime, importlib.metadata, sys, time

PACKAGES = ["PyJWT", "joserfc", "cwt", "botocore", "akamai-edgeauth", "cryptography"]
HOUR = 3600
ALGORITHMS = {"hs256": "HS256", "es256": "ES256"}
PATH, HOST = "/live/tnt/a.m3u8", "cdn.example"


def read(folder, name):
    return open(f"{folder}/{name}", "rb").read()


def claims():
    now = int(time.time())
    return {"iss": "playgate", "aud": "edge-1", "exp": now + 24 * HOUR, "nbf": now, "iat": now, "cdniv": 1,
            "cdniuc": "regex:^https://cdn\\.example/live/tnt/.*$", "cdniets": 300, "cdnistt": 1, "cdnistd": 2}


def pyjwt(folder, works):
    import jwt
    from cryptography.hazmat.primitives import serialization

    private = serialization.load_pem_private_key(read(folder, "ec.pem"), None)
    for name, algorithm in ALGORITHMS.items():
        secret = read(folder, "secret")
        check, sign = (secret, secret) if name == "hs256" else (private.public_key(), private)
        token, body = read(folder, f"uri-{name}").decode(), claims()
        works[f"uri-{name} PyJWT"] = lambda token=token, check=check, algorithm=algorithm: jwt.decode(
            token, check, algorithms=[algorithm], audience="edge-1", issuer="playgate")
        works[f"issue-uri-{name} PyJWT"] = lambda body=body, sign=sign, algorithm=algorithm: jwt.encode(
            body, sign, algorithm=algorithm, headers={"kid": "bench"})
    media = read(folder, "media-es256").decode()
    works["media-es256 PyJWT"] = lambda: jwt.decode(media, private.public_key(), algorithms=["ES256"])


def joserfc(folder, works):
    from joserfc import jwt
    from joserfc.jwk import ECKey, OctKey

    private = ECKey.import_key(read(folder, "ec.pem"))
    registry = jwt.JWTClaimsRegistry(iss={"essential": True, "value": "playgate"}, aud={"essential": True, "value": "edge-1"})
    plain = jwt.JWTClaimsRegistry()

    def decode(token, key, algorithm, rules):
        rules.validate(jwt.decode(token, key, algorithms=[algorithm]).claims)

    for name, algorithm in ALGORITHMS.items():
        key = OctKey.import_key(read(folder, "secret")) if name == "hs256" else private
        token, body = read(folder, f"uri-{name}").decode(), claims()
        works[f"uri-{name} joserfc"] = lambda token=token, key=key, algorithm=algorithm: decode(token, key, algorithm, registry)
        works[f"issue-uri-{name} joserfc"] = lambda body=body, key=key, algorithm=algorithm: jwt.encode(
            {"alg": algorithm, "kid": "bench"}, body, key)
    media = read(folder, "media-es256").decode()
    works["media-es256 joserfc"] = lambda: decode(media, private, "ES256", plain)


def cwt(folder, works):
    import cwt as library
    from cwt import COSEKey

    for name, algorithm in ALGORITHMS.items():
        if name == "hs256":
            key = COSEKey.from_symmetric_key(read(folder, "secret"), alg="HS256", kid="bench")
        else:
            key = COSEKey.from_pem(read(folder, "ec.pem"), kid="bench", alg="ES256")
        text = read(folder, f"cat-{name}").decode()
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        body = library.decode(decoded, keys=[key])

        def verify(text=text, key=key):
            library.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), keys=[key])

        works[f"cat-{name} cwt"] = verify
        works[f"issue-cat-{name} cwt"] = lambda body=body, key=key: base64.urlsafe_b64encode(library.encode(body, key))


def botocore(folder, works):
    from botocore.signers import CloudFrontSigner
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding

    key = serialization.load_pem_private_key(read(folder, "rsa.pem"), None)
    signer = CloudFrontSigner("K2JCJMDEHXQW5F", lambda message: key.sign(message, padding.PKCS1v15(), hashes.SHA256()))
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    works["issue-cloudfront botocore"] = lambda: signer.generate_presigned_url(f"https://{HOST}{PATH}", date_less_than=end)


def akamai(folder, works):
    from akamai.edgeauth import EdgeAuth

    signer = EdgeAuth(token_name="hdnts", key=read(folder, "secret").hex(), end_time=int(time.time()) + 24 * HOUR)
    works["issue-edgeauth akamai-edgeauth"] = lambda: signer.generate_url_token(PATH)


def measured(work, seconds):
    def used(count):
        start = time.process_time_ns()
        for _ in range(count):
            work()
        return time.process_time_ns() - start

    count = 1
    while used(count) < 2_000_000:
        count *= 2
    spent = total = 0
    while spent < seconds * 1e9:
        spent += used(count)
        total += count
    return spent / total


def main():
    if sys.argv[1] == "--versions":
        for package in PACKAGES:
            print(package, importlib.metadata.version(package))
        return
    works = {}
    for add in (pyjwt, joserfc, cwt, botocore, akamai):
        try:
            add(sys.argv[1], works)
        except ImportError as error:
            print(f"formats: skipped, {add.__name__}: {error}", file=sys.stderr)
    for name, work in works.items():
        work()
        print(name)
    print(flush=True)
    for line in sys.stdin:
        row, contender, seconds = line.split()
        print(measured(works[f"{row} {contender}"], float(seconds)), flush=True)


main()
