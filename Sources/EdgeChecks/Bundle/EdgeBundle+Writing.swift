// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import Encodings
internal import Keys
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import PlaybackGate
internal import ReplayStores
internal import URISigning

extension EdgeBundle {
    /// The parts of a document that ``updated(by:at:)`` replaces.
    package enum Part: String, CaseIterable, Sendable {
        /// The revoked subjects.
        case revocations
        /// The keys of grants.
        case keys
    }

    /// Returns the document as JSON, with a line for each element of a list.
    ///
    /// - Parameter parts: The only parts to write; `nil` for the whole policy.
    package func json(parts: Set<Part>? = nil) -> [UInt8] {
        var text = PolicyWriter()
        text.member("version", .number(Self.version))
        if parts != nil { text.member("parts", true) }
        text.member("issued", .number(issued.millisecondsSince1970))
        if parts == nil { writeRules(into: &text) }
        if parts?.contains(.keys) ?? true, let grants { text.list("keys", grants.keys.map(\.json)) }
        if parts?.contains(.revocations) ?? true { text.list("revocations", revocations.map { .string($0.line) }) }
        return text.finish()
    }

    private func writeRules(into text: inout PolicyWriter) {
        text.member("goodFor", .number(goodFor.milliseconds))
        if isShadow { text.member("shadow", true) }
        text.member("verification", verification.json)
        text.list("trust", trust.map(\.json))
        if let grants {
            text.list("issuers", grants.issuers.map(\.json))
            text.list("signers", grants.signers.map(\.json))
            text.member("audience", .strings(grants.audience))
            text.list("profiles", grants.profiles.map(\.json))
        }
        text.list("policies", policies.map(\.json))
        text.list("catalogue", catalogue.entries.map(\.json))
        if let subjectKey { text.member("subjectKey", .string(Base64.encodeURLSafe(subjectKey.secret))) }
    }
}

/// A writer of an object whose members, and the elements of whose lists, have lines of their own.
private struct PolicyWriter {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]
    private var isEmpty = true

    private mutating func begin(_ name: String) {
        bytes += (isEmpty ? "\n" : ",\n").utf8
        isEmpty = false
        JSON.write(name, to: &bytes)
        bytes += ": ".utf8
    }

    mutating func member(_ name: String, _ value: JSON) {
        begin(name)
        value.write(to: &bytes)
    }

    mutating func list(_ name: String, _ values: [JSON]) {
        begin(name)
        bytes += "[".utf8
        for (place, value) in values.enumerated() {
            bytes += (place == 0 ? "\n" : ",\n").utf8
            value.write(to: &bytes)
        }
        bytes += "]".utf8
    }

    consuming func finish() -> [UInt8] {
        bytes += "\n}\n".utf8
        return bytes
    }
}

/// An object in the making: what has its default is left out.
private struct Members {
    private(set) var list: [JSON.Member] = []

    var json: JSON { .object(list) }

    mutating func add(_ name: String, _ text: String?) { if let text { list.append((name, .string(text))) } }
    mutating func add(_ name: String, _ flag: Bool) { if flag { list.append((name, true)) } }
    mutating func add(_ name: String, _ texts: [String]?) { if let texts { list.append((name, .strings(texts))) } }
    mutating func add(_ name: String, _ number: Int64?) { if let number { list.append((name, .number(number))) } }
    mutating func add(_ name: String, _ duration: Duration?) { add(name, duration?.milliseconds) }
    mutating func add(_ name: String, base64 bytes: [UInt8]?) { add(name, bytes.map { Base64.encodeURLSafe($0) }) }
    mutating func add(_ name: String, _ json: JSON?) { if let json { list.append((name, json)) } }

    /// Adds a time, unless it stands for always.
    mutating func add(_ name: String, _ time: Timestamp?) {
        guard let number = time?.millisecondsSince1970, -(1 << 53)...(1 << 53) ~= number else { return }
        add(name, number)
    }

    mutating func add(_ period: ClosedRange<Timestamp>?) {
        add("from", period?.lowerBound)
        add("until", period?.upperBound)
    }
}

extension RevokedTag {
    fileprivate var line: String {
        "\(kind.rawValue) \(tag.hexadecimal) \(min(max(issuedBefore.millisecondsSince1970, 0), 1 << 53))"
    }
}

extension VerificationPolicy {
    fileprivate var json: JSON {
        var members = Members()
        members.add("requestors", requestors)
        members.add("earlyLeeway", earlyLeeway)
        members.add("lateLeeway", lateLeeway)
        members.add("maximumTimeToLive", maximumTimeToLive)
        members.add("minimumKeySize", Int64(minimumKeySize.bits))
        members.add("match", MatchOption.all.filter { matchOptions[keyPath: $0.path] }.map(\.name))
        return members.json
    }
}

extension LoadedKey {
    fileprivate var json: JSON {
        var members = Members()
        members.add("name", key.name)
        members.add("tokens", key.tokens.rawValue)
        members.add("certificate", key.form == .certificate)
        members.add("bits", Int64(key.bits))
        if case .only(let requestors) = key.requestors { members.add("requestors", requestors) }
        members.add(key.validity)
        members.add("key", base64: der)
        return members.json
    }
}

