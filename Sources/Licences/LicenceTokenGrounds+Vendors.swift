// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

// The claims of vendors, by what their manuals and samples show. None of them was tried against a vendor's server.

extension LicenceTokenGrounds {
    /// castLabs DRMtoday, "License Delivery Authorization". `optData` and `crt` are texts with JSON.
    var castLabs: JSON {
        let policy = rules.policy
        var profile: [JSON.Member] = [("type", "purchase")]
        if let duration = policy.duration {
            let text = JSON.string("PT\(duration.components.seconds)S")
            profile = [("type", "rental"), ("relativeExpiration", text), ("playDuration", text)]
        }
        var rights: [JSON.Member] = [
            ("assetId", .string(order.asset)), ("profile", .object(profile)),
            // Without the member, the server stores licences.
            ("storeLicense", .bool(policy.isPersistent)),
        ]
        if let outputs = policy.outputProtection {
            rights.append(
                (
                    "outputProtection",
                    [
                        "digital": .bool(outputs.contains(.digital)), "analogue": .bool(outputs.contains(.analogue)),
                        "enforce": .bool(!outputs.isEmpty),
                    ]
                )
            )
        }
        let token = JSON.object(rights)
        let isList = rules.settings["crt"] == "list"
        return [
            "jti": .string(id), "iat": .number(issued), "exp": .number(expires),
            "optData": .string(JSON.object([("merchant", .string(rules.settings["merchant"] ?? ""))]).line),
            "crt": .string((isList ? JSON.array([token]) : token).line),
        ]
    }

    /// Axinom DRM, "License Service Message" with an entitlement message of version 2. It has no `exp`: two dates say it.
    var axinom: JSON {
        var licence: [JSON.Member] = [("allow_persistence", .bool(rules.policy.isPersistent))]
        if let duration = rules.policy.duration { licence.append(("duration", .number(duration.components.seconds))) }
        let keys = keys.map { JSON.object([("id", .string($0.description))]) }
        return [
            "version": .number(1), "id": .string(id), "com_key_id": .string(keyID), "begin_date": .string(issuedTime),
            "expiration_date": .string(expiresTime),
            "message": [
                "type": "entitlement_message", "version": .number(2), "license": .object(licence),
                "content_keys_source": ["inline": .array(keys)],
            ],
        ]
    }

    /// Nagra SSP, "Content Authorization Token". With `jti` and `exp`, the server accepts it once.
    func nagra(rights: JSON) -> JSON {
        [
            "typ": "ContentAuthZ", "ver": "1.0", "jti": .string(id), "exp": .number(expires), "contentRights": rights,
        ]
    }

    /// drm.cloud, the user token.
    var drmCloud: JSON {
        var members: [JSON.Member] = [("exp", .number(expires)), ("kid", .strings(keys.map(\.description)))]
        if let duration = rules.policy.duration { members.append(("duration", .number(duration.components.seconds))) }
        return .object(members)
    }

    /// Mux, the token of licence and certificate URLs. The asset is the playback id there.
    var mux: JSON {
        ["kid": .string(keyID), "aud": "d", "sub": .string(order.asset), "exp": .number(expires)]
    }
}
