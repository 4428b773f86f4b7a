// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import RequestTargets

/// A writer of references: those to protected hosts with the grant, all others as they are.
package struct ReferenceWriter: Sendable {
    /// The result of rewriting a reference.
    package enum Outcome: Hashable, Sendable {
        /// The reference stays as it is; nothing was written.
        case unchanged
        /// The reference is one to a protected host, and was written with the grant, unless its traits say otherwise.
        case written
        /// The reference is one to another host, and was written for a player whose URL is another one.
        case resolved
    }

    /// A property of a reference that the writer must know.
    package struct Traits: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The text is a template with identifiers such as `$Number%05d$` (ISO/IEC 23009-1 §5.3.9.4.4).
        package static let template = Traits(rawValue: 1)
        /// The text has variables, `{$name}`, whose values are unknown. The grant is written before those of the query.
        /// A relative reference with one in its path is written as an absolute path, so that no value can change the
        /// host.
        package static let unresolved = Traits(rawValue: 2)
        /// The text is resolved against the player's URL, which may be another one than that of the manifest.
        package static let forPlayer = Traits(rawValue: 4)
        /// The reference gets no grant, and loses an old one, though its host is protected.
        package static let withoutGrant = Traits(rawValue: 8)
    }

    private let rules: ManifestRules
    /// `/PREFIX` and the grant, or the name of the parameter, `=` and the grant.
    private let grant: [UInt8]
    /// The authority that was looked at last: manifests repeat a few.
    private var last: (scheme: RequestURI.Scheme, authority: [UInt8], isProtected: Bool)?

    /// A text in the position of the grant.
    package enum Text: Sendable {
        /// The grant of references that the next reload names again.
        case grant
        /// The grant of references that players retain over reloads.
        case lasting
        /// The variable that has the grant, ``PlaylistVariables/own``.
        case variable
    }

    /// Creates a writer for one manifest.
    package init(_ rules: ManifestRules, writing text: Text = .grant) {
        self.rules = rules
        let text =
            switch text {
            case .grant: rules.grant
            case .lasting: rules.lastingGrant
            case .variable: PlaylistVariables.reference
            }
        switch rules.mode {
        case .segment(let prefix): grant = [UInt8]("/\(prefix)\(text)".utf8)
        case .query(let name): grant = [UInt8]("\(name)=\(text)".utf8)
        }
    }

    /// Writes a reference with the grant, if it is one to a protected host. A grant that it carries is replaced.
    ///
    /// - Parameters:
    ///   - reference: The reference in UTF-8, without any escapes of the manifest's format.
    ///   - base: The URL to which it is relative.
    ///   - output: The reference is appended to it; nothing is if it stays as it is.
    package mutating func write(
        _ reference: Span<UInt8>,
        against base: ReferenceBase,
        traits: Traits = [],
        to output: inout [UInt8]
    ) throws(ReferenceFault) -> Outcome {
        if let encoded = try reference.encodingBlanks() {
            return try write(encoded.span, against: base, traits: traits, to: &output)
        }
        let parts = try ReferenceParts(reference)
        guard try isProtected(parts, of: reference, against: base) else {
            guard traits.contains(.forPlayer), parts.needsSite(of: base, for: rules.requested) else {
                return .unchanged
            }
            try parts.check(reference, isTemplate: traits.contains(.template))
            try writePath(reference, parts: parts, against: base, traits: traits, without: nil, to: &output)
            parts.appendInheritedQuery(of: base, to: &output)
            output.append(copying: reference.extracting(parts.path.upperBound...))
            return .resolved
        }
        try parts.check(reference, isTemplate: traits.contains(.template))
        if output.isEmpty { output.reserveCapacity(base.path.count + reference.count + grant.count + 2) }
        guard !traits.contains(.withoutGrant) else {
            try writeWithoutGrant(reference, parts: parts, against: base, traits: traits, to: &output)
            return .written
        }
        switch rules.mode {
        case .segment(let prefix):
            try writeSegment(reference, parts: parts, against: base, prefix: prefix, traits: traits, to: &output)
        case .query(let name):
            try writeQuery(reference, parts: parts, against: base, name: name, traits: traits, to: &output)
        }
        return .written
    }

    /// Returns the base that a reference makes for those below it, such as a `BaseURL` (RFC 3986 §5.2).
    package mutating func base(
        _ reference: Span<UInt8>,
        against base: ReferenceBase
    ) throws(ReferenceFault) -> ReferenceBase {
        if let encoded = try reference.encodingBlanks() { return try self.base(encoded.span, against: base) }
        let parts = try ReferenceParts(reference)
        let isProtected = try isProtected(parts, of: reference, against: base)
        if isProtected { try parts.check(reference, isTemplate: false) }
        var found = try base.resolving(reference, parts: parts)
        found.isProtected = isProtected
        return found
    }

    private mutating func isProtected(
        _ parts: ReferenceParts,
        of reference: Span<UInt8>,
        against base: ReferenceBase
    ) throws(ReferenceFault) -> Bool {
        let scheme: RequestURI.Scheme
        switch parts.form {
        case .otherScheme: return false
        case .path: return base.isProtected
        case .absolute(let named): scheme = named
        case .network:
            guard let own = base.scheme else { throw .ambiguousAuthority }
            scheme = own
        }
        let authority = reference.extracting(parts.authority)
        if let last, last.scheme == scheme, last.authority.span.hasSameBytes(as: authority) { return last.isProtected }
        guard
            let found = ProtectedHost.contains(
                rules.hosts,
                scheme: scheme,
                authority: authority,
                own: rules.requested.scheme
            )
        else {
            throw .badHost
        }
        last = (scheme, [UInt8](authority), found)
        return found
    }

    private func writeSegment(
        _ reference: Span<UInt8>,
        parts: ReferenceParts,
        against base: ReferenceBase,
        prefix: String,
        traits: Traits,
        to output: inout [UInt8]
    ) throws(ReferenceFault) {
        guard rules.isDirect else {
            try writePath(
                reference,
                parts: parts,
                against: base,
                traits: traits,
                without: prefix,
                hasGrant: true,
                to: &output
            )
            parts.appendInheritedQuery(of: base, to: &output)
            return output.append(copying: reference.extracting(parts.path.upperBound...))
        }
        output.append(copying: reference.extracting(..<parts.authority.upperBound))
        output += grant
        if parts.path.isEmpty, parts.form == .path {
            try ResolvedPath.append(base.path.span, in: base.folder, without: prefix, to: &output)
            parts.appendInheritedQuery(of: base, to: &output)
        } else if parts.path.isEmpty {
            output.append(UInt8(ascii: "/"))
        } else {
            try ResolvedPath.append(reference.extracting(parts.path), in: base.folder, without: prefix, to: &output)
        }
        output.append(copying: reference.extracting(parts.path.upperBound...))
    }

    private func writeQuery(
        _ reference: Span<UInt8>,
        parts: ReferenceParts,
        against base: ReferenceBase,
        name: String,
        traits: Traits,
        to output: inout [UInt8]
    ) throws(ReferenceFault) {
        let isOpen = traits.contains(.unresolved)
        // A value may have a query of its own, in which the grant would be a part of another parameter.
        if isOpen, reference.extracting(parts.path).endsInVariable { throw .unknownVariable }
        if !rules.isDirect {
            try writePath(reference, parts: parts, against: base, traits: traits, without: nil, to: &output)
        } else if isOpen, parts.form == .path, reference.extracting(parts.path).hasVariable {
            let start = output.count
            try ResolvedPath.append(reference.extracting(parts.path), in: base.folder, without: nil, to: &output)
            // A reference that begins with two slashes has a host.
            guard !output.span.extracting(start...).hasPrefix("//") else { throw .emptySegment }
        } else {
            output.append(copying: reference.extracting(..<parts.path.upperBound))
            if parts.path.isEmpty, parts.form != .path { output.append(UInt8(ascii: "/")) }
        }
        output.append(UInt8(ascii: "?"))
        if let query = parts.query {
            let query = reference.extracting(query)
            let isFirst = isOpen && GrantParameter.hasVariable(in: query, notNamed: name)
            try GrantParameter.append(grant.span, named: name, to: query, isFirst: isFirst, into: &output)
        } else if let query = parts.inheritedQuery(of: base) {
            try GrantParameter.append(grant.span, named: name, to: query.span, isFirst: false, into: &output)
        } else {
            output += grant
        }
        output.append(copying: reference.extracting(parts.fragment...))
    }

    /// Writes a reference without a grant. It is resolved, since a path relative to a URL with a grant would have that too.
    private func writeWithoutGrant(
        _ reference: Span<UInt8>,
        parts: ReferenceParts,
        against base: ReferenceBase,
        traits: Traits,
        to output: inout [UInt8]
    ) throws(ReferenceFault) {
        var prefix: String?
        if case .segment(let name) = rules.mode { prefix = name }
        try writePath(reference, parts: parts, against: base, traits: traits, without: prefix, to: &output)
        let own = parts.query.map { [UInt8](reference.extracting($0)) }
        if let query = own ?? parts.inheritedQuery(of: base) {
            output.append(UInt8(ascii: "?"))
            // A parameter of the origin's by the same name stays.
            if !GrantParameter.appendOthers(than: rules.mode.parameter, of: query.span, onlyGrants: true, &output) {
                output.removeLast()
            }
        }
        output.append(copying: reference.extracting(parts.fragment...))
    }

    /// Writes a reference up to its query, resolved, so that a player with another URL than the manifest's requests the same.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of segments that are left out; `nil` to retain them all.
    ///   - hasGrant: True to write a segment with the grant, behind the public path.
    private func writePath(
        _ reference: Span<UInt8>,
        parts: ReferenceParts,
        against base: ReferenceBase,
        traits: Traits,
        without prefix: String?,
        hasGrant: Bool = false,
        to output: inout [UInt8]
    ) throws(ReferenceFault) {
        let target = try base.resolving(reference, parts: parts)
        if parts.form != .path {
            if traits.contains(.forPlayer), parts.needsSite(of: base, for: rules.requested) {
                output += "\(target.scheme?.rawValue ?? ""):".utf8
            }
            output.append(copying: reference.extracting(..<parts.authority.upperBound))
        }
        let needsSite = parts.form == .path && traits.contains(.forPlayer) && !base.hasSameSite(as: rules.requested)
        if needsSite { output += base.origin }
        let start = output.count
        let isPublic = target.hasSameHost(as: rules.requested) && rules.publicPath.isPrefix(of: target.path.span)
        let cut = isPublic ? rules.publicPath.bytes.count : 0
        output += target.path[..<cut]
        if hasGrant { output += grant }
        try ResolvedPath.append(target.path.span.extracting(cut...), in: "/".utf8.span, without: prefix, to: &output)
        // A reference that begins with two slashes has a host.
        if parts.form == .path, !needsSite, output.span.extracting(start...).hasPrefix("//") { throw .emptySegment }
    }
}

extension ReferenceParts {
    /// The query that a reference without a path and a query has from its base (RFC 3986 §5.2.2).
    fileprivate func inheritedQuery(of base: ReferenceBase) -> [UInt8]? {
        form == .path && path.isEmpty && query == nil ? base.query : nil
    }

    /// Appends that query with its leading `?`, if there is one.
    func appendInheritedQuery(of base: ReferenceBase, to output: inout [UInt8]) {
        guard let query = inheritedQuery(of: base) else { return }
        output.append(UInt8(ascii: "?"))
        output += query
    }

    /// True if a player with another URL would resolve the reference to another site or path.
    fileprivate func needsSite(of base: ReferenceBase, for player: ReferenceBase) -> Bool {
        switch form {
        case .path: true
        case .network: base.scheme != player.scheme
        case .absolute, .otherScheme: false
        }
    }
}
