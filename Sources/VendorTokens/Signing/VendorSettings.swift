// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The settings of a profile by name, from a configuration or a command line. Each is read once; settings that remain
/// at the end are unknown to the format.
struct VendorSettings {
    private var values: [String: String]

    init(_ values: [String: String]) { self.values = values }

    mutating func text(_ name: String) -> String? { values.removeValue(forKey: name) }

    mutating func demand(_ name: String) throws(SigningError) -> String {
        guard let text = text(name) else { throw SigningError(.missing, value: name) }
        return text
    }

    /// Returns `true` or `false`.
    mutating func flag(_ name: String) throws(SigningError) -> Bool? {
        switch text(name) {
        case nil: nil
        case "true": true
        case "false": false
        default: throw SigningError(.value, value: name)
        }
    }

    mutating func number(_ name: String) throws(SigningError) -> Int64? {
        guard let text = text(name) else { return nil }
        guard let number = text == "0" ? 0 : SigningText.number(text) else { throw SigningError(.value, value: name) }
        return number
    }

    mutating func choice<Choice: RawRepresentable<String>>(_ name: String) throws(SigningError) -> Choice? {
        guard let text = text(name) else { return nil }
        guard let choice = Choice(rawValue: text) else { throw SigningError(.value, value: name) }
        return choice
    }

    /// Returns the parts of a text that are separated by a character; empty without it.
    mutating func list(_ name: String, separator: Character = ",") -> [String] {
        text(name).map { $0.split(separator: separator, omittingEmptySubsequences: false).map(String.init) } ?? []
    }

    /// Throws if a setting was not read.
    func finish() throws(SigningError) {
        guard let name = values.keys.min() else { return }
        throw SigningError(.setting, value: name)
    }
}

extension VendorSettings {
    mutating func edgeAuth() throws(SigningError) -> EdgeAuthRules {
        var rules = EdgeAuthRules()
        rules.name = text("name") ?? rules.name
        rules.algorithm = try choice("algorithm") ?? rules.algorithm
        rules.isWeak = try flag("weak") ?? false
        rules.salt = text("salt")
        rules.isEscaped = try flag("escape") ?? false
        rules.hasStart = try flag("start") ?? false
        rules.signsURL = try flag("url") ?? true
        rules.patterns = list("acl", separator: "!")
        rules.data = text("data")
        return rules
    }

    mutating func cloudFront() throws(SigningError) -> CloudFrontRules {
        var rules = CloudFrontRules(keyPairID: try demand("key-pair-id"))
        rules.digest = try choice("digest") ?? rules.digest
        rules.isWeak = try flag("weak") ?? false
        rules.isCustom = try flag("custom") ?? false
        rules.hasStart = try flag("start") ?? false
        return rules
    }

    mutating func mediaCDN() throws(SigningError) -> MediaCDNRules {
        var rules = MediaCDNRules()
        rules.name = text("name") ?? rules.name
        rules.isWeak = try flag("weak") ?? false
        rules.folder = try choice("folder") ?? rules.folder
        rules.globs = list("globs")
        rules.hasStart = try flag("start") ?? false
        rules.data = text("data")
        for header in list("headers") {
            guard let mark = header.firstIndex(of: "=") else { throw SigningError(.value, value: "headers") }
            rules.headers.append(.init(String(header[..<mark]), value: String(header[header.index(after: mark)...])))
        }
        return rules
    }

    mutating func bunny() throws(SigningError) -> BunnyRules {
        var rules = BunnyRules()
        rules.countries = list("countries")
        rules.blockedCountries = list("blocked-countries")
        rules.limit = try number("limit").map { Int($0) }
        rules.ignoresParameters = try flag("ignore-params") ?? false
        return rules
    }

    mutating func cloudflare() throws(SigningError) -> CloudflareRules {
        var rules = CloudflareRules()
        rules.name = text("name") ?? rules.name
        rules.life = try number("life") ?? rules.life
        rules.isURLSafe = try flag("url-safe") ?? true
        return rules
    }

    mutating func fastly() throws(SigningError) -> FastlyRules {
        var rules = FastlyRules()
        rules.name = text("name") ?? rules.name
        rules.algorithm = try choice("algorithm") ?? rules.algorithm
        rules.isWeak = try flag("weak") ?? false
        rules.template = try text("template").map { (text) throws(SigningError) in try SigningTemplate(text) }
        return rules
    }

    mutating func secureLink() throws(SigningError) -> SecureLinkRules {
        var rules = SecureLinkRules(try SigningTemplate(try demand("template")))
        rules.isWeak = try flag("weak") ?? false
        rules.digestName = text("digest-name") ?? rules.digestName
        rules.expiresName = text("expires-name") ?? rules.expiresName
        rules.prefix = text("prefix")
        return rules
    }

    mutating func accessControl() throws(SigningError) -> AccessControlRules {
        var rules = AccessControlRules()
        rules.cookie = text("cookie") ?? rules.cookie
        rules.subject = text("subject")
        rules.hasIssueTime = try flag("issue-time") ?? true
        rules.hasStart = try flag("start") ?? false
        rules.tokenID = text("tid")
        rules.version = text("version")
        rules.scope = text("scope")
        return rules
    }

    mutating func urlSig() throws(SigningError) -> URLSigRules {
        var rules = URLSigRules()
        guard let number = Int(exactly: try number("key") ?? 0) else { throw SigningError(.value, value: "key") }
        rules.keyNumber = number
        switch text("algorithm") {
        case nil, "sha1": rules.algorithm = .sha1
        case "md5": rules.algorithm = .md5
        default: throw SigningError(.value, value: "algorithm")
        }
        rules.isWeak = try flag("weak") ?? false
        switch text("place") {
        case nil, "query": rules.location = .query
        case "segment": rules.location = .segment
        default: throw SigningError(.value, value: "place")
        }
        if let anchor = text("anchor") { rules.location = .anchor(anchor) }
        return rules
    }
}
