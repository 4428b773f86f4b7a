// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOCore

/// The terms of a connection, which HAProxy proposes with its first frame (HAProxy's doc/SPOE.txt §3.2.4).
package struct SPOPHello: Hashable, Sendable {
    /// The most bytes of a frame, without its length.
    package let frameSize: Int
    /// True if notifications may follow each other without waiting for acknowledgements.
    package let isPipelined: Bool
    /// True if HAProxy only wants to know if the agent answers.
    package let isHealthCheck: Bool

    /// The smallest size of a frame that both sides must support.
    package static let minimumFrameSize = 256

    /// Parses a HAPROXY-HELLO frame.
    ///
    /// - Parameter limit: The most bytes of a frame that the agent accepts.
    /// - Throws: The ``SPOPStatus`` of a missing, malformed or unsupported value.
    package init(_ frame: borrowing SPOPFrame, limit: Int) throws(SPOPStatus) {
        guard frame.id == .none else { throw .invalid }
        var reader = frame.payload
        var (versions, size, capabilities): (String?, UInt64?, String?)
        var isHealthCheck = false
        while !reader.isAtEnd {
            guard let name = reader.text(), let value = reader.value() else { throw .invalid }
            switch (name, value) {
            case ("supported-versions", .string(let text)) where versions == nil: versions = String(decoding: text)
            case ("max-frame-size", .unsigned(let number)) where size == nil: size = number
            case ("capabilities", .string(let text)) where capabilities == nil: capabilities = String(decoding: text)
            case ("healthcheck", .bool(let isTrue)): isHealthCheck = isTrue
            case ("supported-versions", _), ("max-frame-size", _), ("capabilities", _), ("healthcheck", _):
                throw .invalid
            default: break
            }
        }
        guard let versions else { throw .noVersion }
        guard let size else { throw .noFrameSize }
        guard let capabilities else { throw .noCapabilities }
        guard versions.items.contains(where: { $0.hasPrefix("2.") }) else { throw .badVersion }
        guard size >= UInt64(Self.minimumFrameSize), size <= UInt64(UInt32.max) else { throw .badFrameSize }
        frameSize = min(Int(size), limit)
        isPipelined = capabilities.items.contains("pipelining")
        self.isHealthCheck = isHealthCheck
    }
}

extension ByteBuffer {
    /// Appends an AGENT-HELLO frame. It announces neither fragmentation nor asynchronous acknowledgements.
    package mutating func writeSPOP(hello terms: SPOPHello) {
        writeSPOP(.helloOfAgent, of: .none) { frame in
            frame.writeSPOP(string: "version")
            frame.writeInteger(8 as UInt8)
            frame.writeSPOP(string: "2.0")
            frame.writeSPOP(string: "max-frame-size")
            frame.writeInteger(3 as UInt8)
            frame.writeSPOP(number: UInt64(terms.frameSize))
            frame.writeSPOP(string: "capabilities")
            frame.writeInteger(8 as UInt8)
            frame.writeSPOP(string: terms.isPipelined ? "pipelining" : "")
        }
    }
}

extension String {
    /// The items of a list that is separated by commas, without blanks.
    fileprivate var items: [Substring] {
        split(separator: ",").map { item in
            let start = item.drop { $0 == " " }
            return start.prefix { $0 != " " }
        }
    }
}
