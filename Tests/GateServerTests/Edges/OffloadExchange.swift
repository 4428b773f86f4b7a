// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import NIOCore
import SPOPServer

/// HAProxy's side of its offload: the frames that it sends, and the answers.
enum OffloadExchange {
    /// The first frame of a connection.
    static func hello(frameSize: UInt64 = 16380) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeSPOP(.helloOfHAProxy, of: .none) { frame in
            for (name, value): (StaticString, SPOPValue) in [
                ("supported-versions", .string(ByteBuffer(string: "2.0"))), ("max-frame-size", .unsigned(frameSize)),
                ("capabilities", .string(ByteBuffer(string: "pipelining"))),
            ] {
                frame.writeSPOP(string: name)
                frame.writeSPOP(value)
            }
        }
        return bytes
    }

    /// A message, as it is in the payload of a notification.
    static func message(_ name: String, arguments: [(String, SPOPValue)]) -> [UInt8] {
        var bytes = ByteBuffer()
        bytes.writeSPOP(text: name)
        bytes.writeInteger(UInt8(arguments.count))
        for (name, value) in arguments {
            bytes.writeSPOP(text: name)
            bytes.writeSPOP(value)
        }
        return Array(bytes.readableBytesView)
    }

    /// A notification of one message.
    static func notification(_ name: String, arguments: [(String, SPOPValue)]) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeSPOP(.notify, of: SPOPFrame.ID(stream: 1, frame: 1)) {
            $0.writeBytes(message(name, arguments: arguments))
        }
        return bytes
    }

    /// The header fields of a client, as `req.hdrs_bin` has them.
    static func headers(_ fields: [(String, String)]) -> SPOPValue {
        var bytes = ByteBuffer()
        for (name, value) in fields + [("", "")] {
            bytes.writeSPOP(text: name)
            bytes.writeSPOP(text: value)
        }
        return .binary(bytes)
    }

    /// Greets a gate, sends frames, and reads what the gate sends until it ends the connection.
    static func send(_ frames: [ByteBuffer], to address: String) throws -> [UInt8] {
        let connection = try HTTPConnection(address)
        var bytes = hello()
        for frame in frames { bytes.writeImmutableBuffer(frame) }
        bytes.writeSPOP(.disconnectOfHAProxy, of: .none) { _ in }
        try connection.send(Array(bytes.readableBytesView))
        return try connection.rest()
    }

    /// Asks a gate by notifications of one message each, on one connection, and returns the variables that each answer sets.
    static func ask(at address: String, requests: [[(String, SPOPValue)]]) throws -> [[String: SPOPValue]] {
        let notifications = requests.map { notification("playgate-check", arguments: $0) }
        var bytes = ByteBuffer(bytes: try send(notifications, to: address))
        var answers: [[String: SPOPValue]] = []
        while let length: UInt32 = bytes.readInteger(), let frame = bytes.readSlice(length: Int(length)) {
            let frame = try SPOPFrame(frame.readableBytesUInt8Span)
            if frame.kind == .acknowledge { answers.append(try variables(frame)) }
        }
        return answers
    }

    /// The variables that an acknowledgement sets.
    static func variables(_ frame: borrowing SPOPFrame) throws -> [String: SPOPValue] {
        var (reader, found) = (frame.payload, [String: SPOPValue]())
        while !reader.isAtEnd {
            guard reader.byte() == 1, reader.byte() == 3, reader.byte() == 2, let name = reader.text(),
                let value = reader.value()
            else { throw SPOPStatus.invalid }
            found[name] = SPOPValue(copying: value)
        }
        return found
    }
}

extension ByteBuffer {
    fileprivate mutating func writeSPOP(text: String) {
        writeSPOP(number: UInt64(text.utf8.count))
        writeString(text)
    }
}
