// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeChecks
internal import Encodings
internal import HTTPServer
internal import NIOCore

extension EdgeAnswer {
    /// The header fields of the answer about the check, in their order. An edge over HTTP receives them too.
    package var fields: [(name: Substring, value: Substring)] {
        var buffer = ByteBuffer()
        let closing = HTTPCommonFields(date: HTTPDate(), closesConnection: false)
        buffer.write(atMost: limit + HTTPCommonFields.limit) { writer in
            write(into: &writer, isHead: false, closing: closing)
        }
        return String(buffer: buffer).utf8.split(separator: UInt8(ascii: "\n")).dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = Substring(line[..<colon])
            guard name != "Content-Length", name != "Date", name != "X-Accel-Expires" else { return nil }
            return (name, Substring(line[line.index(after: colon)...].dropFirst().dropLast()))
        }
    }
}
