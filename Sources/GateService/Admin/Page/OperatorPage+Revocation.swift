// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPServer
internal import Logging
internal import MediaTokens
internal import NIOHTTP1
internal import PlaybackGate

// Revocations, each of which is confirmed on a page of its own.

extension OperatorPage {
    /// The subjects of a revocation, as the form names them.
    private static let subjects = [
        ("playback", "Playback: its id, 32 hexadecimal digits, as in the log"),
        ("sessionGUID", "Session: sessionGUID of its tokens"),
        ("fingerprint", "Token: its SHA-256, as Inspect shows it"), ("mvpd", "MVPD: all viewers of a provider"),
    ]

    func revocationForm(_ visit: Visit) -> APIAnswer {
        guard visit.mayRevoke else {
            return .page(
                "Revoke",
                "<p>The scope revoke is required, which \(visit.caller.name) does not have.</p>",
                caller: visit.caller.name,
                at: "/ui/revoke"
            )
        }
        let options = Self.subjects.map { name, title in "<option value=\"\(name)\">\(title)</option>" as HTML }
        let content: HTML = """
            <form class="fields" method="post" action="/ui/revoke" autocomplete="off">
            <label><span>Subject</span><select name="subject">\(options)</select></label>
            <label><span>Id</span><input name="id" required spellcheck="false"></label>
            <button>Go on</button>
            </form>
            <p class="hint">A revocation ends grants within seconds, and cannot be taken back. You confirm it on the next page.</p>
            """
        return .page("Revoke", content, caller: visit.caller.name, at: "/ui/revoke")
    }

    func revoke(_ visit: Visit) throws(APIRefusal) -> HTTPReply<APIAnswer> {
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
        guard form.optional("confirmed") == "yes" else { return .now(confirmation(subject, title, id, visit)) }
        return .later(.task { await keep(revocation, id, visit) })
    }

    private func confirmation(_ subject: String, _ title: String, _ id: String, _ visit: Visit) -> APIAnswer {
        let content: HTML = """
            <p>\(title)</p>
            <p><strong>\(id)</strong></p>
            <p>This refuses its tokens and ends its grants. It cannot be taken back.</p>
            <form class="fields" method="post" action="/ui/revoke">
            <input type="hidden" name="subject" value="\(subject)"><input type="hidden" name="id" value="\(id)">
            <input type="hidden" name="confirmed" value="yes">
            <button class="danger">Revoke</button>
            <a href="/ui/revoke">Do not revoke</a>
            </form>
            """
        return .page("Revoke?", content, caller: visit.caller.name, at: "/ui/revoke")
    }

    private func keep(_ revocation: Revocation, _ id: String, _ visit: Visit) async -> APIAnswer {
        do throws(APIRefusal) {
            try await visit.snapshot.gate.keep(revocation, mirror, at: visit.time)
        } catch {
            return .page(
                "Not revoked",
                "<p class=\"fault\" role=\"alert\">\(error.message) (\(error.code))</p>",
                caller: visit.caller.name,
                status: error.status
            )
        }
        log.notice(
            "revoked by an operator",
            metadata: ["kind": "\(revocation.kind.rawValue)", "caller": "\(visit.caller.name)"]
        )
        return .page(
            "Revoked",
            "<p role=\"status\">\(id) is revoked until \(revocation.expires.iso8601), in the store \(visit.snapshot.gate.store.name).</p>",
            caller: visit.caller.name,
            at: "/ui/revoke",
            status: .created
        )
    }
}
