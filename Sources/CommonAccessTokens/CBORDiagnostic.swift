// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A writer of CBOR as text for people, in the diagnostic notation of RFC 8949 §8.
enum CBORDiagnostic {
    /// Returns an item in one line, or `malformed` if it is no strict CBOR.
    static func text(_ item: Span<UInt8>) -> String {
        var text: [UInt8] = []
        do throws(ClaimFault) {
            var reader = ClaimReader(item)
            try write(&reader, to: &text)
        } catch {
            return "malformed"
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func write(_ reader: inout ClaimReader, to text: inout [UInt8]) throws(ClaimFault) {
        switch try reader.next() {
        case .unsigned(let number): text += String(number).utf8
        case .negative(let number): text += String(-1 - Int128(number)).utf8
        case .bytes(let range): text += "h'\([UInt8](copying: reader.source.extracting(range)).hexadecimal)'".utf8
        case .text(let range): JSON.write(String(copying: reader.source.extracting(range)), to: &text)
        case .array(let count):
            text += "[".utf8
            for index in 0..<count {
                if index > 0 { text += ", ".utf8 }
                try write(&reader, to: &text)
            }
            text += "]".utf8
        case .map(let count):
            text += "{".utf8
            for index in 0..<count {
                if index > 0 { text += ", ".utf8 }
                try write(&reader, to: &text)
                text += ": ".utf8
                try write(&reader, to: &text)
            }
            text += "}".utf8
        case .tag(let number):
            text += "\(number)(".utf8
            try write(&reader, to: &text)
            text += ")".utf8
        case .float(let number): text += String(number).utf8
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .null: text += "null".utf8
        }
    }
}
