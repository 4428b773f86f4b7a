// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Manifests

extension Target {
    /// HLS playlists: what is not refused has every line, the grant where a browser goes to the protected host, and nowhere
    /// else; pieces and a second rewriting change nothing.
    ///
    /// First byte: the rules, and the seed of the split.
    static let hls = Target(name: "hls") { input in
        var input = input
        let choice = input.choice()
        let playlist = input.bytes
        let isSegment = choice & 1 == 0
        let rules =
            choice & 2 == 0 ? (isSegment ? ownHost.segment : ownHost.query) : (isSegment ? other.segment : other.query)
        let host = choice & 2 == 0 ? "cdn.example" : "keys.example"
        let whole = rewrite(playlist, rules: rules) { playlist.count }
        var random = SplitMix64(seed: UInt64(choice))
        let pieces = rewrite(playlist, rules: rules) { Int.random(in: 1...40, using: &random) }
        demand(pieces == whole, or: "other pieces, another answer: \(playlist.debugText)")
        guard case .success(let output) = whole else { return }
        let (before, after) = (lines(playlist), lines(output))
        demand(before.count == after.count, or: "a line more or less")
        for (old, new) in zip(before, after) { check(before: old, after: new, host: host) }
        switch rewrite(output, rules: rules, size: { output.count }) {
        case .success(let again):
            demand(again == output, or: "another output when rewritten again: \(output.debugText)")
        // The grants make it longer.
        case .failure(let fault): demand(fault.code == .tooLarge, or: "refused when rewritten again: \(fault)")
        }
    }

    private static let ownHost = rules(hosts: nil)
    private static let other = rules(hosts: ["keys.example"])

    private static func rules(hosts: [String]?) -> (segment: ManifestRules, query: ManifestRules) {
        let url = "https://cdn.example/live/tnt/index.m3u8?region=eu&cat=OLD&h=https://evil.example&q=%22%0a"
        var limits = ManifestLimits()
        (limits.lines, limits.references, limits.lineLength) = (200, 100, 1000)
        guard
            let segment = try? ManifestRules(
                url: url,
                grant: "FUZZGRANT",
                mode: .segment(),
                hosts: hosts,
                limits: limits
            ),
            let query = try? ManifestRules(url: url, grant: "FUZZGRANT", mode: .query(), hosts: hosts, limits: limits)
        else { fatalError("no rules") }
        return (segment, query)
    }

    private static func rewrite(
        _ playlist: [UInt8],
        rules: ManifestRules,
        size: () -> Int
    ) -> Result<[UInt8], ManifestFault> {
        var rewriter = HLSRewriter(rules: rules)
        var output: [UInt8] = []
        do throws(ManifestFault) {
            var start = 0
            while start < playlist.count {
                let end = min(start + size(), playlist.count)
                try rewriter.append(playlist.span.extracting(start..<end), to: &output)
                start = end
            }
            try rewriter.finish(to: &output)
        } catch {
            return .failure(error)
        }
        return .success(output)
    }

    private static func lines(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.split(separator: 0x0A, omittingEmptySubsequences: false).map { $0.last == 0x0D ? $0.dropLast() : $0 }
    }

    /// Checks a line before and after, by a reader of URLs that is another than the rewriter's.
    private static func check(before: ArraySlice<UInt8>, after: ArraySlice<UInt8>, host: String) {
        let grant = Array("FUZZGRANT".utf8)
        let text = String(decoding: after, as: UTF8.self)
        guard after.contains(grant) && !before.contains(grant) else {
            if !before.contains(grant) { demand(before == after, or: "a line without the grant changed: \(text)") }
            // A plain line that a browser takes to the protected host carries the grant.
            if text.hasPrefix("\u{FEFF}#EXTM3U") { return }
            let isReference = after.first != UInt8(ascii: "#") && !after.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            if isReference, !before.contains(grant), !text.contains("{$") {
                demand(!BrowserURL(text).isProtected(host), or: "without the grant: \(text)")
            }
            return
        }
        var references = [text]
        if after.first == UInt8(ascii: "#") {
            references = text.split(separator: "\"", omittingEmptySubsequences: false).filter {
                $0.contains("FUZZGRANT")
            }
            .map(String.init)
        }
        for reference in references {
            // Whatever a player knows of a variable, the host stays.
            for value in [
                "v", "//evil.example/", "https://evil.example/", "..", "../..", "?", "#", "@evil.example", "\\",
            ] {
                let expanded = BrowserURL.expand(reference, with: value)
                demand(
                    BrowserURL(expanded).isProtected(host),
                    or: "the grant goes elsewhere: \(reference) with \(value)"
                )
            }
        }
    }
}

/// The scheme and host of a reference, read as browsers do (WHATWG URL), in a playlist at `https://cdn.example`.
struct BrowserURL {
    private var scheme = "https"
    private var host = "cdn.example"
    /// True if the reference has neither a scheme nor a host.
    private(set) var isRelative = true

    init(_ reference: String) {
        var rest = Array(reference.unicodeScalars.filter { $0 != "\t" && $0 != "\n" && $0 != "\r" })[...]
        while let first = rest.first, first.value <= 0x20 { rest = rest.dropFirst() }
        let isSlash = { (scalar: Unicode.Scalar) in scalar == "/" || scalar == "\\" }
        var slashes = 0
        if let colon = rest.firstIndex(of: ":"), rest[..<colon].allSatisfy(Self.isScheme),
            rest.first.map(Self.isLetter) == true
        {
            scheme = Self.text(rest[..<colon]).lowercased()
            rest = rest[(colon + 1)...]
            isRelative = false
            guard scheme == "http" || scheme == "https" else { return }
            // Any number of slashes, or none if the scheme is another than the base's.
            slashes = 2
            while let first = rest.first, isSlash(first) { rest = rest.dropFirst() }
        } else {
            while let first = rest.first, isSlash(first) {
                slashes += 1
                rest = rest.dropFirst()
            }
        }
        guard slashes >= 2 else { return }
        isRelative = false
        var authority = rest.prefix { !isSlash($0) && $0 != "?" && $0 != "#" }
        if let at = authority.lastIndex(of: "@") { authority = authority[(at + 1)...] }
        host = Self.text(authority).lowercased()
        if let colon = host.lastIndex(of: ":"), Int(host[host.index(after: colon)...]) ?? 443 == 443 {
            host = String(host[..<colon])
        }
        if host.hasSuffix(".") { host.removeLast() }
    }

    func isProtected(_ host: String) -> Bool { scheme == "https" && self.host == host }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }
    private static func isScheme(_ scalar: Unicode.Scalar) -> Bool {
        isLetter(scalar) || ("0"..."9").contains(scalar) || scalar == "+" || scalar == "-" || scalar == "."
    }
    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    /// Replaces all variables by `value`.
    static func expand(_ reference: String, with value: String) -> String {
        var text = ""
        var rest = reference[...]
        while let start = rest.firstRange(of: "{$"), let end = rest[start.upperBound...].firstIndex(of: "}") {
            text += rest[..<start.lowerBound] + value
            rest = rest[rest.index(after: end)...]
        }
        return text + rest
    }
}

extension ArraySlice<UInt8> {
    fileprivate func contains(_ other: [UInt8]) -> Bool { firstRange(of: other) != nil }
}
