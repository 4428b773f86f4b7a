// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// A headless browser that a test controls with the W3C WebDriver protocol.
///
/// Its functions wait for the requested state instead of sleeping.
package final class WebDriver {
    /// The screen of the browser.
    package enum Screen {
        case desktop
        /// A phone with a width of 390 points.
        case phone
    }

    /// A failure of the browser or its driver.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        /// Creates a failure.
        package init(description: String) { self.description = description }
    }

    private let folder: TemporaryFolder
    private let driver: Program
    private let address: String
    private var session = ""

    /// True if the browser and its driver are installed. Otherwise tests are skipped; in continuous integration they
    /// fail.
    package static var isInstalled: Bool { Requirement.areInstalled("chromium", "chromedriver") }

    /// Starts a browser.
    package init(_ screen: Screen) throws {
        guard let executable = Program.installed("chromedriver"), let chromium = Program.installed("chromium") else {
            throw Failure(description: "chromium and chromedriver are not installed: run scripts/setup test")
        }
        folder = try TemporaryFolder()
        (driver, address) = try Self.start(executable, log: folder.file("chromedriver.log"))
        var options: [String: Any] = [
            "binary": chromium,
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--autoplay-policy=no-user-gesture-required", "--window-size=1200,900",
                "--user-data-dir=\(folder.file("profile"))",
            ],
        ]
        if screen == .phone {
            let metrics: [String: Any] = ["width": 390, "height": 844, "pixelRatio": 2, "touch": true, "mobile": true]
            options["mobileEmulation"] = ["deviceMetrics": metrics]
        }
        let capabilities: [String: Any] = [
            "goog:chromeOptions": options, "goog:loggingPrefs": ["browser": "ALL"], "timeouts": ["script": 60_000],
        ]
        let answer = try post("/session", body: ["capabilities": ["alwaysMatch": capabilities]])
        guard let id = (answer as? [String: Any])?["sessionId"] as? String else {
            throw Failure(description: "no session in \(answer)")
        }
        session = "/session/\(id)"
    }

    /// Starts the driver.
    private static func start(_ executable: String, log: String) throws -> (Program, address: String) {
        let port = try freePort()
        let driver = try Program(executable, arguments: ["--port=\(port)"], log: log)
        let isUp = eventually {
            driver.output.contains("was started successfully on port \(port)") || !driver.isRunning
        }
        guard isUp, driver.isRunning else {
            throw Failure(description: "chromedriver does not start: \(driver.output)")
        }
        return (driver, "127.0.0.1:\(port)")
    }

    /// Ends the browser, which would outlive its driver otherwise.
    deinit {
        if !session.isEmpty { _ = try? ask("DELETE", path: session) }
        driver.signal(SIGTERM)
        _ = try? driver.waitUntilExit()
    }

    // Pages

    /// Loads a page.
    package func open(_ url: String) throws { try post("\(session)/url", body: ["url": url]) }

    /// Sets the preferred colour scheme of pages.
    package func setDark(_ isDark: Bool) throws {
        let feature = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        let command: [String: Any] = ["cmd": "Emulation.setEmulatedMedia", "params": ["features": [feature]]]
        try post("\(session)/goog/cdp/execute", body: command)
    }

    /// Evaluates a JavaScript expression.
    @discardableResult
    package func value(_ expression: String) throws -> Any {
        try post("\(session)/execute/sync", body: ["script": "return (\(expression));", "args": [Any]()])
    }

    /// Evaluates a JavaScript expression as a text; empty if it is none.
    package func text(_ expression: String) throws -> String { try value(expression) as? String ?? "" }

    /// Evaluates a JavaScript expression as a number; not a number if it is none.
    package func number(_ expression: String) throws -> Double {
        (try value(expression) as? NSNumber)?.doubleValue ?? .nan
    }

    /// Waits until a JavaScript expression is true.
    package func wait(until expression: String) throws {
        let holds = eventually(within: 60) { (try? value("Boolean(\(expression))")) as? Bool == true }
        guard !holds else { return }
        let page = (try? text("document.body.innerText")) ?? ""
        throw Failure(description: "never: \(expression)\n\(page)\n\(try browserLog().joined(separator: "\n"))")
    }

    /// Returns the new lines of the browser's console since the last call.
    package func browserLog() throws -> [String] {
        let lines = try post("\(session)/se/log", body: ["type": "browser"]) as? [[String: Any]] ?? []
        return lines.compactMap { $0["message"] as? String }
    }

    /// Stores a screenshot of the page as build output, for review.
    package func screenshot(_ name: String) throws {
        let folder = URL(fileURLWithPath: repository + "/.build/screenshots")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        guard let text = try ask("GET", path: "\(session)/screenshot") as? String, let data = Data(base64Encoded: text)
        else {
            throw Failure(description: "no screenshot")
        }
        try data.write(to: folder.appendingPathComponent("\(name).png"))
    }

    // Mouse and keyboard

    /// Waits for an element, and clicks it as a viewer does: a covered element is not clicked.
    package func click(_ selector: String) throws {
        try post("\(session)/element/\(try element(selector))/click", body: [:])
    }

    /// Waits for a field, and types into it.
    package func type(_ text: String, into selector: String) throws {
        try post("\(session)/element/\(try element(selector))/value", body: ["text": text])
    }

    /// A key that is no character.
    package enum Key: String {
        case tab = "\u{E004}"
        case enter = "\u{E007}"
        case escape = "\u{E00C}"
    }

    /// Presses a key.
    package func press(_ key: Key) throws { try press(key.rawValue) }

    /// Presses a key for each character.
    package func press(_ text: String) throws {
        let strokes = text.flatMap { [["type": "keyDown", "value": "\($0)"], ["type": "keyUp", "value": "\($0)"]] }
        let keyboard: [String: Any] = ["type": "key", "id": "keyboard", "actions": strokes]
        try post("\(session)/actions", body: ["actions": [keyboard]])
    }

    /// Presses the tab key until an element has the focus. The element must then be visible.
    package func tab(to selector: String) throws {
        _ = try element(selector)
        for _ in 0..<40 {
            try press(.tab)
            if try value("document.activeElement.matches('\(selector)')") as? Bool == true { return }
        }
        throw Failure(description: "the keyboard does not reach \(selector)")
    }

    private func element(_ selector: String) throws -> String {
        try wait(until: "document.querySelector('\(selector)')?.checkVisibility()")
        let answer = try post("\(session)/element", body: ["using": "css selector", "value": selector])
        guard let id = (answer as? [String: String])?.values.first else {
            throw Failure(description: "no element in \(answer)")
        }
        return id
    }

    // The protocol

    @discardableResult
    private func post(_ path: String, body: [String: Any]) throws -> Any {
        try ask("POST", path: path, body: String(decoding: JSONSerialization.data(withJSONObject: body), as: UTF8.self))
    }

    private func ask(_ method: String, path: String, body: String = "") throws -> Any {
        let connection = try HTTPConnection(address)
        // The driver refuses requests with a Host other than this machine.
        try connection.send(
            """
            \(method) \(path) HTTP/1.1\r
            Host: localhost\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        )
        let response = try Self.response(connection)
        let value = response.json["value"] ?? ""
        guard response.status == 200 else {
            throw Failure(description: "\(method) \(path) \(body): \(response.status) \(value)")
        }
        return value
    }

    /// Reads the response, with more time than usual: a browser starts slowly while other tests occupy the processors.
    private static func response(_ connection: HTTPConnection) throws -> HTTPConnection.Response {
        for _ in 0..<3 {
            do { return try connection.response() } catch let failure as HTTPConnection.Failure where failure.isTimeout
            {}
        }
        return try connection.response()
    }
}
