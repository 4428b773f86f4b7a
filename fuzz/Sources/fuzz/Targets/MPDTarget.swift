// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Manifests

extension Target {
    /// MPDs: what is not refused has the same tree but for references; no base of a reference with the grant is another host
    /// than the protected one; a second rewriting changes nothing.
    ///
    /// First byte: the place of the grant.
    static let dash = Target(name: "dash") { input in
        var input = input
        let choice = input.choice()
        let mpd = input.bytes
        let rules = choice & 1 == 0 ? rulesOfMPD.segment : rulesOfMPD.query
        let grant = Array("FUZZGRANT".utf8)
        guard mpd.firstRange(of: grant) == nil, let output = try? MPDRewriter.rewrite(mpd.span, rules: rules) else {
            return
        }
        guard let before = XMLTree(mpd).flatMap(MPDNode.init), let after = XMLTree(output).flatMap(MPDNode.init) else {
            return demand(false, or: "rewritten, but libxml2 reads no tree of it")
        }
        let hasBase = before.children.contains { $0.name == "BaseURL" }
        demand(
            before.isSame(as: after, dropsBases: !hasBase),
            or: "another tree: \(String(decoding: output, as: UTF8.self))"
        )
        after.check([])
        do throws(ManifestFault) {
            let again = try MPDRewriter.rewrite(output.span, rules: rules)
            demand(
                again == output,
                or: "another output when rewritten again: \(String(decoding: output, as: UTF8.self))"
            )
        } catch {
            // The grants make it longer.
            demand(error.code == .tooLarge, or: "refused when rewritten again: \(error)")
        }
    }

    private static let rulesOfMPD: (segment: ManifestRules, query: ManifestRules) = {
        var limits = ManifestLimits()
        (limits.size, limits.references, limits.lineLength) = (20_000, 100, 2000)
        let url = "https://cdn.example/live/tnt/main.mpd?region=eu&cat=OLD"
        guard let segment = try? ManifestRules(url: url, grant: "FUZZGRANT", mode: .segment(), limits: limits),
            let query = try? ManifestRules(url: url, grant: "FUZZGRANT", mode: .query(), limits: limits)
        else { fatalError("no rules") }
        return (segment, query)
    }()
}

/// An element of an MPD, from libxml2's tree.
private final class MPDNode {
    let name: String
    var attributes: [(name: String, value: String)] = []
    var text = ""
    var children: [MPDNode] = []

    private init(name: String) { self.name = name }

    convenience init?(_ tree: XMLTree) {
        self.init(name: "")
        var open: [MPDNode] = [self]
        for node in tree.nodes {
            switch node {
            case .start(_, let name):
                let child = MPDNode(name: String(decoding: name, as: UTF8.self))
                open[open.count - 1].children.append(child)
                open.append(child)
            case .attribute(let namespace, let name, let value):
                let prefix = namespace.isEmpty ? "" : "{}"
                let attribute = (prefix + String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
                open[open.count - 1].attributes.append(attribute)
            case .text(let text): open[open.count - 1].text += String(decoding: text, as: UTF8.self)
            case .end: open.removeLast()
            case .other: break
            }
        }
        guard children.count == 1 else { return nil }
        // The root stands for the document.
        let root = children[0]
        children = root.children
        attributes = root.attributes
    }

    private static let references: Set<String> = [
        "media", "initialization", "index", "bitstreamSwitching", "sourceURL", "value", "queryTemplate", "{}href",
        "uri", "url", "messageData",
    ]
    private static let texts: Set<String> = [
        "BaseURL", "Location", "PatchLocation", "ContentSteering", "ImportedMPD", "Event",
    ]
    /// The names of the levels below the MPD, from the highest.
    private static let levels: [Set<String>] = [
        ["Period"], ["AdaptationSet", "EmptyAdaptationSet"], ["Representation"],
    ]

    private func isLevel(below levels: Int) -> Bool { 1...3 ~= levels && Self.levels[levels - 1].contains(name) }

    /// Returns true if nothing but references differs. `dropsBases` leaves out the `BaseURL` that is written for the MPD.
    func isSame(as other: MPDNode, dropsBases: Bool) -> Bool {
        let theirs = other.children.filter { !dropsBases || $0.name != "BaseURL" }
        guard name == other.name, children.count == theirs.count, attributes.count == other.attributes.count else {
            return false
        }
        guard Self.texts.contains(name) || text == other.text else { return false }
        for (own, their) in zip(attributes, other.attributes) {
            guard own.name == their.name, Self.references.contains(own.name) || own.value == their.value else {
                return false
            }
        }
        return zip(children, theirs).allSatisfy { $0.isSame(as: $1, dropsBases: false) }
    }

    /// Checks that no reference with the grant below this element can go to another host. `above` has the levels from the MPD to
    /// this element, without it.
    func check(_ above: [MPDNode]) {
        let levels = above.isEmpty || isLevel(below: above.count) ? above + [self] : above
        for child in children {
            if Self.texts.contains(child.name) {
                child.check(child.text, in: child.name == "BaseURL" ? above : levels, isSegment: false)
            }
            let isSegment = [
                "SegmentTemplate", "SegmentURL", "Initialization", "RepresentationIndex", "BitstreamSwitching",
            ]
            .contains(child.name)
            for (name, value) in child.attributes {
                for item in value.split(separator: " ") {
                    child.check(String(item), in: levels, isSegment: isSegment && name != "{}href")
                }
            }
            child.check(levels)
        }
    }

    private func check(_ reference: String, in levels: [MPDNode], isSegment: Bool) {
        guard reference.contains("FUZZGRANT") else { return }
        let url = BrowserURL(reference)
        guard url.isRelative else {
            return demand(url.isProtected("cdn.example"), or: "the grant goes elsewhere: \(reference)")
        }
        for chain in isSegment ? levels.last?.chains(levels) ?? [] : [levels] {
            for base in Self.bases(in: chain, isSegment: isSegment) {
                demand(
                    BrowserURL(base).isProtected("cdn.example"),
                    or: "the grant goes elsewhere: \(reference) at \(base)"
                )
            }
        }
    }

    /// The levels down to each Representation in this level.
    private func chains(_ levels: [MPDNode]) -> [[MPDNode]] {
        let lower = children.filter { $0.isLevel(below: levels.count) }
        return lower.isEmpty ? [levels] : lower.flatMap { $0.chains(levels + [$0]) }
    }

    /// The absolute bases that a relative reference can be resolved against.
    private static func bases(in levels: [MPDNode], isSegment: Bool) -> [String] {
        var found: [String] = []
        for level in levels.reversed() {
            let own = level.children.filter { $0.name == "BaseURL" }.map(\.text)
            let absolute = own.filter { !BrowserURL($0).isRelative }
            found += absolute
            if !own.isEmpty, absolute.count == own.count { return found }
        }
        guard isSegment, let root = levels.first, !root.children.contains(where: { $0.name == "BaseURL" }) else {
            return found
        }
        // dash.js takes a location of the MPD for the base.
        return found + root.children.filter { $0.name == "Location" }.map(\.text).filter { !BrowserURL($0).isRelative }
    }
}
