// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import Encodings
package import GateAPI
internal import GateConfiguration
package import HTTPServer
internal import MediaTokens
internal import NIOHTTP1
internal import PlaybackGate
internal import ReplayStores
internal import Telemetry

// Revocations, each of which is confirmed on a page of its own.

extension OperatorPage {
    /// The subjects of a revocation, as the form names them.
    private static let subjects = [
        ("playback", "Playback: its id, 32 hexadecimal digits, as in the log"),
        ("sessionGUID", "Session: sessionGUID of its tokens"),
        ("fingerprint", "Token: its SHA-256, as Inspect shows it"), ("mvpd", "MVPD: all viewers of a provider"),
    ]

    func revocationForm(_ visit: Visit) -> Reply<APIAnswer> {
        guard visit.mayRevoke else {
            return .now(
                .page(
                    "Revoke",
                    content: "<p>The scope revoke is required, which \(visit.caller.name) does not have.</p>",
                    caller: visit.caller.name,
                    at: "/ui/revoke"
                )
            )
        }
        return .later(.task { await revocationPage(visit) })
    }

    package func revocationPage(_ visit: Visit) async -> APIAnswer {
        let options = Self.subjects.map { name, title in "<option value=\"\(name)\">\(title)</option>" as HTML }
        let content: HTML = """
            <form class="fields" method="post" action="/ui/revoke" autocomplete="off">
            <label><span>Subject</span><select name="subject">\(options)</select></label>
            <label><span>Id</span><input name="id" required spellcheck="false"></label>
            <button>Go on</button>
            </form>
            <p class="hint">A revocation ends grants within seconds. You confirm it on the next page.</p>
            \(await list(visit))
            """
        return .page("Revoke", content: content, caller: visit.caller.name, at: "/ui/revoke")
    }

    /// The most revocations on the page.
    private static let maximumRows = 100

    /// The newest revocations in force, each with a button that lifts it.
    private func list(_ visit: Visit) async -> HTML {
        let list: (records: [RevocationRecord], hasMore: Bool)
        do throws(APIRefusal) { list = try await visit.snapshot.gate.listedRevocations(at: visit.time) } catch {
            return "<p class=\"fault\" role=\"alert\">The list cannot be read: \(error.message)</p>"
        }
        guard !list.records.isEmpty else { return "<p class=\"hint\">Nothing is revoked.</p>" }
        let rows = list.records.prefix(Self.maximumRows).map { record -> HTML in
            let id = record.key.hexadecimal
            return """
                <tr><td>\(record.kind?.rawValue ?? "session or mvpd")</td><td>\(record.session?.hexadecimal ?? id)</td>
                <td>\(record.kept.iso8601)</td><td><form method="post" action="/ui/lift">
                <input type="hidden" name="id" value="\(id)"><button>Lift</button></form></td></tr>
                """
        }
        let more: HTML? =
            list.hasMore || list.records.count > Self.maximumRows
            ? "<p class=\"hint\">The newest \("\(Self.maximumRows)") are shown; GET /v1/revocations has more.</p>"
                as HTML
            : nil
        return """
            <h2>In force</h2>
            <table><thead><tr><th>Kind</th><th>Playback, or id</th><th>Until</th><th></th></tr></thead>
            <tbody>\(rows)</tbody></table>
            \(more)
            """
    }

    /// Lifts the revocation with the id of a form.
    package func lift(_ visit: Visit) throws(APIRefusal) -> Reply<APIAnswer> {
        guard visit.mayRevoke else { throw APIRefusal(.scopeMissing, details: "the scope revoke is required") }
        let id = try visit.parameters.get().required("id")
        guard let key = SHA256Digest(hexadecimal: id) else {
            throw APIRefusal(.invalidRequest, details: "id: must have 64 hexadecimal digits")
        }
        return .later(.task { await lift(key, in: visit) })
    }

    private func lift(_ key: SHA256Digest, in visit: Visit) async -> APIAnswer {
        do throws(APIRefusal) {
            try await visit.snapshot.gate.lift(key, revocation: nil, cache: revocationCache, at: visit.time)
        } catch {
            return refusalPage("Not lifted", for: error, in: visit)
        }
        journal.noteLifted(nil, id: key.hexadecimal, by: visit.caller.name)
        return .page(
            "Lifted",
            content: "<p role=\"status\">\(key.hexadecimal) is not revoked any more, at all gates within seconds.</p>",
            caller: visit.caller.name,
            at: "/ui/revoke"
        )
    }

    private func refusalPage(_ title: String, for error: APIRefusal, in visit: Visit) -> APIAnswer {
        .page(
            title,
            content: "<p class=\"fault\" role=\"alert\">\(error.message) (\(error.code))</p>",
            caller: visit.caller.name,
            status: error.status
        )
    }

    package func revoke(_ visit: Visit) throws(APIRefusal) -> Reply<APIAnswer> {
        guard visit.mayRevoke else { throw APIRefusal(.scopeMissing, details: "the scope revoke is required") }
        let form = try visit.parameters.get()
        let (subject, id) = (try form.required("subject"), try form.required("id"))
        guard let title = Self.subjects.first(where: { $0.0 == subject })?.1 else {
            throw APIRefusal(.invalidRequest, details: "subject is none of the form's")
        }
        let body: RevocationBody
        do throws(BodyFault) { body = try RevocationBody(BodyObject(members: [(subject, .string(id))])) } catch {
            throw APIRefusal(.invalidRequest, details: error.reason)
        }
        let revocation = try Revocation(body, for: visit.snapshot.gate, at: visit.time)
        guard form.optional("confirmed") == "yes" else {
            return .now(confirmation(of: subject, title: title, id: id, in: visit))
        }
        return .later(.task { await record(revocation, id: id, in: visit) })
    }

    private func confirmation(of subject: String, title: String, id: String, in visit: Visit) -> APIAnswer {
        let content: HTML = """
            <p>\(title)</p>
            <p><strong>\(id)</strong></p>
            <p>This refuses its tokens and ends its grants. It can be lifted, but what it ended has to start again.</p>
            <form class="fields" method="post" action="/ui/revoke">
            <input type="hidden" name="subject" value="\(subject)"><input type="hidden" name="id" value="\(id)">
            <input type="hidden" name="confirmed" value="yes">
            <button class="danger">Revoke</button>
            <a href="/ui/revoke">Do not revoke</a>
            </form>
            """
        return .page("Revoke?", content: content, caller: visit.caller.name, at: "/ui/revoke")
    }

    private func record(_ revocation: Revocation, id: String, in visit: Visit) async -> APIAnswer {
        do throws(APIRefusal) {
            try await visit.snapshot.gate.record(revocation, cache: revocationCache, at: visit.time)
        } catch { return refusalPage("Not revoked", for: error, in: visit) }
        journal.noteRevoked(revocation, by: visit.caller.name)
        return .page(
            "Revoked",
            content:
                "<p role=\"status\">\(id) is revoked until \(revocation.expires.iso8601), in the store \(visit.snapshot.gate.store.name).</p>",
            caller: visit.caller.name,
            at: "/ui/revoke",
            status: .created
        )
    }
}
