// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeListener
internal import Encodings
package import GateAPI
package import GateConfiguration
package import HTTPServer
package import NIOHTTP1
package import Platform
internal import PlaybackGate
package import ReplayStores
package import SharedGrants
package import Telemetry

/// The operator page, below `/ui` of the admin listener: live decisions, keys, look-ups, inspection and revocation.
///
/// All of it is for callers of `admin.keys` and `admin.clientCertificates`, with the scope `read`; changes need
/// `revoke`. A browser signs in with a key, and then has a session cookie, or presents its certificate. ``AdminGuard``
/// comes first.
package struct OperatorPage: Sendable {
    package let live: CurrentGate
    package let window: DecisionWindow
    package let sessions = OperatorSessions()
    package let gauges: ServiceGauges
    package let state: Readiness
    package let revocationCache: RevocationCache?
    package let leaks: LeakWatch
    package let edges: CheckingEdges
    /// True if the listener has TLS, so that cookies need it.
    package let isSecure: Bool
    package let journal: RevocationJournal
    package let clock: @Sendable () -> Timestamp

    /// Creates a value of its members.
    package init(
        live: CurrentGate,
        window: DecisionWindow,
        gauges: ServiceGauges,
        state: Readiness,
        revocationCache: RevocationCache?,
        leaks: LeakWatch,
        edges: CheckingEdges,
        isSecure: Bool,
        journal: RevocationJournal,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.live = live
        self.window = window
        self.gauges = gauges
        self.state = state
        self.revocationCache = revocationCache
        self.leaks = leaks
        self.edges = edges
        self.isSecure = isSecure
        self.journal = journal
        self.clock = clock
    }

    /// The largest form, in bytes: a token has at most 16 KiB, and may be percent-encoded.
    static let largestForm = 64 * 1024
    private static let cookie = "playgate-operator"

    /// A request of a known caller.
    package struct Visit: Sendable {
        package let caller: Caller
        /// The parameters of the query, or of the form that was sent.
        package let parameters: Result<FormParameters, APIRefusal>
        package let snapshot: CurrentGate.Snapshot
        package let time: Timestamp

        var mayRevoke: Bool { caller.scopes.contains(.revoke) }
    }

    /// True for the paths of the page.
    package static func covers(_ path: Substring) -> Bool { path == "/ui" || path.hasPrefix("/ui/") }

    // MARK: Access

    /// Decides if the body of a request is read: forms of callers, and that of the sign-in, which is short.
    package func receive(_ request: HTTPRequest) -> HTTPReception {
        guard request.head.method == .POST else { return .answer }
        if request.path == "/ui/session" { return .body(limit: 4096, nil) }
        let snapshot = live.current
        guard let caller = caller(of: request, snapshot) else { return .answer }
        return .body(limit: Self.largestForm, HTTPAdmission(snapshot: snapshot.number, caller: caller.name))
    }

    /// Returns the caller by its bearer key, its certificate or its session; `nil` for an unknown caller.
    package func caller(of request: HTTPRequest, _ snapshot: CurrentGate.Snapshot) -> Caller? {
        let known = CallerAuthentication(callers: snapshot.configuration.adminCallers)
        if let session = session(of: request), let credential = sessions.credential(of: session, at: clock()) {
            return known.caller(with: credential)
        }
        return try? known.caller(of: request)
    }

    private func session(of request: HTTPRequest) -> String? {
        let fields = request.head.headers[canonicalForm: "cookie"].flatMap { $0.split(separator: ";") }
        let values = fields.compactMap { pair -> Substring? in
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            return parts.count == 2 && parts[0] == Self.cookie ? parts[1] : nil
        }
        return values.count == 1 ? String(values[0]) : nil
    }

    // MARK: Requests

    package func reply(to request: HTTPRequest) -> Reply<APIAnswer> {
        let isRead = request.head.method == .GET || request.head.method == .HEAD
        switch request.path {
        case "/ui/page.css" where isRead:
            return .now(.file(PackageResources.operator_css, type: "text/css; charset=utf-8"))
        case "/ui/page.js" where isRead:
            return .now(.file(PackageResources.operator_js, type: "text/javascript; charset=utf-8"))
        case "/ui/sign-in" where isRead: return .now(signInPage())
        case "/ui/session" where request.head.method == .POST: return .now(signIn(request))
        default: break
        }
        let snapshot = live.current
        guard let caller = caller(of: request, snapshot) else { return .now(Self.strange(request)) }
        guard caller.scopes.contains(.read) else {
            let view = MessageView(fault: "The scope read is required.")
            return .now(.page(.message, title: "Not permitted", content: view, status: .forbidden))
        }
        // A reload may have brought the first caller.
        window.start()
        let parameters = Result { () throws(APIRefusal) in try FormParameters(request) }
        let visit = Visit(caller: caller, parameters: parameters, snapshot: snapshot, time: clock())
        do throws(APIRefusal) {
            return try isRead ? look(at: request.path, in: visit) : act(on: request, in: visit)
        } catch { return .now(Self.fault(error)) }
    }

    private func look(at path: Substring, in visit: Visit) throws(APIRefusal) -> Reply<APIAnswer> {
        switch path {
        case "/ui": .later(.task { await livePage(visit) })
        case "/ui/state": .later(.task { await liveState(visit) })
        case "/ui/catalogue": .now(try cataloguePage(visit))
        case "/ui/inspect": .now(inspectionForm(visit))
        case "/ui/leaks": .now(leaksPage(visit))
        case "/ui/revoke": revocationForm(visit)
        default: throw APIRefusal(.operationUnknown)
        }
    }

    private func act(on request: HTTPRequest, in visit: Visit) throws(APIRefusal) -> Reply<APIAnswer> {
        guard request.head.method == .POST else { throw APIRefusal(.methodNotAllowed, allow: "GET, HEAD, POST") }
        switch request.path {
        case "/ui/sign-out": return .now(signOut(request))
        case "/ui/inspect": return try inspect(visit)
        case "/ui/revoke": return try revoke(visit)
        case "/ui/lift": return try lift(visit)
        default: throw APIRefusal(.operationUnknown)
        }
    }

    /// Sends browsers to the sign-in, and refuses programs.
    private static func strange(_ request: HTTPRequest) -> APIAnswer {
        let isPage =
            request.head.method == .GET && request.path != "/ui/state"
            && !request.head.headers.contains(name: "authorization")
        if isPage { return .redirect("/ui/sign-in") }
        var answer = APIAnswer.json(
            .object([
                (
                    "error",
                    .string("a key or a client certificate of admin.keys or admin.clientCertificates is required")
                )
            ]),
            status: .unauthorized,
            trace: nil
        )
        answer.more.append(("WWW-Authenticate", "Bearer"))
        return answer
    }

    private static func fault(_ refusal: APIRefusal) -> APIAnswer {
        let text = "\(refusal.message) (\(refusal.code))"
        let view = MessageView(fault: text, details: refusal.details, hasLinkBack: true)
        return .page(.message, title: "Not done", content: view, status: refusal.status)
    }

    /// Returns a page for a caller.
    ///
    /// - Parameter path: The page in the navigation.
    func page(
        _ name: PageTemplates.Name,
        title: String,
        content: some Any,
        for visit: Visit,
        at path: String = "",
        hasScript: Bool = false,
        status: HTTPResponseStatus = .ok
    ) -> APIAnswer {
        .page(
            name,
            title: title,
            content: content,
            caller: visit.caller.name,
            at: path,
            hasScript: hasScript,
            status: status
        )
    }

    // MARK: Sign-in

    private struct SignInView {
        let fault: String?
        let hasCallers: Bool
    }

    private func signInPage(_ fault: String? = nil, status: HTTPResponseStatus = .ok) -> APIAnswer {
        let view = SignInView(fault: fault, hasCallers: !live.current.configuration.adminCallers.isEmpty)
        return .page(.signIn, title: "Sign in", content: view, status: status)
    }

    package func signIn(_ request: HTTPRequest) -> APIAnswer {
        let known = CallerAuthentication(callers: live.current.configuration.adminCallers)
        guard let key = try? FormParameters(request).required("key"), let caller = known.caller(withKey: key) else {
            return signInPage("This key is not known.", status: .unauthorized)
        }
        var answer = APIAnswer.redirect("/ui")
        let name = sessions.begin(caller.credential, at: clock())
        answer.more.append(("Set-Cookie", cookie(name, life: OperatorSessions.life)))
        return answer
    }

    private func signOut(_ request: HTTPRequest) -> APIAnswer {
        if let session = session(of: request) { sessions.end(session) }
        var answer = APIAnswer.redirect("/ui/sign-in")
        answer.more.append(("Set-Cookie", cookie("", life: .zero)))
        return answer
    }

    private func cookie(_ value: String, life: Duration) -> String {
        let attributes = ["HttpOnly", "SameSite=Strict"] + (isSecure ? ["Secure"] : [])
        let age = life.milliseconds / 1000
        let line = SetCookie.line(Self.cookie, value: value, path: "/ui", age: age, attributes: attributes)
        guard let line else { preconditionFailure("the name of a session is short") }
        return line
    }
}

// MARK: Answers

extension APIAnswer {
    /// Permits only the page's own files, and no frame around it.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

    /// Creates a page of the operator page.
    ///
    /// - Parameters:
    ///   - caller: The name of the caller that can sign out; `nil` for none.
    ///   - path: The page in the navigation.
    static func page(
        _ name: PageTemplates.Name,
        title: String,
        content: some Any,
        caller: String? = nil,
        at path: String = "",
        hasScript: Bool = false,
        status: HTTPResponseStatus = .ok
    ) -> APIAnswer {
        let view = PageView(title, content: content, caller: caller, at: path, hasScript: hasScript)
        return file(PageTemplates.page(name, view: view), type: "text/html; charset=utf-8", status: status)
    }

    package static func file(_ bytes: [UInt8], type: StaticString, status: HTTPResponseStatus = .ok) -> APIAnswer {
        var answer = APIAnswer(bytes, type: type, status: status)
        answer.more = [
            ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
        ]
        return answer
    }

    package static func redirect(_ target: String) -> APIAnswer {
        var answer = APIAnswer([], type: "text/plain; charset=utf-8", status: .seeOther)
        answer.more.append(("Location", target))
        return answer
    }
}
