// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import GateAPI
internal import GateConfiguration
internal import MediaResources
package import PlaybackGate

// The look-up in the catalogue: the entry that protects a path or a media id.

extension OperatorPage {
    private struct CatalogueView {
        let target: String
        let host: String
        var fault: String?
        var entry: Entry?

        struct Entry {
            let facts: [PageFact]
        }
    }

    func cataloguePage(_ visit: Visit) throws(APIRefusal) -> APIAnswer {
        let form = try visit.parameters.get()
        var view = CatalogueView(target: form.optional("target"), host: form.optional("host"))
        if !view.target.isEmpty { find(Self.target(view.target), in: visit, view: &view) }
        return page(.catalogue, title: "Catalogue", content: view, for: visit, at: "/ui/catalogue")
    }

    /// Reads a path or a media id.
    package static func target(_ text: String) -> PlaybackRequest.Target {
        text.utf8.first == UInt8(ascii: "/") ? .path(text[...]) : .media(text)
    }

    private func find(_ target: PlaybackRequest.Target, in visit: Visit, view: inout CatalogueView) {
        let name = view.host.isEmpty ? nil : HostName(view.host[...])?.text
        switch visit.snapshot.gate.catalogue.find(target, host: name) {
        case .entry(let entry): view.entry = .init(facts: Self.facts(entry))
        case .unknown:
            view.fault = "No entry covers it: it is protected, and nothing opens it (unknown_media)."
        case .invalidPath(let error): view.fault = "The path is refused (invalid_path): \(error)"
        case .hostMissing: view.fault = "Entries name hosts: give the host that the player requests."
        }
    }

    private static func facts(_ entry: Catalogue.Entry) -> [PageFact] {
        var facts = [PageFact("Entry", text: entry.key.text)]
        switch entry.protection {
        case .none: facts.append(.init("Protection", text: "none: it plays without a token"))
        case .resource(let resource, let requestor):
            facts += [
                .init("Resource", text: resource.text), .init("Requestor", text: requestor),
                .init("Use of tokens", text: entry.use.rawValue),
            ]
        case .ambiguous: facts.append(.init("Protection", text: "two feeds differ: nothing opens it"))
        }
        if let terms = entry.grants {
            facts.append(.init("Grants", text: terms.profiles.map(\.name).joined(separator: ", ")))
        }
        if let scope = entry.grants?.scope { facts.append(.init("Scope of grants", text: scope)) }
        facts.append(.init("Methods", text: entry.methods.map(\.rawValue).joined(separator: ", ")))
        if !entry.hosts.isEmpty { facts.append(.init("Hosts", text: entry.hosts.joined(separator: ", "))) }
        if entry.isShadow { facts.append(.init("Shadow", text: "refusals are logged, and allowed")) }
        switch entry.origin {
        case .list: facts.append(.init("From", text: "the configuration"))
        case .feed(let name, let line): facts.append(.init("From", text: "\(name), line \(line)"))
        }
        return facts
    }
}

extension FormParameters {
    /// Returns the value of a parameter; empty if it is not there.
    package func optional(_ name: String) -> String { (try? required(name)) ?? "" }
}
