# SPDX-License-Identifier: Apache-2.0
# Copyright the Playgate authors.

"""Checks a request by the C interface, as docs/how-to/embedding.md shows it. usage: check.py LIBRARY POLICY TARGET GRANT TIME"""
import sys
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from ctypes import addressof, create_string_buffer, sizeof


class Slice(Structure):
    _fields_ = [("bytes", c_char_p), ("length", c_size_t)]

    @classmethod
    def of(cls, text):
        return cls(text.encode(), len(text.encode()))


class Request(Structure):
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("now", c_int64), ("method", Slice), ("target", Slice),
                ("scheme", Slice), ("host", Slice), ("tokens", POINTER(Slice)), ("token_count", c_size_t),
                ("grants", POINTER(Slice)), ("grant_count", c_size_t), ("client", Slice), ("alpn", Slice),
                ("client_key", Slice), ("countries", Slice), ("position", Slice), ("client_asn", c_uint32),
                ("reserved", c_uint32), ("headers", c_void_p), ("header_count", c_size_t), ("header_values", c_void_p),
                ("header_context", c_void_p), ("traceparent", Slice)]


class Answer(Structure):
    _fields_ = [("size", c_uint32), ("outcome", c_int32), ("code", c_int32), ("status", c_int32), ("flags", c_uint32),
                ("scope", c_int32), ("scope_length", c_uint32), ("reserved", c_uint32), ("expires", c_int64),
                ("good_until", c_int64), ("generation", c_uint64), ("mvpd", Slice), ("requestor", Slice),
                ("resource", Slice), ("session", Slice), ("trace", Slice), ("grant", Slice), ("set_cookie", Slice),
                ("buffer", c_void_p), ("capacity", c_size_t)]


library, path, target, grant, now = sys.argv[1:]
gate = CDLL(library)
gate.playgate_code_name.restype = c_char_p
assert gate.playgate_abi() == 1
policy, engine = c_void_p(), c_void_p()
text = open(path, "rb").read()
assert gate.playgate_policy_open(text, c_size_t(len(text)), c_int64(int(now)), byref(policy), None) == 0
assert gate.playgate_no_more_forks() == 0
assert gate.playgate_engine_create(policy, byref(engine), None) == 0
buffer = create_string_buffer(16384)
request = Request(size=sizeof(Request), now=int(now), method=Slice.of("GET"), target=Slice.of(target),
                  scheme=Slice.of("https"), host=Slice.of("cdn.example"), grants=(Slice * 1)(Slice.of(grant)), grant_count=1)
answer = Answer(size=sizeof(Answer), buffer=addressof(buffer), capacity=len(buffer))
assert gate.playgate_check(engine, None, byref(request), byref(answer)) == 0
print(answer.outcome, gate.playgate_code_name(answer.code).decode(), answer.good_until)
gate.playgate_engine_release(engine)
gate.playgate_policy_release(policy)
