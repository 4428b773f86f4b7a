// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A JSON Web Signature with an unverified signature: only for diagnosis.
public struct UnverifiedJWS: Sendable {
    /// The payload.
    public let payload: [UInt8]
    /// The key identifier in the header; `nil` if there is none.
    public let keyID: KeyID?
    /// The algorithm in the header; `nil` if there is none that is known.
    public let algorithm: KeyAlgorithm?

    /// Reads a token of three parts.
    ///
    /// - Parameters:
    ///   - token: The token, at most ``JWS/maximumSize(of:)`` characters.
    ///   - format: The format, which has a largest size.
    /// - Throws: ``JOSERefusal`` if it is too large or malformed.
    public init(_ token: Span<UInt8>, format: TokenFormat = .uriSigning) throws(JOSERefusal) {
        guard token.count <= JWS.maximumSize(of: format) else { throw .tooLarge }
        let parts = JOSEParts(token)
        guard parts.count == 3 else { throw .malformed }
        let (header, id) = try JOSEHeader.read(token.extracting(parts[0]))
        guard let payload = Base64.decodeURLSafe(String(copying: token.extracting(parts[1]))) else { throw .malformed }
        self.payload = payload
        keyID = id
        algorithm = header.algorithm.name.flatMap { KeyAlgorithm(name: $0) }
    }
}
