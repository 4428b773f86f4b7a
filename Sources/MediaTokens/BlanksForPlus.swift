// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

// Tokens whose plus signs a reader of forms has taken for blanks.

extension RefusalReason {
    /// True if a token is refused so whose bytes were changed on its way.
    var isOfChangedBytes: Bool {
        self == .invalidBase64 || self == .invalidSignatureEncoding
    }
}

extension Span<UInt8> {
    /// True if blanks stand where plus signs were: in the signature of a raw token, or behind `<signatureInfo` in Base64, where every token
    /// has one.
    var hasBlanksForPlus: Bool {
        if starts(with: "PHNpZ25hdHVyZUluZm8 ", at: 0) { return true }
        // The signature is first in a raw token.
        let opening: StaticString = "<signatureInfo>"
        let start = opening.utf8CodeUnitCount
        guard starts(with: opening, at: 0), let end = firstIndex(of: UInt8(ascii: "<"), from: start),
            let blank = firstIndex(of: UInt8(ascii: " "), from: start), blank < end
        else { return false }
        return extracting(start..<end).isBase64WithBlanks
    }

    private var isBase64WithBlanks: Bool {
        guard count.isMultiple(of: 4) else { return false }
        for index in indices {
            switch self[index] {
            case UInt8(ascii: " "), UInt8(ascii: "/"): continue
            case UInt8(ascii: "=") where index >= count - 2: continue
            case let byte where byte.isASCIIAlphanumeric: continue
            default: return false
            }
        }
        return true
    }
}
