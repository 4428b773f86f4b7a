// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The request of a client in Envoy's message: those fields of `envoy.service.auth.v3.CheckRequest` that a decision
/// needs.
package struct CheckRequest: Sendable, Equatable {
    /// A header field of the client's request.
    package struct Field: Sendable, Equatable {
        /// The name, in lower case as HTTP/2 has it. Those of HTTP/2's pseudo header fields are left out.
        package let name: String
        package let value: String
    }

    package private(set) var method = ""
    /// The target, undecoded, with its query.
    package private(set) var path = ""
    /// The host, with a port if the client named one; empty if it named none.
    package private(set) var host = ""
    /// The header fields: of `headers`, in which Envoy joins repeated ones with commas, or of `header_map`
    /// (`encode_raw_headers`), which repeats them.
    package private(set) var headers: [Field] = []

    /// The most header fields.
    static let maximumFields = 256

    /// Reads a message; `nil` if it is none, has a fact twice, or has no method or path.
    package init?(_ message: [UInt8]) {
        do {
            guard let http = try Self.http(message[...]) else { return nil }
            try read(http)
        } catch { return nil }
        guard !method.isEmpty, !path.isEmpty else { return nil }
    }

    /// Finds `attributes.request.http`.
    private static func http(_ message: ArraySlice<UInt8>) throws(ProtobufReader.Fault) -> ArraySlice<UInt8>? {
        var found: ArraySlice<UInt8>? = message
        for number: UInt64 in [1, 4, 2] {
            guard let bytes = found else { return nil }
            var reader = ProtobufReader(bytes)
            found = nil
            while let (field, value) = try reader.next() {
                guard field == number else { continue }
                // Parsers would merge the two.
                guard found == nil else { throw ProtobufReader.Fault() }
                found = try value.bytes
            }
        }
        return found
    }

    private mutating func read(_ http: ArraySlice<UInt8>) throws(ProtobufReader.Fault) {
        var reader = ProtobufReader(http)
        var (hasHeaders, hasMap) = (false, false)
        while let (field, value) = try reader.next() {
            switch field {
            case 2: try method.fill(value)
            case 3:
                hasHeaders = true
                try add(try value.bytes)
            case 4: try path.fill(value)
            case 5: try host.fill(value)
            case 13:
                guard !hasMap else { throw ProtobufReader.Fault() }
                hasMap = true
                var list = ProtobufReader(try value.bytes)
                while let (field, value) = try list.next() { if field == 1 { try add(try value.bytes) } }
            default: break
            }
        }
        guard !hasHeaders || !hasMap else { throw ProtobufReader.Fault() }
    }

    /// Adds an entry of `headers` or of `header_map`: a name, and a value as text or bytes.
    private mutating func add(_ entry: ArraySlice<UInt8>) throws(ProtobufReader.Fault) {
        var reader = ProtobufReader(entry)
        var (name, text) = ("", "")
        var raw: ArraySlice<UInt8>?
        while let (field, value) = try reader.next() {
            switch field {
            case 1: try name.fill(value)
            case 2: try text.fill(value)
            case 3:
                guard raw == nil else { throw ProtobufReader.Fault() }
                raw = try value.bytes
            default: break
            }
        }
        guard headers.count < Self.maximumFields, !name.isEmpty, text.isEmpty || raw?.isEmpty ?? true else {
            throw ProtobufReader.Fault()
        }
        // As NIO reads HTTP/1: bytes that are not UTF-8 become U+FFFD, which nothing accepts.
        let value = raw.map { $0.isEmpty ? text : String(decoding: $0, as: UTF8.self) } ?? text
        guard !value.utf8.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { throw ProtobufReader.Fault() }
        if name.utf8.first == UInt8(ascii: ":") { return }
        guard name.utf8.allSatisfy(\.isTokenCharacter) else { throw ProtobufReader.Fault() }
        headers.append(Field(name: name, value: value))
    }
}

extension String {
    /// Stores a text that occurs once.
    fileprivate mutating func fill(_ value: ProtobufReader.Value) throws(ProtobufReader.Fault) {
        guard isEmpty else { throw ProtobufReader.Fault() }
        self = try value.text
    }
}
