// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The demo page of `make demo-tv` in a browser, with the gate and nginx.
@Suite(.serialized) struct DemoPageTests {
    /// The user bob is allowed some of the items. Each token starts one playback at the gate.
    @Test func aViewerLogsInPlaysIsRefusedAndLogsOut() async throws {
        guard WebDriver.isInstalled else { return }
        try await onThread {
            let demo = try RunningDemo()
            let browser = try WebDriver(.desktop)
            try browser.setDark(false)
            try browser.open(demo.url)

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

            try playOnce(browser)

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

            // A free item plays without a token, and has no replay button.
            try browser.click(Page.free)
            try browser.wait(until: "document.getElementById('video').currentTime > 0.2")
            #expect(try browser.value("document.getElementById('replay').hidden") as? Bool == true)
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
        guard WebDriver.isInstalled else { return }
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

/// Plays an open item, which loads while it plays. Then presents the same token again.
private func playOnce(_ browser: WebDriver) throws {
    try browser.click(Page.open)
    try browser.wait(until: "document.getElementById('video').currentTime > 1")
    #expect(try browser.text("document.activeElement.id") == "video")
    try browser.screenshot("desktop-playing")
    let length = try browser.number("document.getElementById('video').duration")
    try browser.value("document.getElementById('video').currentTime = \(length - 1)")
    try browser.wait(until: "document.getElementById('video').ended")

    // The same token again: the gate refuses it as consumed.
    try browser.click("#replay")
    try Page.expectRefusal(in: browser, by: "Refused by the gate", code: "token_already_used", action: "authorization")
    try browser.screenshot("desktop-replay")
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

    /// Expects that nothing is wider than the screen.
    static func expectToFit(_ browser: WebDriver, at location: SourceLocation = #_sourceLocation) throws {
        let width = try browser.number("document.documentElement.scrollWidth")
        #expect(width <= 390, sourceLocation: location)
    }

    /// Expects that no access token is in the page or its address, and that no media token is stored.
    static func expectNoSecret(in browser: WebDriver) throws {
        let access = try browser.text("JSON.parse(sessionStorage.getItem('playgate.access')).token")
        #expect(access.count > 10)
        let isShown = try browser.text("document.documentElement.outerHTML + location.href").contains(access)
        #expect(!isShown, "the access token is in the page")
        let kept = try browser.text("JSON.stringify({ ...sessionStorage, ...localStorage })")
        #expect(!kept.contains("PHNpZ25hdHVyZUluZm8"), "a media token is kept")
    }

    /// Expects that the browser's log has no errors except those of refusals.
    static func expectNoFault(in browser: WebDriver) throws {
        let refusals = ["status of 401", "status of 403", "[DOM]"]
        let faults = try browser.browserLog().filter { line in !refusals.contains { line.contains($0) } }
        #expect(faults.isEmpty)
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
        let script = try Program(path, ["--listen", "127.0.0.1:0"] + programs, log: folder.file("log"))
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
