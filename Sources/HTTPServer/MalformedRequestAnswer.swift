// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The answer to bytes that are no request.
struct MalformedRequestAnswer: HTTPAnswer {
    var limit: Int { 96 }

    func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields) {
        writer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nCache-Control: no-store\r\n")
        closing.write(into: &writer)
    }
}
