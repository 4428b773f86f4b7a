# SPDX-License-Identifier: Apache-2.0
# Copyright the Playgate authors.
"""Verifies one signature repeatedly with a Python library and prints verifications a second.

Usage: verify.py cryptography|PyJWT PUBLIC-KEY MESSAGE-FILE SIGNATURE-FILE|JWT-FILE SECONDS
"""
import sys, time


def cryptography(key, message, signature):
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding

    public = serialization.load_pem_public_key(open(key, "rb").read())
    message, signature = open(message, "rb").read(), open(signature, "rb").read()
    # Raises an exception if the signature is invalid.
    return lambda: public.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())


def pyjwt(key, _, token):
    import jwt
    from cryptography.hazmat.primitives import serialization

    public = serialization.load_pem_public_key(open(key, "rb").read())
    token = open(token).read().strip()
    return lambda: jwt.decode(token, public, algorithms=["RS256"])


def main():
    kind, key, message, proof, seconds = sys.argv[1:]
    verify = {"cryptography": cryptography, "PyJWT": pyjwt}[kind](key, message, proof)
    for _ in range(200):
        verify()
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < float(seconds):
        for _ in range(100):
            verify()
        count += 100
    print(round(count / (time.perf_counter() - start)))


main()
