// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings

/// A writer of references: those to protected hosts with the grant, all others as they are.
package struct ReferenceWriter: Sendable {
    /// The result of rewriting a reference.
    package enum Outcome: Hashable, Sendable {
        /// The reference stays as it is; nothing was written.
        case unchanged
        /// The reference was written with the grant.
        case written
    }

    /// A property of a reference that the writer must know.
    package struct Traits: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The text is a template with identifiers such as `$Number%05d$` (ISO/IEC 23009-1 §5.3.9.4.4).
        package static let template = Traits(rawValue: 1)
        /// The text has variables, `{$name}`, whose values are unknown. The grant is written before those of the query, and a
        /// relative reference with one in its path as an absolute path, so that no value can change the host.
        package static let unresolved = Traits(rawValue: 2)
    }

    private let rules: ManifestRules
    /// `/PREFIX` and the grant, or the name of the parameter, `=` and the grant.
    private let grant: [UInt8]
    /// The authority that was looked at last: manifests repeat a few.
    private var last: (scheme: RequestURI.Scheme, authority: [UInt8], isProtected: Bool)?

    /// Creates a writer for one manifest.
    package init(_ rules: ManifestRules) {
        self.rules = rules
        switch rules.mode {
        case .segment(let prefix): grant = [UInt8]("/\(prefix)\(rules.grant)".utf8)
        case .query(let name): grant = [UInt8]("\(name)=\(rules.grant)".utf8)
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
        _ traits: Traits = [],
        to output: inout [UInt8]
    ) throws(ReferenceFault) -> Outcome {
        let parts = try ReferenceParts(reference)
        guard try isProtected(parts, reference, base) else { return .unchanged }
        try parts.check(reference, isTemplate: traits.contains(.template))
        if output.isEmpty { output.reserveCapacity(base.path.count + reference.count + grant.count + 2) }
        switch rules.mode {
        case .segment(let prefix): try writeSegment(reference, parts, base, prefix, to: &output)
        case .query(let name): try writeQuery(reference, parts, base, name, traits, to: &output)
        }
        return .written
    }

    /// Returns the base that a reference makes for those below it, such as a `BaseURL` (RFC 3986 §5.2).
    package mutating func base(
        _ reference: Span<UInt8>,
        against base: ReferenceBase
    ) throws(ReferenceFault) -> ReferenceBase {
        let parts = try ReferenceParts(reference)
        let isProtected = try isProtected(parts, reference, base)
        if isProtected { try parts.check(reference, isTemplate: false) }
        var (scheme, authority, folder) = (base.scheme, [UInt8](reference.extracting(parts.authority)), base.folder)
        let root = [UInt8(ascii: "/")]
        switch parts.form {
        case .otherScheme: return ReferenceBase(nil, [], path: root, query: nil, isProtected: false)
        case .absolute(let named): (scheme, folder) = (named, root.span)
        case .network: folder = root.span
        case .path: authority = base.authority
        }
        let query = parts.query.map { [UInt8](reference.extracting($0)) }
        if parts.path.isEmpty, parts.form == .path {
            return ReferenceBase(
                scheme,
                authority,
                path: base.path,
                query: query ?? base.query,
                isProtected: isProtected
            )
        }
        var path: [UInt8] = []
        try ResolvedPath.append(reference.extracting(parts.path), in: folder, without: nil, to: &path)
        return ReferenceBase(scheme, authority, path: path, query: query, isProtected: isProtected)
    }

    private mutating func isProtected(
        _ parts: ReferenceParts,
        _ reference: Span<UInt8>,
        _ base: ReferenceBase
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
        guard let found = ProtectedHost.contains(rules.hosts, scheme, authority, rules.base.scheme) else {
            throw .badHost
        }
        last = (scheme, [UInt8](authority), found)
        return found
    }

    private func writeSegment(
        _ reference: Span<UInt8>,
        _ parts: ReferenceParts,
        _ base: ReferenceBase,
        _ prefix: String,
        to output: inout [UInt8]
    ) throws(ReferenceFault) {
        output.append(copying: reference.extracting(..<parts.authority.upperBound))
        output += grant
        if parts.path.isEmpty, parts.form == .path {
            try ResolvedPath.append(base.path.span, in: base.folder, without: prefix, to: &output)
            if parts.query == nil, let query = base.query {
                output.append(UInt8(ascii: "?"))
                output += query
            }
        } else if parts.path.isEmpty {
            output.append(UInt8(ascii: "/"))
        } else {
            try ResolvedPath.append(reference.extracting(parts.path), in: base.folder, without: prefix, to: &output)
        }
        output.append(copying: reference.extracting(parts.path.upperBound...))
    }

    private func writeQuery(
        _ reference: Span<UInt8>,
        _ parts: ReferenceParts,
        _ base: ReferenceBase,
        _ name: String,
        _ traits: Traits,
        to output: inout [UInt8]
    ) throws(ReferenceFault) {
        let isOpen = traits.contains(.unresolved)
        if isOpen, parts.form == .path, reference.extracting(parts.path).hasVariable {
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
            GrantParameter.append(grant.span, named: name, to: query, isFirst: isFirst, &output)
        } else if parts.path.isEmpty, parts.form == .path, let query = base.query {
            GrantParameter.append(grant.span, named: name, to: query.span, isFirst: false, &output)
        } else {
            output += grant
        }
        output.append(copying: reference.extracting(parts.fragment...))
    }
}
