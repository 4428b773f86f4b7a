// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import RequestTargets

/// A chooser of the text of a reference that several bases may apply to.
///
/// Knows the URL that every player must request: the old URL, with the grant if its host is protected. It tries a few
/// texts in order: the old text, the text with the grant in it, and the absolute URL. It chooses the first that yields
/// the right URL against every base. The written text is thereby proved, and never a guess; if none is right, the
/// reference is refused.
struct MPDReferenceChooser {
    /// The text of a reference.
    enum Choice: Equatable {
        case unchanged
        case replaced([UInt8])
        /// No text is right for all bases.
        case impossible
    }

    /// The conditions of a choice.
    struct Conditions: OptionSet {
        let rawValue: UInt8
        /// The text is a template.
        static let template = Conditions(rawValue: 1)
        /// The text must be an absolute URL.
        static let absolute = Conditions(rawValue: 2)
        /// The grant is not to be added: the URL is requested by nobody, and the grant is in a query.
        static let bare = Conditions(rawValue: 4)
    }

    private var writer: ReferenceWriter
    /// The number of resolutions that are still allowed.
    private var budget: Int
    /// The largest template that is filled in, in bytes.
    private let longest: Int
    /// True if a reference was left to the URL of the MPD.
    private(set) var usesDocument = false
    /// True if players differ about the host of that URL too, so that absolute paths count.
    var isAmbiguous = false

    /// True if the player's URL has another scheme than the MPD's.
    private let hasOtherScheme: Bool

    init(_ rules: ManifestRules) {
        hasOtherScheme = rules.base.scheme != rules.requested.scheme
        writer = ReferenceWriter(rules)
        budget = 4 * rules.limits.references
        longest = rules.limits.lineLength
    }

    /// True if there were too many references for their bases, or one was too long.
    var isExhausted: Bool { budget < 0 }

    /// Chooses the text of a reference.
    mutating func choose(
        _ value: [UInt8],
        in contexts: [MPDContext],
        under conditions: Conditions
    ) throws(ReferenceFault) -> Choice {
        if let encoded = try value.span.encodingBlanks() { return try choose(encoded, in: contexts, under: conditions) }
        budget -= contexts.count
        guard budget >= 0, let first = contexts.first else { return .impossible }
        var targets: [ReferenceBase] = []
        var granted: MPDContext?
        for context in contexts {
            guard let filled = fill(value, in: context, under: conditions) else { return .impossible }
            var target = try writer.base(filled.span, against: context.base.old)
            if target.isProtected, !conditions.contains(.bare) {
                granted = granted ?? context
                target = try grant(filled, against: context.base.old)
            }
            targets.append(target.asRead)
        }
        if try fits(value, in: contexts, targets: targets, under: conditions) {
            return finish(.unchanged, of: value, in: contexts)
        }
        var traits: ReferenceWriter.Traits = []
        if conditions.contains(.template) { traits = .template }
        var candidate: [UInt8] = []
        if let granted {
            _ = try writer.write(value.span, against: granted.base.old, traits: traits, to: &candidate)
            if try fits(candidate, in: contexts, targets: targets, under: conditions) {
                return finish(.replaced(candidate), of: candidate, in: contexts)
            }
        }
        let absolute = try absolute(value, against: (granted ?? first).base.old)
        candidate = []
        if granted == nil {
            candidate = absolute
        } else {
            _ = try writer.write(absolute.span, against: (granted ?? first).base.old, traits: traits, to: &candidate)
        }
        guard try fits(candidate, in: contexts, targets: targets, under: conditions) else { return .impossible }
        return finish(.replaced(candidate), of: candidate, in: contexts)
    }

    /// Returns the base that a `BaseURL` makes: from its old text against the old base, its new one against the new.
    mutating func base(old: [UInt8], new: [UInt8], in base: MPDBase) throws(ReferenceFault) -> MPDBase {
        budget -= 1
        return MPDBase(
            old: try writer.base(old.span, against: base.old),
            new: try writer.base(new.span, against: base.new),
            isDocument: false
        )
    }

    /// Returns the base that an absolute URL is.
    mutating func base(_ url: [UInt8], in base: ReferenceBase) throws(ReferenceFault) -> ReferenceBase {
        try writer.base(url.span, against: base)
    }

    /// Returns a reference with the grant, if it is a protected one.
    mutating func written(_ value: [UInt8], against base: ReferenceBase) throws(ReferenceFault) -> [UInt8] {
        var written: [UInt8] = []
        let outcome = try writer.write(value.span, against: base, to: &written)
        return outcome == .written ? written : value
    }

    /// Returns the URL of a reference with the grant, if it is a protected one.
    mutating func grant(_ value: [UInt8], against base: ReferenceBase) throws(ReferenceFault) -> ReferenceBase {
        var reference: [UInt8] = []
        guard try writer.write(value.span, against: base, to: &reference) == .written else {
            return try writer.base(value.span, against: base).asRead
        }
        return try writer.base(reference.span, against: base.asRead)
    }

    /// Fills a template in; `nil` if that is longer than a tag may be.
    private mutating func fill(_ value: [UInt8], in context: MPDContext, under conditions: Conditions) -> [UInt8]? {
        guard conditions.contains(.template) else { return value }
        let filled = MPDTemplate.fill(value, id: context.id, limit: longest)
        if filled == nil { budget = -1 }
        return filled
    }

    /// Returns true if a text is the wanted URL against every base.
    private mutating func fits(
        _ candidate: [UInt8],
        in contexts: [MPDContext],
        targets: [ReferenceBase],
        under conditions: Conditions
    ) throws(ReferenceFault) -> Bool {
        if conditions.contains(.absolute) { guard try !isRelative(candidate) else { return false } }
        for (context, target) in zip(contexts, targets) {
            budget -= 1
            guard let filled = fill(candidate, in: context, under: conditions) else { return false }
            let found = try writer.base(filled.span, against: context.base.new)
            guard found.isSame(as: target) else { return false }
        }
        return true
    }

    private mutating func finish(_ choice: Choice, of value: [UInt8], in contexts: [MPDContext]) -> Choice {
        guard !usesDocument, contexts.contains(where: \.base.isDocument) else { return choice }
        let form = try? ReferenceParts(value.span).form
        switch form {
        case .path: usesDocument = isAmbiguous || value.first != UInt8(ascii: "/")
        case .network: usesDocument = hasOtherScheme
        case .absolute, .otherScheme, nil: break
        }
        return choice
    }

    private func isRelative(_ value: [UInt8]) throws(ReferenceFault) -> Bool {
        switch try ReferenceParts(value.span).form {
        case .path, .network: true
        case .absolute, .otherScheme: false
        }
    }

    /// Returns the absolute URL of a reference or template, with a fragment.
    private func absolute(_ value: [UInt8], against base: ReferenceBase) throws(ReferenceFault) -> [UInt8] {
        let bytes = value.span
        let parts = try ReferenceParts(bytes)
        guard base.scheme != nil else { return value }
        switch parts.form {
        case .absolute, .otherScheme: return value
        case .network: return [UInt8]("\(base.scheme?.rawValue ?? ""):".utf8) + value
        case .path: break
        }
        var url = try base.origin + base.resolving(bytes, parts: parts).path
        parts.appendInheritedQuery(of: base, to: &url)
        url.append(copying: bytes.extracting(parts.path.upperBound...))
        return url
    }
}
