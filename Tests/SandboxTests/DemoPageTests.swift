// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Foundation
import GateTestSupport
import Testing

/// The demo page of `make demo-tv` in a browser, with the gate and nginx.
@Suite(
    .enabled(
        if: Requirement.areInstalled("chromium", "chromedriver", "nginx", "ffmpeg"),
        "chromium, chromedriver, nginx or ffmpeg is not installed: run scripts/setup test"
    ),
    .serialized
)
struct DemoPageTests {
    /// The user bob is allowed some of the items. Each token starts one playback at the gate, and a grant carries it on.
    @Test func aViewerLogsInPlaysIsRefusedAndLogsOut() async throws {
        try await onThread {
            let demo = try RunningDemo()
            let browser = try WebDriver(.desktop)
            try browser.setDark(false)
            try browser.open(demo.url)
            try expectAdvice(in: browser)
            try browser.open(demo.url)
            // The picker shows the logos of the configuration.
            let logos = "[...document.querySelectorAll('#providers button img')]"
            try browser.wait(until: "\(logos).length && \(logos).every((logo) => logo.naturalWidth > 0)")
            #expect(
                try browser.value("\(logos).length === document.querySelectorAll('#providers button').length") as? Bool
                    == true
            )
            try browser.screenshot("desktop-providers")

            try logIn(browser)

            // Locked and unlocked items.
            try browser.wait(until: Page.isDecided)
            #expect(try browser.number("document.querySelectorAll('\(Page.open)').length") >= 1)
            #expect(try browser.number("document.querySelectorAll('\(Page.locked)').length") >= 1)
            #expect(try browser.text("document.querySelector('\(Page.locked) .state').innerText").hasPrefix("Locked: "))
            try browser.screenshot("desktop-grid")
            try browser.setDark(true)
            try browser.screenshot("desktop-grid-dark")
            try browser.setDark(false)

            try browser.click(Page.open)
            try expectTokens(in: browser)
            try expectAttacksToFail(in: browser)
            try expectToOutliveToken(in: browser)
            try playAgainWithoutGrant(browser)

            // A locked item.
            try browser.click(Page.locked)
            try Page.expectRefusal(
                in: browser,
                by: "Refused by the service",
                code: "authorization_denied_by_",
                action: "none"
            )
            try browser.screenshot("desktop-refused")
            try browser.click("#close")

            // A free item plays without a token, and has nothing to attack.
            try browser.click(Page.free)
            try browser.wait(until: "document.getElementById('video').currentTime > 0.2")
            #expect(try browser.value("document.getElementById('side').hidden") as? Bool == true)
            #expect(try browser.value("document.getElementById('again').hidden") as? Bool == true)
            try browser.click("#close")

            try Page.expectNoSecret(in: browser)
            try browser.click("#logout")
            try browser.wait(until: "document.querySelector('\(Page.provider)')?.checkVisibility()")
            // Items that need a token are no longer shown.
            #expect(try browser.number("document.querySelectorAll('\(Page.open), \(Page.locked)').length") == 0)
            try browser.screenshot("desktop-logged-out")
            // The service has ended the session too.
            try browser.open(demo.url)
            try browser.wait(until: "document.querySelector('\(Page.provider)')?.checkVisibility()")
            try Page.expectNoFault(in: browser)
            #expect(try demo.end() == 0, "\(demo.output)")
        }
    }

    /// A narrow screen, a dark theme, and no mouse.
    @Test func aPhoneWithAKeyboardIsEnough() async throws {
        try await onThread {
            let demo = try RunningDemo()
            let browser = try WebDriver(.phone)
            try browser.setDark(true)
            try browser.open(demo.url)
            try logInByKeyboard(browser)

            try browser.wait(until: Page.isDecided)
            try Page.expectToFit(browser)
            // One column.
            let columns = "new Set([...document.querySelectorAll('.card')].map((card) => card.offsetLeft)).size"
            #expect(try browser.number(columns) == 1)
            try browser.screenshot("phone-grid")
            try browser.setDark(false)
            try browser.screenshot("phone-grid-light")
            try browser.setDark(true)
            try browser.tab(to: Page.open)
            try browser.press(.enter)
            try browser.wait(until: "document.getElementById('video').currentTime > 1")
            #expect(try browser.text("document.activeElement.id") == "video")
            try browser.screenshot("phone-playing")
            try browser.tab(to: "#again")
            try browser.tab(to: "#timeline")
            try browser.tab(to: "#reuse")
            try browser.press(.enter)
            try browser.wait(until: "document.querySelector('#reuse-outcome code')")
            #expect(try browser.text("document.activeElement.id") == "reuse")
            try browser.tab(to: "#copy")
            try browser.press(.enter)
            try browser.wait(until: "document.querySelectorAll('#copy-outcome code').length === 2")
            try Page.expectToFit(browser)
            let dialog = "document.getElementById('stage')"
            #expect(try browser.value("\(dialog).scrollWidth <= \(dialog).clientWidth") as? Bool == true)
            try browser.screenshot("phone-attacks")
            try browser.value("document.getElementById('tokens').scrollIntoView()")
            try browser.screenshot("phone-tokens")
            try browser.press(.escape)
            try browser.wait(until: "!document.getElementById('stage').open")
            // The focus is back on the item.
            #expect(try browser.value("document.activeElement.matches('\(Page.open)')") as? Bool == true)

            try browser.tab(to: Page.locked)
            try browser.press(.enter)
            try Page.expectRefusal(
                in: browser,
                by: "Refused by the service",
                code: "authorization_denied_by_",
                action: "none"
            )
            try Page.expectToFit(browser)
            try browser.screenshot("phone-refused")
            try browser.press(.escape)
            try Page.expectNoFault(in: browser)
        }
    }
}

