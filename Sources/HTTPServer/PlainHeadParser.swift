// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import NIOHTTP1

/// A parser of heads in the plain form that edges send, and of no others.
///
/// The form is a strict subset of RFC 9112 §3 and §5, which servers cannot read in two ways: `GET` or `HEAD`, a target in
/// origin form, `HTTP/1.1`, and lines `name: value` of visible ASCII and inner spaces that end in CRLF, with at most one space
/// before the value. No field announces a body or the end of the connection. Everything else is ``Reading/unusual``: NIO's
/// decoder parses it or refuses it.
struct PlainHeadParser {
    /// The kind of some bytes.
    enum Reading: Equatable {
        /// They begin with a plain head of so many bytes.
        case whole(Int)
        /// They are a possible beginning of a plain head. NIO's decoder would buffer them too.
        case partial
        case unusual
    }

    /// True if the method of the last whole head is HEAD; else it is GET.
    private(set) var isHead = false
    /// The range of its target.
    private(set) var target = 0..<0
    /// The ranges of its fields. The array is used again if it has no other owner.
    private(set) var ranges: [HTTPFields.FieldRanges] = []

    private let maximumSize: Int
    private let maximumCount: Int

    /// The longest name of a field that is read, in bytes.
    private static let maximumName = 64

    private enum Stop: Error { case partial, unusual }

    /// Creates a parser of heads within the limits of a decoder, which do not count the bytes between names and values.
    init(_ limits: NIOHTTPDecoderLimitConfiguration) {
        maximumSize = min(limits.maxHeaderFieldSize, limits.maxHeaderListSize)
        maximumCount = limits.maxHeaderFieldCount
    }

    /// Reads the head with which `bytes` begin.
    mutating func read(_ bytes: Span<UInt8>) -> Reading {
        ranges.removeAll(keepingCapacity: true)
        let isLong = bytes.count > maximumSize
        do throws(Stop) {
            return .whole(try readHead(isLong ? bytes.extracting(first: maximumSize) : bytes))
        } catch {
            return error == .partial && !isLong ? .partial : .unusual
        }
    }

    /// Reads a head, and returns its size.
    private mutating func readHead(_ bytes: Span<UInt8>) throws(Stop) -> Int {
        var position = try readRequestLine(bytes)
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "\r") { return try Self.skip("\r\n", in: bytes, at: position) }
            guard ranges.count < maximumCount else { throw .unusual }
            position = try readField(in: bytes, from: position)
        }
        throw .partial
    }

    private mutating func readRequestLine(_ bytes: Span<UInt8>) throws(Stop) -> Int {
        guard !bytes.isEmpty else { throw .partial }
        isHead = bytes[0] == UInt8(ascii: "H")
        let start = try Self.skip(isHead ? "HEAD /" : "GET /", in: bytes, at: 0) - 1
        let end = bytes.firstIndex(outside: 0x21, from: start)
        target = start..<end
        // A fragment is no part of the origin form.
        guard bytes.extracting(target).firstIndex(of: UInt8(ascii: "#"), from: 0) == nil else { throw .unusual }
        return try Self.skip(" HTTP/1.1\r\n", in: bytes, at: end)
    }

    /// Reads the line of a field, and returns the index after it.
    private mutating func readField(in bytes: Span<UInt8>, from start: Int) throws(Stop) -> Int {
        var position = start
        let limit = min(bytes.count, start + Self.maximumName)
        while position < limit, bytes[position].isPlainNameByte { position += 1 }
        guard position < bytes.count else { throw .partial }
        guard bytes[position] == UInt8(ascii: ":"), position > start else { throw .unusual }
        let name = start..<position
        let role = bytes.extracting(name).framingRole
        guard role != .framing else { throw .unusual }
        position += 1
        if position < bytes.count, bytes[position] == UInt8(ascii: " ") { position += 1 }
        let value = position..<bytes.firstIndex(outside: 0x20, from: position)
        let end = try Self.skip("\r\n", in: bytes, at: value.upperBound)
        if !value.isEmpty {
            let space = UInt8(ascii: " ")
            guard bytes[value.lowerBound] != space, bytes[value.upperBound - 1] != space else { throw .unusual }
        }
        guard role != .connection || bytes.extracting(value).isSameField("keep-alive") else { throw .unusual }
        ranges.append(HTTPFields.FieldRanges(name: name, value: value))
        return end
    }

    /// Returns the index after `literal`, which must be at `place`.
    private static func skip(_ literal: StaticString, in bytes: Span<UInt8>, at position: Int) throws(Stop) -> Int {
        let length = literal.utf8CodeUnitCount
        guard bytes.starts(with: literal, length: bytes.count - position, at: position) else { throw .unusual }
        guard bytes.count - position >= length else { throw .partial }
        return position + length
    }
}

/// The meaning of a field for the connection and the body.
private enum FramingRole {
    case none
    /// The field `Connection`, of which one value is plain.
    case connection
    case framing
}

extension Span<UInt8> {
    /// The role of a field with this name, for NIO's decoder or for ``HTTPFramingFacts``.
    fileprivate var framingRole: FramingRole {
        switch count {
        case 6 where isSameField("expect"), 7 where isSameField("upgrade"), 14 where isSameField("content-length"),
            16 where isSameField("proxy-connection"), 17 where isSameField("transfer-encoding"):
            .framing
        case 10 where isSameField("connection"): .connection
        default: .none
        }
    }
}

extension UInt8 {
    /// True for letters, digits, hyphen and underscore: the characters of nearly all names of fields.
    fileprivate var isPlainNameByte: Bool {
        isASCIIAlphanumeric || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }
}
