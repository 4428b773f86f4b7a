// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The messages of a NOTIFY frame (HAProxy's doc/SPOE.txt §3.2), which are read from its payload one after the other.
package struct SPOPMessages: ~Escapable {
    private var rest: SPOPReader
    /// The number of messages in the frame.
    package let count: Int

    /// The most messages of a frame.
    package static let maximumCount = 8

    /// Creates the messages of a payload; `nil` if they are malformed, or more than ``maximumCount``.
    @_lifetime(copy payload)
    package init?(_ payload: consuming SPOPReader) {
        var (reader, count) = (copy payload, 0)
        while !reader.isAtEnd {
            guard count < Self.maximumCount, SPOPMessage.read(&reader) != nil else { return nil }
            count += 1
        }
        rest = payload
        self.count = count
    }

    /// Returns the next message; `nil` after the last one.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    package mutating func next() -> SPOPMessage? { SPOPMessage.read(&rest) }
}

/// A message of a NOTIFY frame: a name and arguments.
package struct SPOPMessage: ~Escapable {
    package let name: Span<UInt8>
    private var rest: SPOPReader
    private var count: UInt8

    @_lifetime(copy name, copy rest)
    private init(name: Span<UInt8>, rest: consuming SPOPReader, count: UInt8) {
        self.name = name
        self.rest = rest
        self.count = count
    }

    /// Reads a message, and all of its arguments; `nil` if it is malformed.
    @_lifetime(copy reader)
    @_lifetime(reader: copy reader)
    fileprivate static func read(_ reader: inout SPOPReader) -> SPOPMessage? {
        guard let name = reader.string(), let count = reader.byte() else { return nil }
        let arguments = copy reader
        for _ in 0..<count { guard reader.string() != nil, reader.value() != nil else { return nil } }
        return SPOPMessage(name: name, rest: arguments, count: count)
    }

    /// Returns the next argument; `nil` after the last one.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    package mutating func next() -> Argument? {
        guard count > 0, let name = rest.string(), let value = rest.value() else { return nil }
        count -= 1
        return Argument(name: name, value: value)
    }

    /// An argument of a message. Its name may be empty.
    package struct Argument: ~Escapable {
        package let name: Span<UInt8>
        package let value: SPOPReader.Value

        @_lifetime(copy name, copy value)
        init(name: Span<UInt8>, value: consuming SPOPReader.Value) {
            self.name = name
            self.value = value
        }
    }
}