/// Expects advice for every documented action, and the time after which the service allows a retry.
private func expectAdvice(in browser: WebDriver) throws {
    try browser.wait(until: "document.querySelector('\(Page.provider)')?.checkVisibility()")
    /// Returns the texts of the panel about a refusal with these facts: advice, code, action and time.
    func outcome(_ facts: String) throws -> [String] {
        let refusal = "refuse(new Refusal('service', { code: 'a_code', message: 'A message.', \(facts) }))"
        let texts = "[...document.querySelectorAll('#fault dd')].map((value) => value.innerText)"
        return try browser.value("(\(refusal), \(texts))") as? [String] ?? []
    }
    for action in StatusAction.documented.map(\.rawValue) {
        let texts = try outcome("action: '\(action)'")
        #expect(texts.dropFirst() == ["a_code", action])
        #expect(texts.first != action && texts.first?.count ?? 0 > 10, "\(action): \(texts)")
    }
    #expect(try outcome("action: 'later'") == ["later", "a_code", "later"])
    #expect(try outcome("action: 'retry-after', retryAfter: '7'").last == "7 s")
    #expect(try outcome("action: 'retry-after', retryAfter: 'Mon, 01 Jan 2001 00:00:00 GMT'").last == "0 s")
    #expect(try outcome("action: 'retry-after', retryAfter: 'soon'").last == "retry-after")
    // The service throttles, with a page in place of an error.
    let answer = "new Response('<h1>429</h1>', { status: 429, headers: { 'Retry-After': '9' } })"
    try browser.value("(window.fetch = async () => \(answer), true)")
    try browser.click(Page.provider)
    try browser.wait(until: "document.querySelector('#fault .retry-after')?.innerText === '9 s'")
    #expect(try browser.text("document.querySelector('#fault .action').innerText") == "retry-after")
}

/// Selects a provider and logs in as bob, with the wrong password first.
private func logIn(_ browser: WebDriver) throws {
    try browser.click(Page.provider)
    try browser.type("bob", into: Page.userName)
    try browser.type("alice", into: Page.password)
    try browser.screenshot("desktop-login")
    try browser.click(Page.submit)
    try browser.wait(until: "document.querySelector('.error')?.innerText")
    try browser.type("\u{E009}a\u{E000}bob", into: Page.userName)
    try browser.type("bob", into: Page.password)
    try browser.click(Page.submit)
}

private func logInByKeyboard(_ browser: WebDriver) throws {
    try browser.tab(to: Page.provider)
    try browser.screenshot("phone-providers")
    try browser.press(.enter)
    try browser.wait(until: "document.querySelector('\(Page.userName)')")
    // The first field may have the focus already.
    if try browser.value("document.activeElement.matches('\(Page.userName)')") as? Bool != true {
        try browser.tab(to: Page.userName)
    }
    try browser.press("bob")
    try browser.tab(to: Page.password)
    try browser.press("bob")
    try browser.screenshot("phone-login")
    try Page.expectToFit(browser)
    try browser.press(.enter)
}

