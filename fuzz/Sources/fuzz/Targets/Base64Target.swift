// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Encodings
@testable import MediaTokens

extension Target {
    /// Base64: the result equals that of OpenSSL, or both refuse. Encoding and decoding are inverse.
    static let base64 = Target(name: "base64") { input in
        let text = input.bytes
        let decoded = Base64.decode(text)
        demand(decoded == secondBase64(text), or: "OpenSSL reads \(text.debugText) differently")
        guard let decoded else { return }
        let encoded = [UInt8](Base64.encode(decoded).utf8)
        demand(Base64.decode(encoded) == decoded, or: "what is encoded from \(text.debugText) is read differently")
        demand(encoded.count == (decoded.count + 2) / 3 * 4, or: "padding")
        let room = Base64.decodedCapacity(text.count)
        var exact = [UInt8](repeating: 0xA5, count: room)
        var span = exact.mutableSpan
        demand(Base64.decode(text.span, into: &span) == decoded.count, or: "into a buffer of just the capacity")
        demand(exact.prefix(decoded.count).elementsEqual(decoded), or: "other bytes in a buffer")
    }
}
