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
        text.member("version", value: .number(Self.version))
        if parts != nil { text.member("parts", value: true) }
        text.member("issued", value: .number(issued.millisecondsSince1970))
        if parts == nil { writeRules(into: &text) }
        if parts?.contains(.keys) ?? true, let grants { text.list("keys", values: grants.keys.map(\.json)) }
        if parts?.contains(.revocations) ?? true {
            text.list("revocations", values: revocations.map { .string($0.line) })
        }
        return text.finish()
    }

    private func writeRules(into text: inout PolicyWriter) {
        text.member("goodFor", value: .number(goodFor.milliseconds))
        if isShadow { text.member("shadow", value: true) }
        text.member("verification", value: verification.json)
        text.list("trust", values: trust.map(\.json))
        if let starts { text.member("starts", value: .string(starts.rawValue)) }
        if let grants {
            text.list("issuers", values: grants.issuers.map(\.json))
            text.list("signers", values: grants.signers.map(\.json))
            text.member("audience", value: .strings(grants.audience))
            text.list("profiles", values: grants.profiles.map(\.json))
        }
        text.list("policies", values: policies.map(\.json))
        text.list("catalogue", values: catalogue.entries.map(\.json))
        if let subjectKey { text.member("subjectKey", value: .string(Base64.encodeURLSafe(subjectKey.secret))) }
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

    mutating func member(_ name: String, value: JSON) {
        begin(name)
        value.write(to: &bytes)
    }

    mutating func list(_ name: String, values: [JSON]) {
        begin(name)
        bytes += "[".utf8
        for (index, value) in values.enumerated() {
            bytes += (index == 0 ? "\n" : ",\n").utf8
            value.write(to: &bytes)
        }
        bytes += "]".utf8
    }

    consuming func finish() -> [UInt8] {
        bytes += "\n}\n".utf8
        return bytes
    }
}

/// An object in the making: members with their default values are left out.
struct BundleMembers {
    private(set) var list: [JSON.Member] = []

    var json: JSON { .object(list) }

    mutating func add(_ name: String, value text: String?) { if let text { list.append((name, .string(text))) } }
    mutating func add(_ name: String, value flag: Bool) { if flag { list.append((name, true)) } }
    mutating func add(_ name: String, value texts: [String]?) { if let texts { list.append((name, .strings(texts))) } }
    mutating func add(_ name: String, value number: Int64?) { if let number { list.append((name, .number(number))) } }
    mutating func add(_ name: String, value duration: Duration?) { add(name, value: duration?.milliseconds) }
    mutating func add(_ name: String, base64 bytes: [UInt8]?) {
        add(name, value: bytes.map { Base64.encodeURLSafe($0) })
    }
    mutating func add(_ name: String, value json: JSON?) { if let json { list.append((name, json)) } }

    /// Adds a time, unless it stands for always.
    mutating func add(_ name: String, value time: Timestamp?) {
        guard let number = time?.millisecondsSince1970, -(1 << 53)...(1 << 53) ~= number else { return }
        add(name, value: number)
    }

    mutating func add(_ period: ClosedRange<Timestamp>?) {
        add("from", value: period?.lowerBound)
        add("until", value: period?.upperBound)
    }
}

extension RevokedTag {
    fileprivate var line: String {
        "\(kind.rawValue) \(tag.hexadecimal) \(min(max(issuedBefore.millisecondsSince1970, 0), 1 << 53))"
    }
}

extension VerificationPolicy {
    fileprivate var json: JSON {
        var members = BundleMembers()
        members.add("requestors", value: requestors)
        members.add("earlyLeeway", value: earlyLeeway)
        members.add("lateLeeway", value: lateLeeway)
        members.add("maximumTimeToLive", value: maximumTimeToLive)
        members.add("minimumKeySize", value: Int64(minimumKeySize.bits))
        members.add("match", value: MatchOption.all.filter { matchOptions[keyPath: $0.path] }.map(\.name))
        return members.json
    }
}

extension LoadedKey {
    fileprivate var json: JSON {
        var members = BundleMembers()
        members.add("name", value: key.name)
        members.add("tokens", value: key.tokens.rawValue)
        members.add("certificate", value: key.form == .certificate)
        members.add("bits", value: Int64(key.bits))
        if case .only(let requestors) = key.requestors { members.add("requestors", value: requestors) }
        members.add(key.validity)
        members.add("key", base64: der)
        return members.json
    }
}