/// Expects the timeline of a playback that has begun, and countdowns that run.
private func expectTokens(in browser: WebDriver) throws {
    try browser.wait(until: "document.getElementById('video').currentTime > 1")
    #expect(try browser.text("document.activeElement.id") == "video")
    try browser.wait(until: Page.has("granted"))
    #expect(try browser.text("\(Page.events).slice(0, 3).join()") == "issued,consumed,granted")
    for id in ["token-left", "grant-left"] {
        let left = "parseInt(document.getElementById('\(id)').innerText)"
        let first = try browser.number(left)
        #expect((1...10).contains(first), "\(id): \(first)")
        try browser.wait(until: "\(left) < \(first) || \(Page.has("renewed"))")
    }
    try browser.screenshot("desktop-playing")
}

/// Expects that neither the used token nor the URL is worth anything to another viewer, and that the playback goes on.
private func expectAttacksToFail(in browser: WebDriver) throws {
    try browser.click("#reuse")
    #expect(try Page.outcome(of: "reuse", rows: 1, in: browser) == ["403 token_already_used"])
    try browser.click("#copy")
    // The manifest, which takes a media token, and a segment, which takes a grant.
    #expect(try Page.outcome(of: "copy", rows: 2, in: browser) == ["401 media_token_missing", "401 grant_missing"])
    let parts = try browser.value("[...document.querySelectorAll('#copy-outcome .what')].map((one) => one.innerText)")
    let names = parts as? [String] ?? []
    #expect(names.first?.hasSuffix("/master.m3u8") == true && names.last?.hasSuffix(".m4s") == true, "\(names)")
    try browser.screenshot("desktop-attacks")
}

/// Expects that the playback goes on after the media token's end, by renewed grants, to the end of the stream.
private func expectToOutliveToken(in browser: WebDriver) throws {
    let end = "\(Page.events).indexOf('expired')"
    try browser.wait(until: "\(end) > 0 && \(Page.events).lastIndexOf('renewed') > \(end)")
    #expect(
        try browser.text("[...document.querySelectorAll('#timeline li')][\(end)].lastChild.innerText") == "Media token"
    )
    #expect(try browser.text("document.getElementById('token-left').innerText") == "expired")
    #expect(try browser.number("parseInt(document.getElementById('grant-left').innerText)") >= 0)
    let seen = try browser.number("document.getElementById('video').currentTime")
    try browser.wait(until: "document.getElementById('video').currentTime > \(seen + 1)")
    #expect(try browser.value("document.getElementById('refusal').hidden") as? Bool == true)
    try browser.click("#reuse")
    try browser.wait(until: "document.querySelector('#reuse-outcome code').innerText === '403 expired'")
    try browser.screenshot("desktop-renewed")
    let length = try browser.number("document.getElementById('video').duration")
    try browser.value("document.getElementById('video').currentTime = \(length - 1)")
    try browser.wait(until: "document.getElementById('video').ended")
}

/// Plays the same item again, by a new media token, and removes the grant.
private func playAgainWithoutGrant(_ browser: WebDriver) throws {
    try browser.click("#again")
    try browser.wait(until: "document.getElementById('video').currentTime > 0.2 && \(Page.has("granted"))")
    #expect(try browser.text("\(Page.events).slice(0, 3).join()") == "issued,consumed,granted")
    let path = "new URL('end', new URL(playback.item.path, location.origin))"
    try browser.value("fetch(\(path), { method: 'POST' }).then(() => true)")
    try Page.expectRefusal(in: browser, by: "Refused by the gate", code: "grant_missing", action: "authorization")
    #expect(try browser.text("\(Page.events).at(-1)") == "refused")
    try browser.screenshot("desktop-without-grant")
    try Page.expectNoSecret(in: browser)
    try browser.press(.escape)
    try browser.wait(until: "!document.getElementById('stage').open")
}

/// Selectors of the page, and its invariants.
private enum Page {
    static let provider = #"button[data-mvpd="SandboxMVPD"]"#
    static let userName = #"input[name="username"]"#
    static let password = #"input[name="password"]"#
    static let submit = #"button[type="submit"]"#
    static let open = #".card[data-state="open"]"#
    static let locked = #".card[data-state="locked"]"#
    static let free = #".card[data-state="free"]"#
    /// The events of the timeline.
    static let events = "[...document.querySelectorAll('#timeline li')].map((row) => row.dataset.event)"
    /// The condition that the timeline has an event.
    static func has(_ event: String) -> String { "\(events).includes('\(event)')" }
    /// The condition that every item has a decision.
    static let isDecided = """
        !document.getElementById('account')?.hidden && document.querySelector('.card')
        && !document.querySelector('.card[data-state="unknown"]')
        """

