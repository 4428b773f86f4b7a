// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The outcome of fetching a key set. Its ``name`` is the label of metrics.
public enum KeySetOutcome: Hashable, Sendable {
    /// A set that can be used was received.
    case fetched
    /// The server said that the set has not changed (304).
    case unchanged
    /// The keys stay as they were.
    case failed(KeySetFault)

    /// All outcomes.
    public static let allCases: [KeySetOutcome] =
        [.fetched, .unchanged] + KeySetFault.allCases.map { .failed($0) }

    /// The stable name.
    public var name: String {
        switch self {
        case .fetched: "fetched"
        case .unchanged: "unchanged"
        case .failed(let fault): fault.rawValue
        }
    }
}

/// A reason why a key set was not received, or not accepted. The raw values are stable.
public enum KeySetFault: String, Error, Hashable, Sendable, CaseIterable {
    /// An address of the host is private, or reserved, and not in the permitted networks.
    case addressRefused = "address_refused"
    /// The host has no address, or refused the connection, or closed it.
    case unreachable
    /// The answer was not complete in time.
    case timeout
    /// The certificate of the server is not accepted, or TLS failed otherwise.
    case tlsFailed = "tls_failed"
    /// The server sent a redirect, which is never followed.
    case redirected
    /// The status is neither 200 nor 304.
    case statusRefused = "status_refused"
    /// The body has more than 64 KiB.
    case tooLarge = "too_large"
    /// The `Content-Type` is not one of the notation, or the body is compressed.
    case contentTypeRefused = "content_type_refused"
    /// The discovery document is malformed, is of another issuer, or names no key set that may be fetched.
    case discoveryRefused = "discovery_refused"
    /// The body is no key set.
    case malformed
    /// The set has a private or symmetric key.
    case privateKey = "private_key"
    /// Two keys for the same algorithm have the same identifier.
    case duplicateKey = "duplicate_key"
    /// No key of the set can be used.
    case noUsableKey = "no_usable_key"
    /// More than 32 keys of the set can be used.
    case tooManyKeys = "too_many_keys"
}
