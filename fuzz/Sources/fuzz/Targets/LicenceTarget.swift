// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Encodings
@testable import Keys
@testable import Licences
@testable import Platform

extension Target {
    private static let key: TokenKey = {
        let binding = KeyBinding(issuer: "licences", format: .licence)
        guard let key = try? TokenKey.generate(.hs256, id: KeyID("k"), binding: binding).key else {
            fatalError("no key")
        }
        return key
    }()

    private static let now = Timestamp(millisecondsSince1970: 1_925_114_645_000)

    /// CPIX documents, templates of claims, and tokens for licence servers, by the first byte.
    static let licence = Target(name: "licence") { input in
        var input = input
        switch input.choice() % 3 {
        case 0: checkDocument(input.bytes)
        case 1: checkTemplate(input.bytes)
        default:
            guard let text = input.text, let token = UnverifiedLicenceToken(text) else { return }
            demand(!token.claims.contains { $0.value.contains("\n") }, or: "a claim of two lines")
        }
    }

    private static func checkDocument(_ bytes: [UInt8]) {
        guard let document = try? CPIXDocument(bytes) else { return }
        demand(!document.keys.tracks.isEmpty, or: "a document without keys")
        let all = Set(document.keys.tracks.map(\.id))
        var last: Set<ContentKeyID> = []
        // More of the picture opens more keys, and never another one.
        for size in [TrackType.sd, .hd, .uhd1, .uhd2] {
            guard let ids = try? document.keys.ids(upTo: size, naming: [:]) else { return }
            demand(last.isSubset(of: ids) && all.isSuperset(of: ids), or: "keys that \(size) does not open")
            last = Set(ids)
        }
        for key in all { demand(ContentKeyID(key.description) == key, or: "a key with another name") }
    }

    private static func checkTemplate(_ bytes: [UInt8]) {
        var rules = LicenceTokenRules("licences", form: .jws)
        rules.claims = bytes
        guard let issuer = try? LicenceTokenIssuer(rules, key: key) else { return }
        let order = LicenceOrder(
            asset: "{\"\\",
            keys: ContentKeys(),
            session: "0123",
            sessionEnd: now.advanced(byMilliseconds: 60_000)
        )
        guard let token = try? issuer.issue(order, at: now) else { return demand(false, or: "no token of good claims") }
        let payload = token.text.split(separator: ".")[1]
        guard let bytes = Base64.decode(Array(payload.utf8)),
            let claims = try? JSONReader.read(bytes.span, limits: JSONLimits(depth: 16, members: 64, elements: 1024)),
            case .object = claims
        else { return demand(false, or: "claims that are no object") }
    }
}
