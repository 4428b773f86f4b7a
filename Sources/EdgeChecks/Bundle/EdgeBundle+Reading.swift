// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import EdgeTokens
internal import Encodings
internal import Keys
internal import MediaResources
internal import MediaTokens
package import Platform
internal import PlaybackGate
internal import ReplayStores
internal import URISigning

extension EdgeBundle {
    /// Reads a document: strict JSON, in which an unknown member is an error.
    ///
    /// - Parameters:
    ///   - bytes: At most ``maximumSize`` bytes.
    ///   - now: The present time.
    /// - Throws: ``EdgeBundleError`` with the line of the first fault.
    package init(_ bytes: Span<UInt8>, at now: Timestamp) throws(EdgeBundleError) {
        guard !Self.isSigned(bytes) else {
            let advice = "name the keys to trust (trust=FILE, playgate_policy_open_signed)"
            throw EdgeBundleError("this policy is signed, and its signature must be checked: \(advice)")
        }
        self = try Self.reading(bytes) { (root) throws(JSONObjectFault) in
            guard try root.optionalFlag("parts") != true else {
                throw root.fault("is a part of a policy", member: "parts")
            }
            return try EdgeBundle(root, at: now)
        }
    }

    /// Reads a document with `"parts": true`, and returns the policy with these parts instead of its own.
    ///
    /// - Returns: The policy, and true if only revocations were replaced.
    package func updated(
        by bytes: Span<UInt8>,
        at now: Timestamp
    ) throws(EdgeBundleError) -> (policy: EdgeBundle, hasOnlyRevocations: Bool) {
        try Self.reading(bytes) { (root) throws(JSONObjectFault) in
            guard try root.optionalFlag("parts") == true else { throw root.fault("parts must be true") }
            var policy = self
            guard let issued = try root.time("issued"), issued >= self.issued else {
                throw root.fault("must not be before that of the policy in force", member: "issued")
            }
            policy.issued = issued
            if root.has("revocations") { policy.revocations = try root.revocations() }
            guard root.has("keys") else { return (policy, true) }
            guard policy.grants != nil else { throw root.fault("the policy has no grants", member: "keys") }
            policy.grants?.keys = try root.keys()
            return (policy, false)
        }
    }

    /// Parses a text, checks its version before anything else, and gives faults of `read` their lines.
    private static func reading<Value>(
        _ bytes: Span<UInt8>,
        by read: (JSONObject) throws(JSONObjectFault) -> Value
    ) throws(EdgeBundleError) -> Value {
        guard bytes.count <= maximumSize else { throw EdgeBundleError("a policy must have at most 256 MiB") }
        let limits = JSONLimits(depth: 8, members: JSONObject.maximumMembers, elements: 4_000_000)
        let located: LocatedJSON
        do throws(LocatedJSON.Fault) { located = try JSONReader.readLocated(bytes, limits: limits) } catch {
            throw EdgeBundleError(error.fault.sentence, at: bytes.lineAndColumn(of: error.offset))
        }
        func error(_ fault: JSONObjectFault, kind: EdgeBundleError.Kind = .document) -> EdgeBundleError {
            EdgeBundleError(fault.message, kind: kind, at: bytes.lineAndColumn(of: located.offset(of: fault.path)))
        }
        let (root, version): (JSONObject, Int64)
        do throws(JSONObjectFault) {
            root = try JSONObject(located.json)
            version = try root.number("version", in: 0...(1 << 31))
        } catch let fault { throw error(fault) }
        guard version == EdgeBundle.version else {
            let advice = "is not known here: this is a library for version \(EdgeBundle.version)"
            throw error(root.fault(advice, member: "version"), kind: .version)
        }
        do throws(JSONObjectFault) {
            let value = try read(root)
            try root.finish()
            return value
        } catch let fault { throw error(fault) }
    }

    private init(_ root: JSONObject, at now: Timestamp) throws(JSONObjectFault) {
        guard let issued = try root.time("issued") else { throw root.fault("issued is missing") }
        self.issued = issued
        guard let goodFor = try root.duration("goodFor"), Self.goodForRange.contains(goodFor) else {
            throw root.fault("must be from 5000 to 2592000000", member: "goodFor")
        }
        self.goodFor = goodFor
        isShadow = try root.flag("shadow")
        guard let verification = try root.object("verification", read: Self.verification) else {
            throw root.fault("verification is missing")
        }
        self.verification = verification
        trust = try root.list("trust", read: Self.trustedKey)
        starts = try root.choice("starts", parse: { PlaybackStarter.Deferral(rawValue: $0) })
        let profiles = try root.list("profiles") { (object) throws(JSONObjectFault) in try GrantProfile(object) }
        catalogue = try Self.catalogue(in: root, profiles: profiles)
        policies = try root.list("policies") { (object) throws(JSONObjectFault) in try PlaybackPolicy(object) }
        grants = nil
        if root.has("keys") || root.has("issuers") || root.has("signers") {
            grants = Grants(
                keys: try root.keys(),
                issuers: try root.list("issuers") { (object) throws(JSONObjectFault) in try AcceptedIssuer(object) },
                signers: try root.list("signers") { (object) throws(JSONObjectFault) in try AcceptedSigner(object) },
                audience: try root.texts("audience"),
                profiles: profiles
            )
        }
        subjectKey = nil
        if let secret = try root.bytes("subjectKey") {
            guard let key = try? SubjectKey(secret) else { throw root.fault("cannot be used", member: "subjectKey") }
            subjectKey = key
        }
        revocations = try root.revocations()
        // Faults that only a whole gate can find, such as a key that OpenSSL refuses.
        do throws(EdgeBundleError) { _ = try parts() } catch { throw root.fault(error.message) }
    }

