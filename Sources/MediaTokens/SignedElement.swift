// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Platform

/// An element that a trusted key has signed, whatever it is and says: for services that get their own long-lived tokens
/// back. **It is no media token and opens nothing**; only ``Verifier`` judges those, and it takes none of these.
package struct SignedElement: Sendable {
    /// The signed bytes: the element.
    package let bytes: [UInt8]

    /// Reads an element in its envelope, and verifies its signature.
    ///
    /// - Parameters:
    ///   - raw: The element as it was signed, not in Base64; at most ``Verifier/maximumEncodedSize`` bytes.
    ///   - trust: The keys, those with a scope left out: what an element says of its requestor is not looked at here.
    ///   - now: When it is looked at; keys that are not valid then are not used.
    /// - Returns: Nil where the envelope is malformed, or no trusted key has signed.
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