    /// Expects a readable refusal: the reason, the remedy, the code and the trace. It must have the focus.
    static func expectRefusal(
        in browser: WebDriver,
        by heading: String,
        code: String,
        action: String,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let panel = "document.getElementById('refusal')"
        try browser.wait(until: "!\(panel).hidden && document.activeElement === \(panel)")
        func text(_ selector: String) throws -> String {
            try browser.text("\(panel).querySelector('\(selector)')?.innerText")
        }
        #expect(try text("h3") == heading, sourceLocation: location)
        #expect(try text(".message").count > 10, sourceLocation: location)
        #expect(try text("dd").count > 10, sourceLocation: location)
        #expect(try text(".code").hasPrefix(code), sourceLocation: location)
        #expect(try text(".action") == action, sourceLocation: location)
        #expect(try text(".trace").count >= 32, sourceLocation: location)
        #expect(try browser.text("\(panel).role || \(panel).getAttribute('role')") == "alert", sourceLocation: location)
    }

    /// The status and code of each answer to an attack, of which all must be refused.
    static func outcome(of attack: String, rows: Int, in browser: WebDriver) throws -> [String] {
        try browser.wait(until: "document.querySelectorAll('#\(attack)-outcome [data-outcome]').length === \(rows)")
        let codes = "[...document.querySelectorAll('#\(attack)-outcome [data-outcome=\"refused\"] code')]"
        return try browser.value("\(codes).map((code) => code.innerText)") as? [String] ?? []
    }

    /// Expects that nothing is wider than the screen.
    static func expectToFit(_ browser: WebDriver, at location: SourceLocation = #_sourceLocation) throws {
        let width = try browser.number("document.documentElement.scrollWidth")
        #expect(width <= 390, sourceLocation: location)
    }

    /// How media tokens begin: `<signatureInfo>` in Base64.
    private static let mediaToken = "PHNpZ25hdHVyZUluZm8"

    /// Expects that no token is in the page or its address, and that no media token is stored.
    static func expectNoSecret(in browser: WebDriver) throws {
        let access = try browser.text("JSON.parse(sessionStorage.getItem('playgate.access')).token")
        #expect(access.count > 10)
        let page = try browser.text("document.documentElement.outerHTML + location.href")
        #expect(!page.contains(access), "the access token is in the page")
        #expect(!page.contains(mediaToken), "a media token is in the page")
        let kept = try browser.text("JSON.stringify({ ...sessionStorage, ...localStorage }) + document.cookie")
        #expect(!kept.contains(mediaToken), "a media token is kept")
    }

    /// Expects that the browser's log has no errors except those of refusals, and no token.
    static func expectNoFault(in browser: WebDriver) throws {
        let refusals = ["status of 401", "status of 403", "[DOM]"]
        let lines = try browser.browserLog()
        #expect(lines.filter { line in !refusals.contains { line.contains($0) } }.isEmpty)
        #expect(!lines.contains { $0.contains(mediaToken) }, "a media token is in the browser's log")
    }
}

/// `scripts/demo-tv`, on a free port.
private final class RunningDemo {
    private let folder: TemporaryFolder
    private let script: Program
    let url: String

    init() throws {
        folder = try TemporaryFolder()
        let path = repository + "/scripts/demo-tv"
        let programs = [Program.built("playgate"), Program.built("playgate-sandbox")]
        // Short enough to see them end, and long enough to use a media token on a machine with other work.
        let options = ["--listen", "127.0.0.1:\(try freePort())", "--token", "10", "--grant", "6"]
        let script = try Program(path, arguments: options + programs, log: folder.file("log"))
        self.script = script
        let ready = /demo-tv: (http:\S+)/
        guard eventually(within: 400, { script.output.firstMatch(of: ready) != nil || !script.isRunning }),
            let url = script.output.firstMatch(of: ready)?.1
        else {
            script.signal(SIGTERM)
            try script.waitUntilExit()
            throw WebDriver.Failure(description: "demo-tv: \(script.output)")
        }
        self.url = String(url)
    }

    var output: String { script.output }

    /// Ends the script with SIGTERM, and returns its exit status.
    @discardableResult
    func end() throws -> Int32 {
        script.signal(SIGTERM)
        return try script.waitUntilExit()
    }

    deinit { #expect(throws: Never.self) { try end() } }
}
