// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A JOSE header that recipients know beside the tokens, which then have none: the metadata `jwt-header` of RFC 9246 §1.3.
///
/// It selects a key as a token's own header does, and is checked in the same way: it names one algorithm, never `none`.
public struct JWSHeader: Hashable, Sendable {
    /// The header as it is encoded: URL-safe Base64 without padding.
    public let encoded: String
    /// The algorithm.
    public let algorithm: KeyAlgorithm
    /// The key identifier; `nil` if there is none.
    public let keyID: KeyID?

    /// Reads a header.
    ///
    /// - Throws: ``JOSERefusal`` if no token with it could be verified.
    public init(_ encoded: String) throws(JOSERefusal) {
        let (header, id) = try JOSEHeader.read(encoded.utf8.span)
        guard !header.isUnsupported else { throw .claimUnsupported }
        algorithm = try header.signatureAlgorithm()
        if case .impossible = header.keyID { throw .keyUnknown }
        keyID = id
        self.encoded = encoded
    }

    /// True if the header can select a key: the algorithm is the key's, and so is the identifier, if there is one.
    public func selects(_ key: TokenKey) -> Bool {
        key.algorithm == algorithm && (keyID.map { $0 == key.id } ?? true)
    }
}
