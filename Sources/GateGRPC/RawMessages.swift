// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if GRPC
    internal import GRPCCore

    /// Messages as their bytes: those of these services have few fields, which are read and written without generated code.
    struct RawMessages: MessageSerializer, MessageDeserializer {
        func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }

        func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
            unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        }
    }
#endif
