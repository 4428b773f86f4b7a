// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension EncryptionKey {
    /// An algorithm of a key with the size that it needs, as configurations name it. The raw value is a name of RFC 7518.
    public enum Use: String, Hashable, Sendable, CaseIterable {
        /// AES key wrap (`alg`) with a key of 16 bytes.
        case a128kw = "A128KW"
        /// AES key wrap (`alg`) with a key of 32 bytes.
        case a256kw = "A256KW"
        /// Direct encryption (`dir`) by AES-GCM (`enc`) with a key of 16 bytes.
        case a128gcm = "A128GCM"
        /// Direct encryption (`dir`) by AES-GCM (`enc`) with a key of 32 bytes.
        case a256gcm = "A256GCM"

        /// The size of the key, in bytes.
        public var size: Int { self == .a128kw || self == .a128gcm ? 16 : 32 }
    }

    /// Creates a key for one use.
    ///
    /// - Throws: ``KeySetError`` with code ``KeySetError/Code/unusableKey`` if the secret has not the size of the use.
    public convenience init(secret: [UInt8], id: KeyID?, use: Use) throws(KeySetError) {
        switch use {
        case .a128kw: try self.init(secret: secret, id: id, algorithm: .a128kw)
        case .a256kw: try self.init(secret: secret, id: id, algorithm: .a256kw)
        case .a128gcm: try self.init(secret: secret, id: id, algorithm: .direct, encryption: .a128gcm)
        case .a256gcm: try self.init(secret: secret, id: id, algorithm: .direct, encryption: .a256gcm)
        }
    }
}
