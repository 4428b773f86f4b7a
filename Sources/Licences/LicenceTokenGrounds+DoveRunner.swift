// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The two keys of a DoveRunner site.
public struct DoveRunnerKeys: Sendable {
    private let access: String
    private let site: BlockCipher

    /// Creates keys; `nil` if the site key has not 32 characters, or one of them is not of ASCII.
    ///
    /// - Parameters:
    ///   - access: The access key, which is hashed.
    ///   - site: The site key, which encrypts the policy: its characters are the bytes of the key.
    public init?(access: String, site: String) {
        guard !access.isEmpty, (access + site).utf8.allSatisfy({ 0x21...0x7E ~= $0 }),
            let cipher = BlockCipher(Array(site.utf8))
        else { return nil }
        (self.access, self.site) = (access, cipher)
    }

    /// Encrypts a policy. The vendor has one initial vector for all.
    fileprivate func encrypt(_ policy: JSON) -> String? {
        site.encrypt([UInt8](policy.line.utf8), initialVector: Array("0123456789abcdef".utf8)).map { Base64.encode($0) }
    }

    /// The hash of texts behind the access key. The texts have no delimiters: none may be of a viewer's choice.
    fileprivate func hash(_ texts: [String]) -> String {
        Base64.encode(SHA256.digest(access + texts.joined()))
    }
}

extension DoveRunnerKeys: CustomStringConvertible, CustomReflectable {
    public var description: String { "DoveRunner keys" }
    /// A `Mirror` without children, so that reflection contains no part of a secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension LicenceTokenGrounds {
    /// The systems (`drm_type`): a token is for one of them.
    static let doveRunnerSystems = ["Widevine", "PlayReady", "FairPlay", "NCG"]

    /// DoveRunner's licence token of version 3: Base64 of JSON, with an encrypted policy and a hash.
    func doveRunner(by keys: DoveRunnerKeys) -> String? {
        var playback: [JSON.Member] = [("persistent", .bool(rules.policy.isPersistent))]
        if let duration = rules.policy.duration {
            playback.append(("license_duration", .number(duration.components.seconds)))
        }
        let tracks: String? =
            switch rules.policy.largestPicture {
            case .sd: "SD_ONLY"
            case .hd: "SD_HD"
            case .uhd1: "SD_UHD1"
            case .uhd2: "SD_UHD2"
            default: nil
            }
        if let tracks { playback.append(("allowed_track_types", .string(tracks))) }
        let (system, site) = (rules.settings["drm"] ?? "", rules.settings["site"] ?? "")
        // Of fixed length, so that it cannot pass characters on to the asset behind it.
        let user = order.viewer ?? order.session
        let policy = keys.encrypt(["policy_version": .number(2), "playback_policy": .object(playback)])
        guard let policy else { return nil }
        let token: JSON = [
            "drm_type": .string(system), "site_id": .string(site), "user_id": .string(user),
            "cid": .string(order.asset),
            "policy": .string(policy), "response_format": "original", "key_rotation": false,
            "timestamp": .string(issuedTime),
            "hash": .string(keys.hash([system, site, user, order.asset, policy, issuedTime])),
        ]
        return Base64.encode([UInt8](token.line.utf8))
    }
}
