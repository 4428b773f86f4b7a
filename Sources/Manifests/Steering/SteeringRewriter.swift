// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A rewriter of a steering manifest, by which a server moves players from one pathway to another.
///
/// Rewrites `RELOAD-URI`, and of each clone of a pathway the URIs of its variants and renditions. The host of a clone
/// replaces that of URIs with a grant, so a clone on a host that is not protected is refused. All other bytes stay as
/// they are.
///
/// Source: draft-pantos-content-steering §4 and §5, ETSI TS 103 998 for DASH.
public struct SteeringRewriter: ManifestRewriting {
    private let rules: ManifestRules
    private var writer: ReferenceWriter
    private var document: [UInt8] = []
    /// The edits of strings, by the offset of their quotation mark.
    private var edits: [(offset: Int, text: [UInt8])] = []
    /// The offsets of all values, each before those in it.
    private var offsets: [Int] = []
    private var references = 0

    /// Creates a rewriter of one steering manifest. Its references get the lasting grant of the rules.
    public init(rules: ManifestRules) {
        self.rules = rules
        writer = ReferenceWriter(rules, writing: .lasting)
    }

    /// Stores the next bytes of the manifest.
    ///
    /// - Throws: ``ManifestFault`` with ``ManifestCode/tooLarge`` above ``ManifestLimits/size``.
    public mutating func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(ManifestFault) {
        try document.append(bytes, within: rules.limits)
    }

    /// Rewrites the manifest.
    public mutating func finish(to output: inout [UInt8]) throws(ManifestFault) {
        let located: LocatedJSON
        do throws(LocatedJSON.Fault) {
            let limits = JSONLimits(depth: 16, members: rules.limits.attributes, elements: 1024)
            located = try JSONReader.readLocated(document.span, limits: limits)
        } catch {
            throw ManifestFault(
                .malformed,
                line: document.span.line(of: error.offset),
                reason: "not a steering manifest in JSON"
            )
        }
        guard case .object(let members) = located.json, members.contains(where: { $0.name == "VERSION" }) else {
            throw ManifestFault(.malformed, line: 1, reason: "not a steering manifest: it has no VERSION")
        }
        offsets = located.offsets
        var number = 0
        try visit(located.json, as: .manifest, numbered: &number)
        write(to: &output)
    }

    /// The meaning of a value, by the names that lead to it.
    private enum Role {
        case manifest, clones, clone, replacement, host, parameters, uris, uri, other

        /// The role of a member of an object with this role.
        func member(_ name: String) -> Role {
            switch (self, name) {
            case (.manifest, "RELOAD-URI"), (.uris, _): .uri
            case (.manifest, "PATHWAY-CLONES"): .clones
            case (.clone, "URI-REPLACEMENT"): .replacement
            case (.replacement, "HOST"): .host
            case (.replacement, "PARAMS"): .parameters
            case (.replacement, "PER-VARIANT-URIS"), (.replacement, "PER-RENDITION-URIS"): .uris
            default: .other
            }
        }
    }

    /// Rewrites a value and those in it, in the order of the text.
    ///
    /// - Parameter number: The number of the value, and then of the next one.
    private mutating func visit(_ value: JSON, as role: Role, numbered number: inout Int) throws(ManifestFault) {
        let offset = offsets[number]
        number += 1
        switch (role, value) {
        case (.uri, .string(let uri)): try rewrite(uri, at: offset)
        case (.host, .string(let host)):
            guard isProtected(host) else {
                throw fault(
                    "a clone would carry grants to another host: protect it too",
                    at: offset,
                    code: .unsupported
                )
            }
        case (.clones, .array(let clones)): for clone in clones { try visit(clone, as: .clone, numbered: &number) }
        case (.manifest, .object(let members)), (.clone, .object(let members)), (.replacement, .object(let members)),
            (.parameters, .object(let members)), (.uris, .object(let members)), (.other, .object(let members)):
            for member in members {
                if case .query(let name) = rules.mode, role == .parameters, member.name == name {
                    throw ManifestFault(.foreignParameter, line: document.span.line(of: offset))
                }
                try visit(member.value, as: role.member(member.name), numbered: &number)
            }
        case (.other, .array(let values)): for value in values { try visit(value, as: .other, numbered: &number) }
        case (.other, _): break
        case (.uri, _), (.host, _), (.clones, _), (.manifest, _), (.clone, _), (.replacement, _), (.parameters, _),
            (.uris, _):
            throw fault("a value of another type than steering manifests have", at: offset)
        }
    }

    /// True if the host that replaces that of the player's URL is a protected one.
    private func isProtected(_ host: String) -> Bool {
        let scheme = rules.requested.scheme
        return ProtectedHost.contains(rules.hosts, scheme: scheme, authority: host.utf8.span, own: scheme) ?? false
    }

    private mutating func rewrite(_ uri: String, at offset: Int) throws(ManifestFault) {
        references += 1
        guard references <= rules.limits.references else {
            throw fault("more than \(rules.limits.references) references", at: offset, code: .tooLarge)
        }
        var text: [UInt8] = []
        do throws(ReferenceFault) {
            guard try writer.write(uri.utf8.span, against: rules.base, traits: rules.traits, to: &text) != .unchanged
            else {
                return
            }
        } catch {
            throw ManifestFault(error, line: document.span.line(of: offset))
        }
        edits.append((offset, text))
    }

    /// Writes the manifest with its edits, which are in the order of their offsets.
    private func write(to output: inout [UInt8]) {
        let bytes = document.span
        var position = 0
        for edit in edits {
            output.append(copying: bytes.extracting(position..<edit.offset))
            JSON.write(utf8: edit.text.span, to: &output)
            position = edit.offset + 1
            while bytes[position] != UInt8(ascii: "\"") { position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1 }
            position += 1
        }
        output.append(copying: bytes.extracting(position...))
    }

    private func fault(_ reason: String, at offset: Int, code: ManifestCode = .malformed) -> ManifestFault {
        ManifestFault(code, line: document.span.line(of: offset), reason: reason)
    }
}