extension Catalogue.Entry {
    fileprivate var json: JSON {
        var members = Members()
        if case .media(let id) = key { members.add("media", id) } else { members.add("path", key.text) }
        if !hosts.isEmpty { members.add("hosts", hosts) }
        switch protection {
        case .none: members.add("unprotected", true)
        case .ambiguous: members.add("ambiguous", true)
        case .resource(let resource, let requestor):
            members.add("resource", resource.text)
            members.add("opaque", resource.kind == .opaque)
            members.add("requestor", requestor)
        }
        if use != .once { members.add("use", use.rawValue) }
        members.add("methods", methods.map(\.rawValue))
        members.add("shadow", isShadow)
        members.add("profiles", grants?.profiles.map(\.name))
        if hasGrants { members.add("tag", madeTag?.hexadecimal) }
        members.add("scope", grants?.scope)
        members.add("manifest", grants?.manifest)
        if grants?.isOfFiles ?? false { members.add("files", true) }
        return members.json
    }
}

extension PlaybackPolicy {
    fileprivate var json: JSON {
        var members = Members()
        members.add("requestors", requestors)
        members.add("allowedMVPDs", allowedMVPDs)
        if !deniedMVPDs.isEmpty { members.add("deniedMVPDs", deniedMVPDs) }
        let ratings = maximumRatings.map { rating -> JSON in
            ["scheme": .string(rating.scheme), "value": .string(rating.value)]
        }
        if !ratings.isEmpty { members.add("maximumRatings", .array(ratings)) }
        members.add("allowsUnrated", allowsUnrated)
        return members.json
    }
}

extension EdgeBundle.Key {
    fileprivate var json: JSON {
        var members = Members()
        members.add("issuer", key.issuer)
        members.add("format", key.format.rawValue)
        members.add("id", base64: key.id?.bytes)
        members.add("algorithm", key.algorithm.rawValue)
        if key.leniency.rawValue != 0 { members.add("leniency", Int64(key.leniency.rawValue)) }
        members.add(key.validity)
        members.add("secret", base64: key.secret)
        members.add("publicKey", base64: key.publicKeyInfo)
        if let renewing {
            var terms = Members()
            terms.add("name", renewing.name)
            terms.add("from", renewing.from)
            terms.add("until", renewing.until)
            members.add("renews", terms.json)
        }
        return members.json
    }
}

extension AcceptedIssuer {
    fileprivate var json: JSON {
        var members = Members()
        members.add("name", name)
        members.add("nameOptional", isNameOptional)
        members.add("expirationOptional", !requiresExpiration)
        members.add("own", isOwn)
        members.add("maximumSession", maximumSession)
        members.add("or", labels.or)
        members.add("nor", labels.nor)
        members.add("and", labels.and)
        members.add("crit", labels.critical)
        let renamed = labels.renamed.sorted { $0.key < $1.key }.map { label, meaning -> JSON in
            ["label": .number(label), "meaning": .number(meaning.rawValue)]
        }
        if !renamed.isEmpty { members.add("labels", .array(renamed)) }
        return members.json
    }
}

extension AcceptedSigner {
    fileprivate var json: JSON {
        var members = Members()
        members.add("name", name)
        members.add("nameOptional", isNameOptional)
        members.add("expirationOptional", !requiresExpiration)
        members.add("containerOptional", !requiresContainer)
        members.add("match", match.rawValue)
        members.add("own", isOwn)
        members.add("maximumSession", maximumSession)
        members.add("renewalWindow", renewalWindow)
        if !headers.isEmpty { members.add("headers", headers.map(\.encoded)) }
        if !decryptionKeys.isEmpty { members.add("decryptionKeys", .array(decryptionKeys.map(\.json))) }
        return members.json
    }
}

extension EncryptionKey {
    fileprivate var json: JSON {
        var members = Members()
        members.add("id", base64: id?.bytes)
        members.add("algorithm", algorithm.rawValue)
        members.add("encryption", encryption.rawValue)
        members.add("secret", base64: secret)
        return members.json
    }
}

extension GrantProfile {
    fileprivate var json: JSON {
        var members = Members()
        members.add("name", name)
        members.add("format", format.name)
        members.add("issuer", issuer)
        members.add("keys", keyIDs)
        members.add("audience", rules.audience)
        members.add("life", rules.life)
        members.add("session", rules.session)
        if let renewal = rules.renewal {
            members.add(
                "renewal",
                ["way": .string(renewal.way.rawValue), "deadline": .number(renewal.deadline.milliseconds)] as JSON
            )
        }
        members.add("methods", rules.methods)
        if case .prefix(let prefix) = rules.scope { members.add("prefix", prefix) }
        if rules.binding.address != .none { members.add("address", rules.binding.address.rawValue) }
        if !rules.binding.headers.isEmpty { members.add("headers", rules.binding.headers) }
        members.add("host", rules.host)
        members.add("insecure", !rules.isSecure)
        members.add("deliver", rules.deliveries.map(\.rawValue).sorted())
        members.add("cookie", rules.cookie.json)
        if !rules.isRevocable { members.add("revocable", .bool(false)) }
        members.add("streams", rules.streamLimit.map { Int64($0) })
        members.add("unverified", rules.coversUnverified)
        members.add("signing", rules.signing.json)
        return members.json
    }
}

extension GrantProfile.SignedURIs {
    /// The rules; `nil` for the default ones.
    fileprivate var json: JSON? {
        guard self != GrantProfile.SignedURIs() else { return nil }
        var members = Members()
        members.add("container", container.rawValue)
        members.add("subject", subject.rawValue)
        members.add("encryptionKey", encryptionKey)
        members.add("omitsHeader", omitsHeader)
        return members.json
    }
}

extension GrantProfile.Cookie {
    fileprivate var json: JSON {
        var members = Members()
        members.add("name", name)
        members.add("sameSite", sameSite.rawValue)
        members.add("partitioned", isPartitioned)
        members.add("domain", domain)
        return members.json
    }
}
