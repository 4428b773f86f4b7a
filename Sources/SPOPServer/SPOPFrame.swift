// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

/// A frame of SPOP with an unfragmented payload (HAProxy's doc/SPOE.txt §3.2).
package struct SPOPFrame: ~Escapable {
    /// The type of a frame that HAProxy or its agent sends.
    package enum Kind: UInt8, CaseIterable, Sendable {
        case helloOfHAProxy = 1
        case disconnectOfHAProxy = 2
        case notify = 3
        case helloOfAgent = 101
        case disconnectOfAgent = 102
        case acknowledge = 103
    }

    /// The numbers that an acknowledgement repeats.
    package struct ID: Hashable, Sendable {
        package let stream: UInt64
        package let frame: UInt64

        package init(stream: UInt64, frame: UInt64) {
            self.stream = stream
            self.frame = frame
        }

        /// The numbers of a frame that belongs to no stream.
        package static let none = ID(stream: 0, frame: 0)
    }

    /// The type of the frame; `nil` for one that is to be ignored.
    package let kind: Kind?
    package let id: ID
    package let payload: SPOPReader

    /// The smallest frame in bytes: the type, the flags, and two numbers.
    package static let minimumSize = 7

    /// Parses a frame without its length.
    ///
    /// - Throws: ``SPOPStatus/invalid`` for a malformed frame, and ``SPOPStatus/fragmentation`` for a part of one.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) throws(SPOPStatus) {
        var reader = SPOPReader(bytes)
        guard let type = reader.byte(), let flags = reader.word(), let stream = reader.number(),
            let frame = reader.number()
        else { throw .invalid }
        // Only the first of several fragments has a type, and only the last has the flag FIN.
        guard type != 0, flags & 1 != 0 else { throw .fragmentation }
        kind = Kind(rawValue: type)
        id = ID(stream: stream, frame: frame)
        payload = reader
    }
}

/// The reason for the end of a connection in a DISCONNECT frame (HAProxy's doc/SPOE.txt §3.5).
package enum SPOPStatus: UInt32, CaseIterable, Error {
    case normal = 0
    case inputOutput = 1
    case timeout = 2
    case tooBig = 3
    case invalid = 4
    case noVersion = 5
    case noFrameSize = 6
    case noCapabilities = 7
    case badVersion = 8
    case badFrameSize = 9
    case fragmentation = 10
    case interlaced = 11
    case unknownFrame = 12
    case resources = 13
    case unknown = 99

    /// The text beside the code.
    package var message: StaticString {
        switch self {
        case .normal: "normal"
        case .inputOutput: "I/O error"
        case .timeout: "a timeout occurred"
        case .tooBig: "frame is too big"
        case .invalid: "invalid frame received"
        case .noVersion: "version value not found"
        case .noFrameSize: "max-frame-size value not found"
        case .noCapabilities: "capabilities value not found"
        case .badVersion: "unsupported version"
        case .badFrameSize: "max-frame-size too big or too small"
        case .fragmentation: "payload fragmentation is not supported"
        case .interlaced: "invalid interlaced frames"
        case .unknownFrame: "frame-id not found"
        case .resources: "resource allocation error"
        case .unknown: "an unknown error occurred"
        }
    }
}

extension ByteBuffer {
    /// Appends an AGENT-DISCONNECT frame.
    package mutating func writeSPOP(disconnect status: SPOPStatus) {
        writeSPOP(.disconnectOfAgent, of: .none) { frame in
            frame.writeSPOP(string: "status-code")
            frame.writeInteger(3 as UInt8)
            frame.writeSPOP(number: UInt64(status.rawValue))
            frame.writeSPOP(string: "message")
            frame.writeInteger(8 as UInt8)
            frame.writeSPOP(string: status.message)
        }
    }
}
