// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import EdgeTokens
internal import Encodings
internal import Keys
internal import MediaResources
internal import Platform
internal import PlaybackGate
internal import URISigning

// The parts of a policy that concern entries, policies, keys and issuers, read from their objects.

extension Catalogue.Entry {
    init(_ object: JSONObject, profiles: [String: GrantProfile]) throws(JSONObjectFault) {
        let (media, path) = (try object.optionalText("media"), try object.optionalText("path"))
        let key: Key
        switch (media, path) {
        case (let media?, nil): key = .media(media)
        case (nil, let path?):
            do throws(PathPatternError) { key = .path(try PathPattern(path)) } catch {
                throw object.fault("\(error)", member: "path")
            }
        default: throw object.fault("an entry must have either media or path")
        }
        var hosts: [HostName] = []
        for host in try object.texts("hosts") {
            guard let name = HostName(host[...]) else { throw object.fault("has no host", member: "hosts") }
            hosts.append(name)
        }
        guard hosts.isEmpty || path != nil else { throw object.fault("are for paths alone", member: "hosts") }
        var methods: [PlaybackRequest.Method] = []
        for name in try object.texts("methods") {
            guard let method = PlaybackRequest.Method(rawValue: name), method != .other else {
                throw object.fault("has a method that is not known here", member: "methods")
            }
            methods.append(method)
        }
        let use = try object.choice("admits") { Use(rawValue: $0) } ?? .once
        self.init(
            key: key,
            protection: try Self.protection(object),
            isShadow: try object.flag("shadow"),
            use: use,
            licence: try object.choice("licence") { LicenceUse(rawValue: $0) },
            methods: methods,
            hosts: hosts,
            grants: try GrantTerms(object, profiles: profiles)
        )
        guard let text = try object.optionalText("tag") else { return }
        guard let tag = ProtectionTag(hexadecimal: text) else {
            throw object.fault("must have 32 hexadecimal digits", member: "tag")
        }
        self = Self(self, grants: grants, tag: tag)
    }

    private static func protection(_ object: JSONObject) throws(JSONObjectFault) -> Protection {
        let (text, isOpaque) = (try object.optionalText("resource"), try object.flag("opaque"))
        let requestor = try object.optionalText("requestor")
        let (isOpen, isAmbiguous) = (try object.flag("unprotected"), try object.flag("ambiguous"))
        switch (text, requestor, isOpen, isAmbiguous) {
        case (let text?, let requestor?, false, false):
            do throws(ResourceError) {
                let resource = isOpaque ? try MediaResource(opaque: text) : try MediaResource(text)
                return .resource(resource, requestor: requestor)
            } catch { throw object.fault("\(error)", member: "resource") }
        case (nil, nil, true, false): return .none
        case (nil, nil, false, true): return .ambiguous
        default: throw object.fault("an entry must have resource and requestor, or be unprotected, or ambiguous")
        }
    }
}

extension Catalogue.Entry.GrantTerms {
    fileprivate init?(_ object: JSONObject, profiles known: [String: GrantProfile]) throws(JSONObjectFault) {
        let (scope, manifest) = (try object.optionalText("scope"), try object.optionalText("manifest"))
        let isOfFiles = try object.flag("files")
        guard let names = try object.optionalTexts("profiles") else { return nil }
        var profiles: [GrantProfile] = []
        for name in names {
            guard let profile = known[name] else { throw object.fault("\(name) is no profile", member: "profiles") }
            profiles.append(profile)
        }
        guard !profiles.isEmpty else { throw object.fault("must not be empty", member: "profiles") }
        self.init(profiles, scope: scope, manifest: manifest)
        self.isOfFiles = isOfFiles
    }
}

extension PlaybackPolicy {
    init(_ object: JSONObject) throws(JSONObjectFault) {
        self.init(
            requestors: try object.optionalTexts("requestors"),
            allowedMVPDs: try object.optionalTexts("allowedMVPDs"),
            deniedMVPDs: try object.texts("deniedMVPDs"),
            maximumRatings: try object.list("maximumRatings") { (object) throws(JSONObjectFault) in
                Rating(scheme: try object.text("scheme"), value: try object.text("value"))
            },
            allowsUnrated: try object.flag("allowsUnrated")
        )
    }
}

