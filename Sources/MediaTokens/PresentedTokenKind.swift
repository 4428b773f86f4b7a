// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The kind of a presented token, by its first characters, and by the type of a JWS. Nothing in it is checked.
package enum PresentedTokenKind: Sendable {
    /// A media token in any of its forms.
    case mediaToken
    /// A JWS of another type, such as the token of an identity provider.
    case otherJWS
    /// Any other text.
    case other

    /// Looks at a token.
    package init(_ token: Span<UInt8>) {
        if JWSEnvelope.isOne(token), token.firstIndex(of: UInt8(ascii: "."), from: 0) != nil {
            self = JWSEnvelope.hasType(token) ? .mediaToken : .otherJWS
        } else {
            // The Base64 of a token begins with that of `<signatureInfo>`.
            self = Envelope.isRaw(token) || token.starts(with: "PHNp", at: 0) ? .mediaToken : .other
        }
    }
}
