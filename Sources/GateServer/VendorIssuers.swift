// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import GateConfiguration
internal import Platform
internal import PlaybackGate
internal import RequestTargets
internal import VendorTokens

/// The issuers of vendors' formats.
enum VendorIssuers {
    /// Creates the issuer of a profile. Returns `nil` if there are problems.
    static func make(
        for profile: Located<GrantProfile>,
        grants: GateConfiguration.Grants,
        problems: ProblemList,
        warnings: inout [String]
    ) -> (any VendorIssuer)? {
        guard let vendor = grants.vendors[profile.value.name], let id = profile.value.keyIDs.first,
            let key = grants.keys.first(where: { $0.id == id })
        else { return nil }
        let name = profile.value.name
        guard profile.value.keyIDs.count == 1 else {
            problems.add(at: profile.location, message: "\(name): a vendor's format has one key")
            return nil
        }
        do throws(SigningError) {
            let issuer = try vendor.format.issuer(with: try key.vendorKey(), settings: vendor.settings)
            // A folder for a minute: a format without folders, or without networks of clients, cannot serve this
            // profile.
            let now = Timestamp(secondsSince1970: 1_925_000_120)
            var request = SigningRequest(path: "/live/", issued: now, expires: now.advanced(byMilliseconds: 60_000))
            request.host = profile.value.rules.host
            request.session = String(repeating: "0", count: 32)
            if profile.value.rules.binding.address != .none {
                request.client = IPAddress("203.0.113.9").flatMap { ClientNetwork($0, length: 24) }
            }
            _ = try issuer.issue(request)
            warnings += issuer.warnings.map { "profile \(name): \($0.rawValue): see docs/reference/vendors.md" }
            return issuer
        } catch {
            problems.add(at: vendor.location, message: "\(name): \(vendor.format.rawValue) cannot be issued: \(error)")
            return nil
        }
    }
}

extension GateConfiguration.Grants.Key {
    /// The key for a vendor's format.
    fileprivate func vendorKey() throws(SigningError) -> VendorKey {
        switch material {
        case .vendors(let secret): return .secret(secret)
        case .secret(let bytes): return .secret(try SigningSecret(bytes: bytes))
        case .pem(let text): return .privateKey(try SigningPrivateKey(pem: [UInt8](text.text.utf8)))
        case .set, .encryption: throw SigningError(.key, value: id)
        }
    }
}