extension EdgeBundle.Key {
    init(_ object: JSONObject) throws(JSONObjectFault) {
        guard let format = try object.choice("format", parse: { TokenFormat(rawValue: $0) }),
            let algorithm = try object.choice("algorithm", parse: { KeyAlgorithm(rawValue: $0) })
        else { throw object.fault("format and algorithm are required") }
        let leniency = KeyLeniency(rawValue: Int(try object.optionalNumber("leniency", in: 0...3) ?? 0))
        let binding = KeyBinding(issuer: try object.text("issuer"), format: format, leniency: leniency)
        var id: KeyID?
        if let bytes = try object.bytes("id") {
            guard let read = KeyID(bytes) else { throw object.fault("must have 1 to 64 bytes", member: "id") }
            id = read
        }
        let validity = try object.period()
        let (secret, der) = (try object.bytes("secret"), try object.bytes("publicKey"))
        renewing = try object.object("renews") { (object) throws(JSONObjectFault) in
            Renewing(
                name: try object.optionalText("name"),
                from: try object.time("from"),
                until: try object.time("until")
            )
        }
        do throws(KeySetError) {
            switch (secret, der) {
            case (let secret?, nil):
                key = try TokenKey(secret: secret, id: id, algorithm: algorithm, binding: binding, validity: validity)
            case (nil, let der?):
                key = try TokenKey(
                    publicKeyInfo: der,
                    id: id,
                    algorithm: algorithm,
                    binding: binding,
                    validity: validity
                )
            default: throw KeySetError(.malformed, reason: "a key must have either secret or publicKey")
            }
        } catch { throw object.fault("\(error)") }
        guard renewing == nil || secret != nil else { throw object.fault("is for secrets alone", member: "renews") }
    }
}

extension AcceptedIssuer {
    init(_ object: JSONObject) throws(JSONObjectFault) {
        self.init(try object.text("name"))
        isNameOptional = try object.flag("nameOptional")
        requiresExpiration = !(try object.flag("expirationOptional"))
        isOwn = try object.flag("own")
        maximumSession = try object.duration("maximumSession")
        labels.or = try object.optionalNumber("or", in: .min ... .max)
        labels.nor = try object.optionalNumber("nor", in: .min ... .max)
        labels.and = try object.optionalNumber("and", in: .min ... .max)
        labels.critical = try object.optionalNumber("crit", in: .min ... .max)
        let renamed = try object.list("labels") { (object) throws(JSONObjectFault) in
            (
                try object.number("label", in: .min ... .max),
                ClaimLabel(try object.number("meaning", in: .min ... .max))
            )
        }
        for (label, meaning) in renamed { labels.renamed[label] = meaning }
    }
}

extension AcceptedSigner {
    init(_ object: JSONObject) throws(JSONObjectFault) {
        self.init(try object.text("name"))
        isNameOptional = try object.flag("nameOptional")
        requiresExpiration = !(try object.flag("expirationOptional"))
        requiresContainer = !(try object.flag("containerOptional"))
        match = try object.choice("match") { URIPatternMatch(rawValue: $0) } ?? .whole
        isOwn = try object.flag("own")
        maximumSession = try object.duration("maximumSession")
        renewalWindow = try object.duration("renewalWindow")
        for text in try object.texts("headers") {
            do throws(JOSERefusal) { headers.append(try JWSHeader(text)) } catch {
                throw object.fault("has a header that is none", member: "headers")
            }
        }
        decryptionKeys = try object.list("decryptionKeys") { (object) throws(JSONObjectFault) in
            try EncryptionKey(object)
        }
    }
}

extension EncryptionKey {
    fileprivate convenience init(_ object: JSONObject) throws(JSONObjectFault) {
        guard let algorithm = try object.choice("algorithm", parse: { Algorithm(rawValue: $0) }),
            let encryption = try object.choice("encryption", parse: { Encryption(rawValue: $0) }),
            let secret = try object.bytes("secret")
        else { throw object.fault("algorithm, encryption and secret are required") }
        var id: KeyID?
        if let bytes = try object.bytes("id") {
            guard let read = KeyID(bytes) else { throw object.fault("must have 1 to 64 bytes", member: "id") }
            id = read
        }
        do throws(KeySetError) {
            try self.init(secret: secret, id: id, algorithm: algorithm, encryption: encryption)
        } catch { throw object.fault("\(error)") }
    }
}

extension GrantProfile {
    convenience init(_ object: JSONObject) throws(JSONObjectFault) {
        guard let format = try object.choice("format", parse: { name in GrantFormat.all.first { $0.name == name } })
        else {
            throw object.fault("format is missing")
        }
        let (name, issuer) = (try object.text("name"), try object.text("issuer"))
        self.init(name, format: format, issuer: issuer, keyIDs: try object.texts("keys"), rules: try Rules(object))
    }
}

extension JSONObject {
    /// Reads the two ends of a period, `from` and `until`; `nil` for always.
    func period() throws(JSONObjectFault) -> ClosedRange<Timestamp>? {
        let (start, end) = (try time("from"), try time("until"))
        guard start != nil || end != nil else { return nil }
        let (lower, upper) = (
            start ?? Timestamp(millisecondsSince1970: .min), end ?? Timestamp(millisecondsSince1970: .max)
        )
        guard lower <= upper else { throw fault("must not be before from", member: "until") }
        return lower...upper
    }
}
