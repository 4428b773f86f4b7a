// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The bases of the levels of an MPD, and the edits of its `BaseURL`s (ISO/IEC 23009-1 §5.6.4).
///
/// Several `BaseURL`s of a level are alternatives; so a reference below them is one to each, and each combines with each of
/// the level above.
struct MPDBases {
    /// The most different bases of a level.
    static let maximum = 64

    /// The different lists of bases. The first is the MPD's URL.
    private(set) var lists: [[MPDBase]] = []
    /// For each level, the index of its list.
    private(set) var list: [Int] = []
    /// The edits of `BaseURL`s, and the one with a new `BaseURL`'s text.
    private(set) var edits: [(field: MPDField, value: [UInt8])] = []
    /// The text of a `BaseURL` for an MPD without one.
    let documentURL: [UInt8]
    /// True if players differ about the URL that an MPD without a `BaseURL` is relative to.
    let isAmbiguous: Bool
    /// The MPD's URL.
    let document: MPDBase

    /// Finds the bases of all levels.
    init(
        of outline: MPDOutline,
        in document: Span<UInt8>,
        rules: ManifestRules,
        chooser: inout MPDReferenceChooser
    ) throws(ManifestFault) {
        let (own, requested) = (rules.base, rules.requested)
        let (files, isDocumentFile) = Self.files(of: outline, mode: rules.mode)
        do throws(ReferenceFault) {
            let folder = try chooser.grant([UInt8]("./".utf8), against: own)
            isAmbiguous = try Self.isAmbiguous(outline, in: document, against: own, chooser: &chooser)
            chooser.isAmbiguous = isAmbiguous || !own.hasSameSite(as: requested)
            // A grant in a query is lost by references, and is of no use in a base.
            var path = folder.path
            if case .query = rules.mode { path = [UInt8](own.folder) }
            let url = folder.origin + path
            documentURL = isDocumentFile ? try chooser.written(url, against: own) : url
            let pinned = try chooser.base(documentURL, in: own)
            self.document = MPDBase(old: own, new: requested, isDocument: false)
            let isSame = pinned.hasSameFolder(as: requested) && !isAmbiguous
            lists = [[MPDBase(old: own, new: isSame ? requested : pinned, isDocument: true)]]
        } catch {
            throw ManifestFault(error, line: nil)
        }
        list.reserveCapacity(outline.levels.count)
        for index in outline.levels.indices {
            list.append(
                try read(outline.levels[index], isFile: files[index], in: document, rules: rules, chooser: &chooser)
            )
        }
    }

    /// Returns true if a `Location` has another folder than the MPD: dash.js uses it as the base, other players do not.
    private static func isAmbiguous(
        _ outline: MPDOutline,
        in document: Span<UInt8>,
        against own: ReferenceBase,
        chooser: inout MPDReferenceChooser
    ) throws(ReferenceFault) -> Bool {
        for location in outline.locations {
            guard let value = location.value(in: document), !value.isEmpty else { continue }
            let other = try chooser.grant(value, against: own)
            guard try other.hasSameFolder(as: chooser.grant([UInt8]("./".utf8), against: own)) else { return true }
        }
        return false
    }

    /// Returns, for each level, true if its `BaseURL`s are URLs of segments, and need a grant in their query. Also
    /// returns the same for a `BaseURL` that is written for the MPD.
    private static func files(of outline: MPDOutline, mode: ManifestRules.Mode) -> ([Bool], isDocumentFile: Bool) {
        var files = outline.levels.map { _ in false }
        var isDocumentFile = false
        guard case .query = mode else { return (files, false) }
        for lowest in outline.levels.indices where !outline.levels[lowest].hasLower {
            var (hasSegments, usesBase, holder) = (false, false, nil as Int?)
            var level = lowest as Int?
            while let index = level {
                hasSegments = hasSegments || outline.levels[index].hasSegments
                usesBase = usesBase || outline.levels[index].usesBase
                if holder == nil, !outline.levels[index].bases.isEmpty { holder = index }
                level = outline.levels[index].parent
            }
            guard usesBase || !hasSegments else { continue }
            if let holder { files[holder] = true } else { isDocumentFile = true }
        }
        return (files, isDocumentFile)
    }

    /// Returns the index of the list of a level's bases, and adds the edits of its `BaseURL`s.
    private mutating func read(
        _ level: MPDOutline.Level,
        isFile: Bool,
        in document: Span<UInt8>,
        rules: ManifestRules,
        chooser: inout MPDReferenceChooser
    ) throws(ManifestFault) -> Int {
        let above = level.parent.map { list[$0] } ?? 0
        guard !level.bases.isEmpty else { return above }
        // A `BaseURL` of the MPD is not relative to one that is written for it.
        let outer = level.parent == nil ? [self.document] : lists[above]
        let conditions = conditions(for: level, isFile: isFile, mode: rules.mode)
        var bases: [MPDBase] = []
        for field in level.bases {
            let value = field.value(in: document) ?? []
            do throws(ReferenceFault) {
                var new = value
                switch try chooser.choose(value, in: outer.map { MPDContext(base: $0) }, under: conditions) {
                case .unchanged: break
                case .replaced(let text):
                    new = text
                    edits.append((field, text))
                case .impossible:
                    throw .grantToOtherHost
                }
                for base in outer {
                    let base = try chooser.base(old: value, new: new, in: base)
                    if !bases.contains(base) { bases.append(base) }
                }
            } catch {
                throw ManifestFault.of(error, at: field, in: document, chooser: chooser)
            }
            guard bases.count <= Self.maximum else {
                let line = document.line(of: field.range.lowerBound)
                throw ManifestFault(.tooLarge, line: line, reason: "more than \(Self.maximum) different bases")
            }
        }
        lists.append(bases)
        return lists.count - 1
    }

    private func conditions(
        for level: MPDOutline.Level,
        isFile: Bool,
        mode: ManifestRules.Mode
    ) -> MPDReferenceChooser.Conditions {
        var conditions: MPDReferenceChooser.Conditions = []
        if case .query = mode, !isFile { conditions.insert(.bare) }
        if level.parent == nil, isAmbiguous { conditions.insert(.absolute) }
        return conditions
    }
}

extension ManifestFault {
    /// Creates the refusal of a reference at its position.
    static func of(
        _ fault: ReferenceFault,
        at field: MPDField,
        in document: Span<UInt8>,
        chooser: MPDReferenceChooser
    ) -> ManifestFault {
        let line = document.line(of: field.range.lowerBound)
        if chooser.isExhausted {
            return ManifestFault(
                .tooLarge,
                line: line,
                reason: "too many references with several bases, or a template that is too long once it is filled in"
            )
        }
        guard fault == .grantToOtherHost else { return ManifestFault(fault, line: line) }
        return ManifestFault(
            .unsupported,
            line: line,
            reason: "a reference has several bases, and no text of it fits all"
        )
    }
}
