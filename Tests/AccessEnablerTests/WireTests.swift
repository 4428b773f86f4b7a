// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import NIOHTTP1
import Platform
import Testing
import ViewerTools

@testable import AccessEnabler

@Suite struct `What is sent and displayed` {
    private static let settings = ConnectionSettings(
        http: HTTPTransport(),
        retry: .none,
        timeout: .seconds(1),
        sleep: { _ in }
    )

    private static func connection(_ url: String) -> ServiceConnection {
        let tokens = AccessTokens(
            url: url,
            statement: "",
            redirectURL: "",
            registration: nil,
            settings: settings,
            clock: { Timestamp(millisecondsSince1970: 0) },
            save: { _ in }
        )
        return ServiceConnection(url: url, settings: settings, tokens: tokens, headers: [], options: RequestOptions())
    }

    /// A service, the target that it requests a browser to open, and the URL that is opened.
    private static let targets: [(service: String, target: String, opened: String?)] = [
        ("https://s.example", "/login?a=1", "https://s.example/login?a=1"),
        ("https://s.example", "https://idp.example/x", "https://idp.example/x"),
        ("https://s.example", "http://idp.example/x", nil), ("http://127.0.0.1:1", "http://idp/x", "http://idp/x"),
        ("https://s.example", "javascript:alert(1)", nil), ("https://s.example", "file:///etc/passwd", nil),
        ("https://s.example", "intent://x", nil), ("https://s.example", "https://a/\u{1B}]52;", nil),
        ("https://s.example", "https://a/ b", nil), ("https://s.example", "", nil),
    ]

    @Test("a browser is sent to web pages, and to nothing else of the device", arguments: targets.indices)
    func browser(index: Int) {
        let (service, target, opened) = Self.targets[index]
        #expect(Self.connection(service).browserURL(target) == opened)
    }

    @Test("ids that would be other paths are not asked for", arguments: ["", ".", ".."])
    func path(id: String) async {
        await #expect(throws: ServiceFailure.self) {
            _ = try await Self.connection("http://127.0.0.1:9").send(
                ServiceRequest(path: ["api", id], isAuthorized: false)
            )
        }
    }

    @Test("requests are written as they are meant")
    func requests() {
        var request = ServiceRequest(path: ["a/b", "ü"], query: [("q", "1&2"), ("r", "a b")])
        #expect(request.target == "/a%2Fb/%C3%BC?q=1%262&r=a%20b")
        request.lists = [("l", ["x,y", "z"])]
        #expect(request.target == "/a%2Fb/%C3%BC?q=1%262&r=a%20b&l=x%2Cy,z")
        #expect(ServiceRequest(path: ["p"], lists: [("l", ["x,y"])]).target == "/p?l=x%2Cy,")
    }

    @Test("delays grow, up to their limit, and end")
    func delays() {
        let policy = RetryPolicy(attempts: 12, firstDelay: .seconds(1), maximumDelay: .seconds(8))
        let all = (1...12).map { policy.delay(after: $0, requested: nil) }
        #expect(all[11] == nil)
        for (delay, full) in zip(all, [1.0, 2, 4, 8, 8, 8]) {
            #expect(delay.map { $0 >= .seconds(full / 2) && $0 <= .seconds(full) } == true)
        }
        #expect(policy.delay(after: 1, requested: .seconds(3)) == .seconds(3))
        #expect(policy.delay(after: 1, requested: .seconds(9)) == nil)
        let endless = RetryPolicy(attempts: 99, firstDelay: .seconds(Int64.max), maximumDelay: .seconds(Int64.max))
        #expect(endless.delay(after: 98, requested: nil) != nil)
    }

    @Test("no attempt begins after the deadline")
    func deadline() async throws {
        for (deadline, attempts) in [(Duration.zero, 1), (.seconds(3), 1), (.seconds(600), 3)] {
            let delays = Delays()
            let policy = RetryPolicy(firstDelay: .seconds(8), maximumDelay: .seconds(8), deadline: deadline)
            let settings = ConnectionSettings(
                http: HTTPTransport(),
                retry: policy,
                timeout: .seconds(1),
                sleep: { delays.note($0) }
            )
            var made = Attempts(settings)
            var count = 1
            while try await made.next() { count += 1 }
            #expect(count == attempts && delays.all.count == attempts - 1)
        }
    }

    @Test("no token, key or statement is printed")
    func secrets() throws {
        let token = AuthorizedToken(
            requestor: "R",
            mvpd: "M",
            resource: "TNT",
            userID: "u",
            expires: .now(),
            serializedToken: "SECRET"
        )
        let enabler = AccessEnabler(softwareStatement: "SECRET")
        for value in [token, AuthorizationStatus.token(token), enabler] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(!"\(value)\(String(reflecting: value))\(dumped)".contains("SECRET"))
        }
    }

    /// A page, the link of its form, and the resulting URL; `nil` if the password is withheld.
    private static let forms: [(page: String, action: String, leads: String?)] = [
        ("http://127.0.0.1:1/a/b?c", "d", "http://127.0.0.1:1/a/d"),
        ("http://127.0.0.1:1", "d", "http://127.0.0.1:1/d"),
        ("http://127.0.0.1:1/a", "/d", "http://127.0.0.1:1/d"),
        ("http://127.0.0.1:1/a?b", "", "http://127.0.0.1:1/a?b"),
        ("http://127.0.0.1:1/a?b", "?c", "http://127.0.0.1:1/a?c"), ("http://127.0.0.1:1/a", "//evil.example/", nil),
        ("http://127.0.0.1:1/a", "https://evil.example/", nil), ("http://tv.example/a", "d", nil),
        ("https://tv.example/a", "d", "https://tv.example/d"), ("https://tv.example/a", "http://tv.example/d", nil),
        ("http://127.0.0.1:1/a", "http://x@127.0.0.1:1/", nil),
    ]

    @Test("a password is given where the login began, and in clear to this machine alone", arguments: forms.indices)
    func password(index: Int) async throws {
        let (page, action, leads) = Self.forms[index]
        let browser = FormBrowser(redirectURL: "done://here") { request, url in
            if request.form == nil {
                #expect(url == page)
                let form =
                    #"<form action="\#(action)"><input name="username"><input name="password" type="password"></form>"#
                return ServiceAnswer(status: 200, headers: [:], body: [UInt8](form.utf8))
            }
            #expect(url == leads)
            #expect(request.form?.map(\.1) == ["u", "p"])
            return ServiceAnswer(status: 302, headers: ["location": "done://here?x=1"], body: [])
        }
        if leads == nil {
            await #expect(throws: FormBrowser.Fault.self) { try await browser.visit(page, user: "u", password: "p") }
        } else {
            #expect(try await browser.visit(page, user: "u", password: "p") == "done://here?x=1")
        }
    }
}
