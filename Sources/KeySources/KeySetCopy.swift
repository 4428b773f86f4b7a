// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Keys
internal import Platform

/// The last good key set in a file, so that a restart does not depend on its server.
struct KeySetCopy: Equatable {
    let confirmed: Timestamp
    let entityTag: String?
    let bytes: [UInt8]

    private static let limits = JSONLimits(depth: 2, members: 8, elements: 1)

    /// The name of the file for a set: two issuers, or two addresses, have never the same.
    static func name(_ address: KeySetAddress, issuer: String) -> String {
        let digest = SHA256.digest("\(address.url) \(issuer)")
        return "keys-\(digest.prefix(12).hexadecimal).json"
    }

    /// Writes the file.
    func write(to path: String, _ address: KeySetAddress) throws(FileFault) {
        let members: [JSON.Member] = [
            ("url", .string(address.url)), ("confirmed", .number(confirmed.millisecondsSince1970)),
            ("etag", .optional(entityTag)), ("set", .string(Base64.encodeURLSafe(bytes))),
        ]
        try path.replaceFile(with: [UInt8]((JSON.object(members).line + "\n").utf8))
    }

    /// Reads the file. Returns `nil` if there is none, or it is not the copy of this set.
    init?(from path: String, _ address: KeySetAddress) {
        let limit = KeySetReading.maximumSize * 4 / 3 + 4096
        guard let text = try? path.bytesOfFile(limit: limit),
            case .object(let members)? = try? JSONReader.read(text.span, limits: Self.limits)
        else { return nil }
        func member(_ name: String) -> JSON? { members.first { $0.name == name }?.value }
        guard case .string(let url)? = member("url"), url == address.url,
            case .number(let confirmed)? = member("confirmed"), case .string(let set)? = member("set"),
            let bytes = Base64.decodeURLSafe(set)
        else { return nil }
        self.confirmed = Timestamp(millisecondsSince1970: confirmed)
        if case .string(let tag)? = member("etag") { entityTag = tag } else { entityTag = nil }
        self.bytes = bytes
    }

    init(confirmed: Timestamp, entityTag: String?, bytes: [UInt8]) {
        self.confirmed = confirmed
        self.entityTag = entityTag
        self.bytes = bytes
    }
}
