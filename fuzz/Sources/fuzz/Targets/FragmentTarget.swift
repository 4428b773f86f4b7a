// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Encodings
@testable import MediaResources
@testable import XML

extension Target {
    /// Resources: the canonical form is its own canonical form, the result does not depend on what a parser read before, and
    /// a fragment has the elements of libxml2's tree.
    ///
    /// The input is two resources, separated by a zero byte.
    static let fragment = Target(name: "fragment") { input in
        var input = input
        let (first, second) = (input.part(), input.bytes)
        let left = read(first)
        let right = read(second)
        demand(read(first) == left, or: "read twice, \(first.debugText) gives two answers")
        guard case .success(let resource) = left else { return }
        checkSingle(resource)
        if resource.kind == .fragment { checkEvents(first) }
        guard case .success(let other) = right else { return }
        demand((resource == other) == (other == resource), or: "not symmetric")
        let isCovering = resource.covers(other)
        demand(isCovering == (resource == other || first == second), or: "covers without options is equality")
        demand(
            other.mismatch(withGranted: resource.text) == resource.mismatch(with: other),
            or: "read and unread differ"
        )
        for bits in 0..<UInt8(128) where bits.nonzeroBitCount < 3 {
            let options = MediaResource.MatchOptions(bits: bits)
            let mismatch = resource.mismatch(with: other, options: options)
            demand(resource.covers(other, options: options) == (mismatch == nil), or: "covers and mismatch differ")
            // Every option except these two accepts more than equality.
            if isCovering, !options.exactOnly, options.videoNamespaceAlias {
                demand(mismatch == nil, or: "an option takes less than equality: \(options)")
            }
        }
    }

    private static func read(_ bytes: [UInt8]) -> Result<MediaResource, ResourceError> {
        do throws(ResourceError) { return .success(try MediaResource(utf8: bytes)) } catch { return .failure(error) }
    }

    private static func checkSingle(_ resource: MediaResource) {
        demand(resource.covers(resource) && resource == resource, or: "not itself")
        if resource.kind == .opaque { return }
        let canonical: MediaResource
        do throws(ResourceError) { canonical = try MediaResource(resource.canonicalForm) } catch {
            // With its namespaces written out, the form may exceed the size limit.
            return demand(error.code == .tooLarge, or: "the canonical form cannot be read: \(error)")
        }
        demand(
            canonical == resource && canonical.hashValue == resource.hashValue,
            or: "the canonical form is another one"
        )
        demand(canonical.canonicalForm == resource.canonicalForm, or: "the canonical form has another canonical form")
        demand(canonical.channel.hasSameBytes(as: resource.channel), or: "another channel")
        demand(canonical.itemTitle == resource.itemTitle && canonical.guid == resource.guid, or: "another item")
        demand(canonical.ratings == resource.ratings && canonical.isChannel == resource.isChannel, or: "other ratings")
        guard resource.facts.extras == ResourceFacts.Extras() else { return }
        do throws(ResourceError) {
            let built = try MediaResource(
                channel: resource.channel,
                itemTitle: resource.itemTitle,
                guid: resource.guid,
                ratings: resource.ratings
            )
            demand(built == resource, or: "what is built of the same facts is another one")
        } catch { demand(error.code == .tooLarge, or: "cannot be built of its own facts: \(error)") }
    }

    /// Compares the events of the push parser with the tree.
    private static func checkEvents(_ fragment: [UInt8]) {
        guard var parser = XMLEventParser(limits: FragmentReader.limits) else { return }
        parser.read(fragment.span, isLast: true)
        guard parser.failure == nil, let tree = XMLTree(fragment) else {
            return demand(false, or: "taken, and not well-formed: \(fragment.debugText)")
        }
        let events = parser.events
        let nodes: [XMLTree.Node] = events.list.indices.compactMap { index in
            let event = events.list[index]
            let name = [UInt8](copying: events.text(event.name))
            let (namespace, value) = (events.namespace(event.namespace), [UInt8](copying: events.text(event.value)))
            return switch event.kind {
            case .start: .start(namespace: namespace, name: name)
            case .attribute: .attribute(namespace: namespace, name: name, value: value)
            case .text: .text(value)
            case .end: .end
            // Text that a comment interrupts is refused later.
            case .interruption: nil
            }
        }
        demand(XMLTree.joiningTexts(nodes) == tree.content, or: "the tree of \(fragment.debugText) is another one")
    }
}

extension MediaResource.MatchOptions {
    fileprivate init(bits: UInt8) {
        self.init()
        exactOnly = bits & 1 != 0
        channelCoversAssets = bits & 2 != 0
        ignoreRating = bits & 4 != 0
        schemeAliases = bits & 8 != 0
        ignoreCase = bits & 16 != 0
        collapseWhitespace = bits & 32 != 0
        videoNamespaceAlias = bits & 64 == 0
    }
}
