// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The answer to a request with a grant, before the checks that need the caller's stores.
public enum GrantVerdict: Hashable, Sendable {
    /// The grant allows the request once the obligations are met.
    case allowed(GrantObligations)
    /// The grant does not allow the request.
    case refused(GrantRefusal)

    /// The refusal, if there is one.
    public var refusal: GrantRefusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }

    /// True if the grant allows the request once the obligations are met.
    public var isAllowed: Bool { refusal == nil }
}

/// The rest of a check, which the caller does in this order: chance, revocation, proof, replay, renewal.
public struct GrantObligations: Hashable, Sendable {
    /// The chance of rejection (`catpor`): refuse with ``GrantCode/sampled`` if it strikes, or the id is on the list.
    public var rejection: Rejection?
    /// The use of the proof of possession: refuse with ``GrantCode/replayed`` unless the store inserts it.
    public var proofUse: Use?
    /// The use of the token (`catreplay`): refuse with ``GrantCode/replayed`` unless the store inserts it.
    public var use: Use?
    /// True if a renewed token is due.
    public var isRenewalDue = false

    /// A chance of rejection.
    public struct Rejection: Hashable, Sendable {
        /// The probability, 0 to 1.
        public let probability: Double
        /// The id that is put on the list if the chance strikes, and is refused while it is there.
        public let id: [UInt8]
        /// The time until which the id stays on the list.
        public let until: Timestamp

        /// Creates a value of its members.
        package init(probability: Double, id: [UInt8], until: Timestamp) {
            self.probability = probability
            self.id = id
            self.until = until
        }
    }

    /// An entry of a store that must not be there yet.
    public struct Use: Hashable, Sendable {
        /// The key of the entry.
        public let key: SHA256Digest
        /// The time until which the entry is stored.
        public let until: Timestamp
        /// True if a second use is watched for instead of refused (`catreplay` 2).
        public let isWatched: Bool

        /// Creates a value of its members.
        package init(key: SHA256Digest, until: Timestamp, isWatched: Bool) {
            self.key = key
            self.until = until
            self.isWatched = isWatched
        }
    }

    package init() {}
}
