// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Testing

/// The operator page in Chromium, by only the keyboard. Screenshots are left in .build/screenshots.
@Suite(.enabled(if: WebDriver.isInstalled, "chromium or chromedriver is not installed: run scripts/setup test"))
struct `The operator page in a browser` {
    @Test(arguments: [WebDriver.Screen.desktop, .phone])
    func `works by keyboard, at both widths`(screen: WebDriver.Screen) async throws {
        try await OperatorGate.with { gate in
            let browser = try WebDriver(screen)
            let name = screen == .phone ? "operator-phone" : "operator"
            try browser.open("http://\(gate.admin)/ui")
            try browser.wait(until: "document.activeElement.name === 'key'")
            try browser.screenshot("\(name)-sign-in")
            try browser.press(OperatorGate.revokeKey)
            try browser.press(.enter)
            try browser.wait(until: "document.querySelector('#state')?.textContent === 'live'")
            // Decisions come by themselves.
            let token = try gate.token()
            for _ in 0..<3 { _ = try gate.play(token: token) }
            for number in 0..<40 { _ = try gate.play("unknown-\(number)") }
            try browser.wait(until: "document.querySelectorAll('#decisions tbody tr').length === 43")
            gate.now = gate.now.adding(seconds: 1)
            try browser.wait(until: "document.getElementById('rates').textContent.startsWith('1 allowed, 42 refused')")
            try Self.expectToFit(browser)
            try browser.screenshot(name)

            try browser.tab(to: "#pause")
            try browser.press(.enter)
            try browser.wait(until: "document.querySelector('#state').textContent === 'paused'")
            _ = try gate.play("while-paused")
            try browser.press(.enter)
            try browser.wait(until: "document.querySelector('#decisions tbody').textContent.includes('while-paused')")
            try browser.tab(to: "select[name=code]")
            // Only one code begins with it. Of more letters, a busy browser takes a late one for the first of another code.
            try browser.press("v")
            try browser.wait(until: "document.querySelectorAll('#decisions tbody tr').length === 1")

            try browser.open("http://\(gate.admin)/ui/catalogue")
            try browser.tab(to: "input[name=target]")
            try browser.press("/live/tnt/seg-1.m4s")
            try browser.press(.enter)
            try browser.wait(until: "document.querySelector('table')?.textContent.includes('TNT')")
            try Self.expectToFit(browser)

            try browser.open("http://\(gate.admin)/ui/inspect")
            try browser.type(token, into: "textarea")
            try browser.tab(to: "input[name=target]")
            try browser.press("tnt")
            try browser.press(.enter)
            try browser.wait(until: "document.querySelectorAll('td.passed').length === 7")
            try Self.expectToFit(browser)
            try browser.screenshot("\(name)-inspect")
            let fingerprint = try browser.text(
                "[...document.querySelectorAll('th')].find(cell => cell.textContent.startsWith('Fingerprint')).nextSibling.textContent"
            )

            let other = try gate.token(GateSample.claims(session: "s2"))
            try browser.open("http://\(gate.admin)/ui/revoke")
            try browser.tab(to: "select")
            try browser.press("Session")
            try browser.tab(to: "input[name=id]")
            try browser.press("s2")
            try browser.press(.enter)
            try browser.wait(until: "document.querySelector('button.danger')")
            try Self.expectToFit(browser)
            try browser.screenshot("\(name)-confirm")
            try browser.tab(to: "button.danger")
            try browser.press(.enter)
            try browser.wait(until: "document.querySelector('h1').textContent === 'Revoked'")
            #expect(try gate.play(token: other).code == "session_revoked")
            #expect(fingerprint.utf8.count == 64)

            try browser.tab(to: "header button")
            try browser.press(.enter)
            try browser.wait(until: "location.pathname === '/ui/sign-in'")
            let faults = try browser.browserLog().filter { !$0.contains("favicon") }
            #expect(faults.isEmpty, "\(faults)")
        }
    }

    /// The page is not wider than the screen.
    private static func expectToFit(_ browser: WebDriver) throws {
        let isFitting = try browser.value("document.documentElement.scrollWidth <= window.innerWidth") as? Bool
        #expect(isFitting == true)
    }
}
