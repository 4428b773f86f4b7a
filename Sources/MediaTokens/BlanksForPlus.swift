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
    /// True if the signature, or a token in Base64, would be Base64 with plus signs in place of its blanks. A signature without any
    /// plus sign is rare, and one with blanks is none.
    var hasBlanksForPlus: Bool {
        guard let blank = firstIndex(of: UInt8(ascii: " "), from: 0) else { return false }
        guard self[0] == UInt8(ascii: "<") else { return isBase64WithBlanks }
        // The signature is first in a raw token.
        let opening: StaticString = "<signatureInfo>"
        let start = opening.utf8CodeUnitCount
        guard starts(with: opening, at: 0), let end = firstIndex(of: UInt8(ascii: "<"), from: start), blank < end else {
            return false
        }
        return extracting(start..<end).isBase64WithBlanks
    }

    private var isBase64WithBlanks: Bool {
        guard count.isMultiple(of: 4) else { return false }
        for place in indices {
            switch self[place] {
            case UInt8(ascii: " "), UInt8(ascii: "/"): continue
            case UInt8(ascii: "=") where place >= count - 2: continue
            case let byte where byte.isASCIIAlphanumeric: continue
            default: return false
            }
        }
        return true
    }
}
