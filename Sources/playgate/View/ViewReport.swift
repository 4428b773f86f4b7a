// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import Encodings
import Entitlements
import MediaResources
import Synchronization

/// What `playgate view` prints: a line for each step as it is done, or one JSON object at the end.
final class ViewReport: Sendable {
    /// How a step ended.
    enum Mark: String {
        case done, unlocked, locked, refused, failed
    }

    private let isJSON: Bool
    private let steps = Mutex<[JSONText]>([])

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// Tells of a step.
    ///
    /// - Parameters:
    ///   - name: What was done.
    ///   - text: What came of it. What services and providers say may be in it, so nothing in it moves a terminal's cursor.
    ///   - status: The error that was said, where one was.
    ///   - facts: The members that JSON has beside these.
    func step(
        _ name: String,
        _ mark: Mark,
        _ text: String,
        _ status: Status? = nil,
        facts: [(String, JSONText)] = []
    ) {
        var members: [(String, JSONText)] = [
            ("step", .string(name)), ("outcome", .string(mark.rawValue)), ("text", .string(text)),
        ]
        if let status { members.append(("error", JSONText(status))) }
        steps.withLock { $0.append(.object(members + facts)) }
        guard !isJSON else { return }
        let sign =
            switch mark {
            case .done, .unlocked: Style.green("✔")
            case .locked: Style.yellow("–")
            case .refused, .failed: Style.red("✘")
            }
        let label = name.padded(to: 17)
        Terminal.output.write("\(sign) \(label) \(text.printable(limit: 8192))\n")
        if let status {
            let words = [
                status.code, status.message, status.details, status.action.map { "action: \($0.rawValue)" },
                status.trace.map { "trace: \($0)" },
            ]
            let line = words.compactMap { $0 }.filter { !$0.isEmpty }.map { $0.printable(limit: 400) }
            Terminal.output.write(
                "  \(String(repeating: " ", count: 17)) \(Style.faint(line.joined(separator: " · ")))\n"
            )
        }
    }

    /// Prints a token, in a line of its own.
    func token(_ text: String) { if !isJSON { Terminal.output.write(text + "\n") } }

    /// Prints the object.
    func finish() {
        guard isJSON else { return }
        Terminal.output.write(JSONText.object([("steps", .array(steps.withLock { $0 }))]).line + "\n")
    }
}

extension JSONText {
    /// An error in its documented names.
    fileprivate init(_ status: Status) {
        self = .object([
            ("status", .number(Int64(status.status))), ("code", .string(status.code)),
            ("message", .optional(status.message)), ("details", .optional(status.details)),
            ("action", .optional(status.action?.rawValue)), ("trace", .optional(status.trace)),
        ])
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
