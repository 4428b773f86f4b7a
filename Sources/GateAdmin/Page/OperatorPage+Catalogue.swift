// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
package import Encodings
internal import GateAPI
internal import GateConfiguration
internal import MediaResources
package import PlaybackGate

// The look-up in the catalogue: the entry that protects a path or a media id.

extension OperatorPage {
    func cataloguePage(_ visit: Visit) throws(APIRefusal) -> APIAnswer {
        let form = try visit.parameters.get()
        let (target, host) = (form.optional("target"), form.optional("host"))
        let content: HTML = """
            <form class="fields" action="/ui/catalogue">
            <label><span>Path, as a player requests it, or media id</span>\
            <input name="target" value="\(target)" placeholder="/live/tnt/seg-1.m4s" required></label>
            <label><span>Host (for entries that name hosts)</span><input name="host" value="\(host)"></label>
            <button>Look up</button>
            </form>
            \(target.isEmpty ? nil : result(for: Self.target(target), host: host, in: visit))
            """
        return .page("Catalogue", content: content, caller: visit.caller.name, at: "/ui/catalogue")
    }

    /// Reads a path or a media id.
    package static func target(_ text: String) -> PlaybackRequest.Target {
        text.utf8.first == UInt8(ascii: "/") ? .path(text[...]) : .media(text)
    }

    private func result(for target: PlaybackRequest.Target, host: String, in visit: Visit) -> HTML {
        let name = host.isEmpty ? nil : HostName(host[...])?.text
        switch visit.snapshot.gate.catalogue.find(target, host: name) {
        case .entry(let entry): return Self.table(Self.facts(entry))
        case .unknown:
            return
                "<p class=\"fault\" role=\"status\">No entry covers it: it is protected, and nothing opens it (unknown_media).</p>"
        case .invalidPath(let error):
            return "<p class=\"fault\" role=\"status\">The path is refused (invalid_path): \("\(error)")</p>"
        case .hostMissing:
            return "<p class=\"fault\" role=\"status\">Entries name hosts: give the host that the player requests.</p>"
        }
    }

    private static func facts(_ entry: Catalogue.Entry) -> [(String, String)] {
        var facts = [("Entry", entry.key.text)]
        switch entry.protection {
        case .none: facts.append(("Protection", "none: it plays without a token"))
        case .resource(let resource, let requestor):
            facts += [("Resource", resource.text), ("Requestor", requestor), ("Use of tokens", entry.use.rawValue)]
        case .ambiguous: facts.append(("Protection", "two feeds differ: nothing opens it"))
        }
        if let terms = entry.grants { facts.append(("Grants", terms.profiles.map(\.name).joined(separator: ", "))) }
        if let scope = entry.grants?.scope { facts.append(("Scope of grants", scope)) }
        facts.append(("Methods", entry.methods.map(\.rawValue).joined(separator: ", ")))
        if !entry.hosts.isEmpty { facts.append(("Hosts", entry.hosts.joined(separator: ", "))) }
        if entry.isShadow { facts.append(("Shadow", "refusals are logged, and allowed")) }
        switch entry.origin {
        case .list: facts.append(("From", "the configuration"))
        case .feed(let name, let line): facts.append(("From", "\(name), line \(line)"))
        }
        return facts
    }

    package static func table(_ facts: [(String, String)]) -> HTML {
        let rows = facts.map { name, text in "<tr><th>\(name)</th><td>\(text)</td></tr>" as HTML }
        return "<table role=\"status\"><tbody>\(rows)</tbody></table>"
    }
}

extension FormParameters {
    /// Returns the value of a parameter; empty if it is not there.
    package func optional(_ name: String) -> String { (try? required(name)) ?? "" }
}