extension Catalogue.Entry {
    fileprivate var json: JSON {
        var members = BundleMembers()
        if case .media(let id) = key { members.add("media", value: id) } else { members.add("path", value: key.text) }
        if !hosts.isEmpty { members.add("hosts", value: hosts) }
        switch protection {
        case .none: members.add("unprotected", value: true)
        case .ambiguous: members.add("ambiguous", value: true)
        case .resource(let resource, let requestor):
            members.add("resource", value: resource.text)
            members.add("opaque", value: resource.kind == .opaque)
            members.add("requestor", value: requestor)
        }
        members.add("licence", value: licence?.rawValue)
        if use != .once { members.add("admits", value: use.rawValue) }
        members.add("methods", value: methods.map(\.rawValue))
        members.add("shadow", value: isShadow)
        members.add("profiles", value: grants?.profiles.map(\.name))
        if hasGrants { members.add("tag", value: madeTag?.hexadecimal) }
        members.add("scope", value: grants?.scope)
        members.add("manifest", value: grants?.manifest)
        if grants?.isOfFiles ?? false { members.add("files", value: true) }
        return members.json
    }
}

extension PlaybackPolicy {
    fileprivate var json: JSON {
        var members = BundleMembers()
        members.add("requestors", value: requestors)
        members.add("allowedMVPDs", value: allowedMVPDs)
        if !deniedMVPDs.isEmpty { members.add("deniedMVPDs", value: deniedMVPDs) }
        let ratings = maximumRatings.map { rating -> JSON in
            ["scheme": .string(rating.scheme), "value": .string(rating.value)]
        }
        if !ratings.isEmpty { members.add("maximumRatings", value: .array(ratings)) }
        members.add("allowsUnrated", value: allowsUnrated)
        return members.json
    }
}

extension EdgeBundle.Key {
    fileprivate var json: JSON {
        var members = BundleMembers()
        members.add("issuer", value: key.issuer)
        members.add("format", value: key.format.rawValue)
        members.add("id", base64: key.id?.bytes)
        members.add("algorithm", value: key.algorithm.rawValue)
        if key.leniency.rawValue != 0 { members.add("leniency", value: Int64(key.leniency.rawValue)) }
        members.add(key.validity)
        members.add("secret", base64: key.secret)
        members.add("publicKey", base64: key.publicKeyInfo)
        if let renewing {
            var terms = BundleMembers()
            terms.add("name", value: renewing.name)
            terms.add("from", value: renewing.from)
            terms.add("until", value: renewing.until)
            members.add("renews", value: terms.json)
        }
        return members.json
    }
}

extension AcceptedIssuer {
    fileprivate var json: JSON {
        var members = BundleMembers()
        members.add("name", value: name)
        members.add("nameOptional", value: isNameOptional)
        members.add("expirationOptional", value: !requiresExpiration)
        members.add("own", value: isOwn)
        members.add("maximumSession", value: maximumSession)
        members.add("or", value: labels.or)
        members.add("nor", value: labels.nor)
        members.add("and", value: labels.and)
        members.add("crit", value: labels.critical)
        let renamed = labels.renamed.sorted { $0.key < $1.key }.map { label, meaning -> JSON in
            ["label": .number(label), "meaning": .number(meaning.rawValue)]
        }
        if !renamed.isEmpty { members.add("labels", value: .array(renamed)) }
        return members.json
    }
}

extension AcceptedSigner {
    fileprivate var json: JSON {
        var members = BundleMembers()
        members.add("name", value: name)
        members.add("nameOptional", value: isNameOptional)
        members.add("expirationOptional", value: !requiresExpiration)
        members.add("containerOptional", value: !requiresContainer)
        members.add("match", value: match.rawValue)
        members.add("own", value: isOwn)
        members.add("maximumSession", value: maximumSession)
        members.add("renewalWindow", value: renewalWindow)
        if !headers.isEmpty { members.add("headers", value: headers.map(\.encoded)) }
        if !decryptionKeys.isEmpty { members.add("decryptionKeys", value: .array(decryptionKeys.map(\.json))) }
        return members.json
    }
}

extension EncryptionKey {
    fileprivate var json: JSON {
        var members = BundleMembers()
        members.add("id", base64: id?.bytes)
        members.add("algorithm", value: algorithm.rawValue)
        members.add("encryption", value: encryption.rawValue)
        members.add("secret", base64: secret)
        return members.json
    }
}

extension GrantProfile {
    fileprivate var json: JSON {
        var members = BundleMembers()
        members.add("name", value: name)
        members.add("format", value: format.name)
        members.add("issuer", value: issuer)
        members.add("keys", value: keyIDs)
        rules.write(into: &members)
        return members.json
    }
}
