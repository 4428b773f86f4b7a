// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Platform

/// An element of any kind that a trusted key signed, for services that receive their own long-lived tokens back. **It
/// is not a media token and never permits playback.** Only ``Verifier`` verifies media tokens, and it refuses other
/// elements.
package struct SignedElement: Sendable {
    /// The signed bytes: the element.
    package let bytes: [UInt8]

    /// Reads an element in its envelope and verifies its signature.
    ///
    /// - Parameters:
    ///   - raw: The element as it was signed, not in Base64; at most ``Verifier/maximumEncodedSize`` bytes.
    ///   - trust: The trusted keys. Keys with a requestor scope are not used, because no requestor is checked.
    ///   - now: The time of verification. Keys that are not valid at this time are not used.
    /// - Returns: `nil` if the envelope is malformed, or no trusted key made the signature.
    package init?(raw: String, trustedBy trust: TrustStore, at now: Timestamp) {
        let bytes = [UInt8](raw.utf8)
        guard !bytes.isEmpty, bytes.count <= Verifier.maximumEncodedSize, let frame = Envelope.Frame(bytes.span),
            let signature = Base64.decode(Array(bytes[frame.signature])),
            let digest = SHA256Context()?.hash(bytes.span.extracting(frame.signed))
        else { return nil }
        let isSigned = trust.groups.contains { group in
            let isUsable = group.grants.contains { grant in
                if case .any = grant.requestors { return grant.isValid(at: now) }
                return false
            }
            guard isUsable, group.key.signatureSize == signature.count,
                let context = try? group.key.makeVerificationContext()
            else { return false }
            return context.verify(signature: signature.span, digest: digest)
        }
        guard isSigned else { return nil }
        self.bytes = Array(bytes[frame.signed])
    }
}
