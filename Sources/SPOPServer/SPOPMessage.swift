// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore

/// A message of a NOTIFY frame: a name and arguments (HAProxy's doc/SPOE.txt §3.2).
package struct SPOPMessage: Hashable, Sendable {
    package let name: String
    package let arguments: [Argument]

    /// An argument of a message. Its name may be empty.
    package struct Argument: Hashable, Sendable {
        package let name: String
        package let value: SPOPValue

        package init(name: String, value: SPOPValue) {
            self.name = name
            self.value = value
        }
    }

    /// The most messages of a frame.
    package static let maximumCount = 8

    package init(name: String, arguments: [Argument]) {
        self.name = name
        self.arguments = arguments
    }

    /// Parses the messages of a frame; `nil` if they are malformed, or more than ``maximumCount``.
    package static func list(_ payload: SPOPReader) -> [SPOPMessage]? {
        var reader = payload
        var messages: [SPOPMessage] = []
        while !reader.isAtEnd {
            guard messages.count < maximumCount, let name = reader.text(), let count = reader.byte() else { return nil }
            var arguments: [Argument] = []
            arguments.reserveCapacity(Int(count))
            for _ in 0..<count {
                guard let name = reader.text(), let value = reader.value() else { return nil }
                arguments.append(Argument(name: name, value: value))
            }
            messages.append(SPOPMessage(name: name, arguments: arguments))
        }
        return messages
    }
}