    private static func catalogue(
        in root: JSONObject,
        profiles: [GrantProfile]
    ) throws(JSONObjectFault) -> Catalogue {
        var known: [String: GrantProfile] = [:]
        for (index, profile) in profiles.enumerated() {
            guard known.updateValue(profile, forKey: profile.name) == nil else {
                throw root.fault("two have the name \(profile.name)", member: "profiles", element: index)
            }
        }
        var catalogue = Catalogue()
        _ = try root.list("catalogue") { (object) throws(JSONObjectFault) in
            let entry = try Catalogue.Entry(object, profiles: known)
            do throws(Catalogue.DuplicateEntry) { try catalogue.add(entry) } catch {
                throw object.fault("duplicate entry for \(error.key.text)")
            }
        }
        return catalogue
    }

    private static func verification(_ object: JSONObject) throws(JSONObjectFault) -> VerificationPolicy {
        var options = MediaResource.MatchOptions()
        let names = Set(try object.texts("match"))
        for option in MatchOption.all { options[keyPath: option.path] = names.contains(option.name) }
        guard names.allSatisfy({ name in MatchOption.all.contains { $0.name == name } }) else {
            throw object.fault("has an option that is not known here", member: "match")
        }
        let requestors = try object.texts("requestors")
        let (earliest, latest) = (try object.duration("earlyLeeway"), try object.duration("lateLeeway"))
        let longest = try object.duration("maximumTimeToLive")
        let bits = Int(try object.number("minimumKeySize", in: 1024...16_384))
        guard let early = earliest, let late = latest, let life = longest else {
            throw object.fault("earlyLeeway, lateLeeway and maximumTimeToLive are required")
        }
        do throws(PolicyError) {
            return try VerificationPolicy(
                requestors: requestors,
                earlyLeeway: early,
                lateLeeway: late,
                maximumTimeToLive: life,
                minimumKeySize: bits == 1024 ? .legacy1024 : .atLeast(bits),
                matchOptions: options
            )
        } catch { throw object.fault("\(error)") }
    }

    private static func trustedKey(_ object: JSONObject) throws(JSONObjectFault) -> LoadedKey {
        let name = try object.text("name")
        guard let tokens = try object.choice("tokens", parse: { MediaTokenForm(rawValue: $0) }),
            let der = try object.bytes("key")
        else { throw object.fault("tokens and key are required") }
        return LoadedKey(
            name: name,
            source: name,
            form: try object.flag("certificate") ? .certificate : .publicKey,
            tokens: tokens,
            bits: Int(try object.number("bits", in: 0...16_384)),
            requestors: try object.optionalTexts("requestors").map { .only($0) } ?? .any,
            validity: try object.period(),
            der: der
        )
    }
}

/// An option of matching by its name in a policy.
struct MatchOption {
    let name: String
    let path: any WritableKeyPath<MediaResource.MatchOptions, Bool> & Sendable

    static let all = [
        MatchOption(name: "exactOnly", path: \.exactOnly),
        MatchOption(name: "channelCoversAssets", path: \.channelCoversAssets),
        MatchOption(name: "ignoreRating", path: \.ignoreRating),
        MatchOption(name: "schemeAliases", path: \.schemeAliases),
        MatchOption(name: "ignoreCase", path: \.ignoreCase),
        MatchOption(name: "collapseWhitespace", path: \.collapseWhitespace),
        MatchOption(name: "videoNamespaceAlias", path: \.videoNamespaceAlias),
    ]
}

extension JSONObject {
    /// Reads `revocations`: texts of kind, tag and time, as `GET /v1/revocations/export` has its lines.
    fileprivate func revocations() throws(JSONObjectFault) -> [RevokedTag] {
        let lines = try texts("revocations")
        var tags: [RevokedTag] = []
        tags.reserveCapacity(lines.count)
        for (index, line) in lines.enumerated() {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 3, let kind = Revocation.Kind(rawValue: String(parts[0])),
                let tag = SubjectTag(hexadecimal: parts[1]), let before = Int64(parts[2]), 0...(1 << 53) ~= before
            else { throw fault("must be kind, tag and Unix milliseconds", member: "revocations", element: index) }
            // The export writes 2^53 for a revocation of all tokens.
            let time = Timestamp(millisecondsSince1970: before == 1 << 53 ? .max : before)
            tags.append(RevokedTag(kind: kind, tag: tag, issuedBefore: time))
        }
        return tags
    }

    /// Reads `keys`.
    fileprivate func keys() throws(JSONObjectFault) -> [EdgeBundle.Key] {
        let keys = try list("keys") { (object) throws(JSONObjectFault) in try EdgeBundle.Key(object) }
        do throws(KeySetError) { _ = try KeySet(keys.map(\.key)) } catch { throw fault("\(error)", member: "keys") }
        return keys
    }
}

extension JSONFault {
    /// The fault in words.
    fileprivate var sentence: String {
        switch self {
        case .notJSON: "this is no JSON"
        case .tooDeep: "lists and objects are nested too deeply"
        case .tooManyMembers(let limit): "an object has more than \(limit) members"
        case .tooLong(let limit): "a list has more than \(limit) elements"
        case .repeatedMember(let name): "\(name): repeated member"
        }
    }
}
