#!/usr/bin/env python3
"""Reads requests of OTLP/HTTP in JSON with the messages that OpenTelemetry publishes, for the tests.

Reads a request from each line. Prints the spans as JSON, one in a line, with the attributes of the span and of its resource. A field
that the messages do not have, or of another type, ends it with an error.
"""
import base64, json, sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2


def in_base64(value):
    """The JSON form of Protocol Buffers has bytes in Base64; OTLP has ids in hexadecimal instead."""
    if isinstance(value, list):
        return [in_base64(element) for element in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        name: base64.b64encode(bytes.fromhex(member)).decode() if name in ids else in_base64(member)
        for name, member in value.items()
    }


def attributes(owner):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in owner.attributes}


for line in sys.stdin:
    request = json_format.ParseDict(in_base64(json.loads(line)), ExportTraceServiceRequest())
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert len(span.trace_id) == 16 and len(span.span_id) == 8 and len(span.parent_span_id) in (0, 8)
                assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
                print(json.dumps({
                    "trace": span.trace_id.hex(), "span": span.span_id.hex(), "parent": span.parent_span_id.hex(),
                    "flags": span.flags, "name": span.name, "kind": trace_pb2.Span.SpanKind.Name(span.kind),
                    "start": span.start_time_unix_nano, "status": trace_pb2.Status.StatusCode.Name(span.status.code),
                    "message": span.status.message, "scope": scope.scope.name,
                    "attributes": attributes(span), "resource": attributes(resource.resource),
                }))
