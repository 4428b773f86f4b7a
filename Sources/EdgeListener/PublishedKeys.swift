// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
package import KeySources
package import Keys
internal import Platform
internal import Synchronization

/// The public keys by which others verify the grants of this gate. These are the keys that sign now, the next ones, and
/// former ones until their last grant has expired. Symmetric keys have no public part, and are never among them.
package final class PublishedKeys: Sendable {
    private let keys: [TokenKey]
    private let documents = Mutex<Documents?>(nil)

    /// The documents for a choice of the keys.
    private struct Documents: Sendable {
        let indices: [Int]
        let jwkSet: Document
        let coseKeySet: Document
    }

    /// The bytes of a key set, and their entity tag.
    package struct Document: Sendable {
        package let bytes: [UInt8]
        package let tag: String

        fileprivate init(_ bytes: [UInt8]) {
            self.bytes = bytes
            tag = "\"\(SHA256.digest(bytes).prefix(16).hexadecimal)\""
        }
    }

    /// Creates a set of keys, of which those with a public part are published. Twins, which differ only in their
    /// issuer, count once.
    package init(_ keys: [TokenKey]) {
        var own: [TokenKey] = []
        for key in keys where !key.algorithm.isMAC {
            guard !own.contains(where: { $0.id == key.id && $0.algorithm == key.algorithm }) else { continue }
            own.append(key)
        }
        self.keys = own
    }

    /// Returns the document at `now`.
    package func document(_ notation: KeySetNotation, at now: Timestamp) -> Document {
        // A key that is not valid yet is the next one.
        let indices = keys.indices.filter { keys[$0].validity.map { now <= $0.upperBound } ?? true }
        let documents = documents.withLock { documents in
            if let documents, documents.indices == indices { return documents }
            let chosen = try? KeySet(indices.map { keys[$0] })
            let made = Documents(
                indices: indices,
                jwkSet: Document([UInt8](((chosen?.publishedJWKSet ?? "{\"keys\":[]}") + "\n").utf8)),
                coseKeySet: Document(chosen?.publishedCOSEKeySet ?? [0x80])
            )
            documents = made
            return made
        }
        return notation == .jwkSet ? documents.jwkSet : documents.coseKeySet
    }
}
