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

    private struct RevocationView {
        let subjects: [Subject]
        var fault: String?
        var rows: [Row] = []
        /// The number of rows, if there are more revocations.
        var limit: String?
        var isEmpty = false
        var hasRows = false

        struct Subject {
            let name: String
            let title: String
        }

        struct Row {
            let kind: String
            let subject: String
            let until: String
            let id: String
        }
    }

    private struct ConfirmationView {
        let subject: String
        let description: String
        let id: String
    }

    func revocationForm(_ visit: Visit) -> Reply<APIAnswer> {
        guard visit.mayRevoke else {
            let view = MessageView("The scope revoke is required, which \(visit.caller.name) does not have.")
            return .now(page(.message, title: "Revoke", content: view, for: visit, at: "/ui/revoke"))
        }
        return .later(.task { await revocationPage(visit) })
    }

    package func revocationPage(_ visit: Visit) async -> APIAnswer {
        var view = RevocationView(subjects: Self.subjects.map { .init(name: $0, title: $1) })
        await list(visit, view: &view)
        return page(.revoke, title: "Revoke", content: view, for: visit, at: "/ui/revoke")
    }

    /// The most revocations on the page.
    private static let maximumRows = 100

    /// Lists the newest revocations in force, each with a button that lifts it.
    private func list(_ visit: Visit, view: inout RevocationView) async {
        do throws(APIRefusal) {
            let list = try await visit.snapshot.gate.listedRevocations(at: visit.time)
            view.rows = list.records.prefix(Self.maximumRows).map { record in
                let id = record.key.hexadecimal
                return .init(
                    kind: (record.kind?.rawValue ?? "session or mvpd") + (record.isShared ? ", shared" : ""),
                    subject: record.session?.hexadecimal ?? id,
                    until: record.kept.iso8601,
                    id: id
                )
            }
            (view.isEmpty, view.hasRows) = (list.records.isEmpty, !list.records.isEmpty)
            if list.hasMore || list.records.count > Self.maximumRows { view.limit = "\(Self.maximumRows)" }
        } catch { view.fault = error.message }
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
        let view = MessageView("\(key.hexadecimal) is not revoked any more, at all gates within seconds.")
        return page(.message, title: "Lifted", content: view, for: visit, at: "/ui/revoke")
    }

    private func refusalPage(_ title: String, for error: APIRefusal, in visit: Visit) -> APIAnswer {
        let view = MessageView(fault: "\(error.message) (\(error.code))")
        return page(.message, title: title, content: view, for: visit, status: error.status)
    }

    package func revoke(_ visit: Visit) throws(APIRefusal) -> Reply<APIAnswer> {
        guard visit.mayRevoke else { throw APIRefusal(.scopeMissing, details: "the scope revoke is required") }
        let form = try visit.parameters.get()
        let (subject, id) = (try form.required("subject"), try form.required("id"))
        guard let title = Self.subjects.first(where: { $0.0 == subject })?.1 else {
            throw APIRefusal(.invalidRequest, details: "subject is none of the form's")
        }
        let body: RevocationBody
        do throws(JSONObjectFault) { body = try RevocationBody(JSONObject(.object([(subject, .string(id))]))) } catch {
            throw APIRefusal(.invalidRequest, details: error.message)
        }
        let revocation = try Revocation(body, for: visit.snapshot.gate, at: visit.time)
        guard form.optional("confirmed") == "yes" else {
            return .now(confirmation(of: subject, title: title, id: id, in: visit))
        }
        return .later(.task { await record(revocation, id: id, in: visit) })
    }

    private func confirmation(of subject: String, title: String, id: String, in visit: Visit) -> APIAnswer {
        let view = ConfirmationView(subject: subject, description: title, id: id)
        return page(.confirm, title: "Revoke?", content: view, for: visit, at: "/ui/revoke")
    }

    private func record(_ revocation: Revocation, id: String, in visit: Visit) async -> APIAnswer {
        do throws(APIRefusal) {
            try await visit.snapshot.gate.record(revocation, cache: revocationCache, at: visit.time)
        } catch { return refusalPage("Not revoked", for: error, in: visit) }
        journal.noteRevoked(revocation, by: visit.caller.name)
        let (end, store) = (revocation.expires.iso8601, visit.snapshot.gate.store.name)
        let view = MessageView("\(id) is revoked until \(end), in the store \(store).")
        return page(.message, title: "Revoked", content: view, for: visit, at: "/ui/revoke", status: .created)
    }
}
