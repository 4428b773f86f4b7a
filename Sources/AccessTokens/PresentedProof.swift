// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import RequestTargets

/// What a request presents as proof that its sender owns what a token is bound to.
///
/// A class, so that a request stays small.
public final class PresentedProof: Hashable, Sendable {
    /// The lines of the header field `DPoP`. More than one is no proof (RFC 9449 §4.3).
    public let proofs: [Substring]
    /// The method of the request that the proof is for.
    public let method: Substring
    /// The URI of the request that the proof is for; `nil` if it is not known.
    public let uri: RequestURI?
    /// The SHA-256 of the DER of the sender's TLS certificate; `nil` if it has none, or nobody vouches for it.
    public let certificate: [UInt8]?

    /// The longest time between a proof and its receipt, in seconds.
    static let window: Int64 = 60

    /// Creates what a request presents.
    public init(proofs: [Substring], method: Substring, uri: RequestURI?, certificate: [UInt8]? = nil) {
        (self.proofs, self.method, self.uri, self.certificate) = (proofs, method, uri, certificate)
    }

    /// Compares all members.
    public static func == (one: PresentedProof, other: PresentedProof) -> Bool {
        one.proofs == other.proofs && one.method == other.method && one.uri == other.uri
            && one.certificate == other.certificate
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(proofs) }
}
