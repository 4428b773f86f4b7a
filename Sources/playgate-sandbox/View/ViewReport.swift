// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommandLineSupport
internal import Encodings
internal import Entitlements
internal import Synchronization

/// The output of `playgate-sandbox view`: a line for each completed step, or one JSON object at the end.
final class ViewReport: Sendable {
    /// The outcome of a step.
    enum Mark: String {
        case done, unlocked, locked, missing, refused, failed
    }

    private let isJSON: Bool
    private let steps = Mutex<[JSON]>([])

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// Reports a step.
    ///
    /// - Parameters:
    ///   - name: The name of the step.
    ///   - mark: The outcome of the step.
    ///   - text: The details. They may contain text of services and providers; its control characters are replaced for
    ///     people.
    ///   - status: The reported error, if there is one.
    ///   - more: The additional members in JSON.
    func step(
        _ name: String,
        mark: Mark,
        text: String,
        status: Status? = nil,
        members more: [JSON.Member] = []
    ) {
        var members: [JSON.Member] = [
            ("step", .string(name)), ("outcome", .string(mark.rawValue)), ("text", .string(text)),
        ]
        if let status { members.append(("error", JSON(status))) }
        steps.withLock { $0.append(.object(members + more)) }
        guard !isJSON else { return }
        let sign =
            switch mark {
            case .done, .unlocked: Style.green("✔")
            case .locked, .missing: Style.yellow("–")
            case .refused, .failed: Style.red("✘")
            }
        let label = name.padded(to: 17)
        Terminal.output.write("\(sign) \(label) \(text.printable(limit: 8192))\n")
        if let status {
            let words = [
                status.code, status.message, status.details, status.action.map { "action: \($0.rawValue)" },
                status.retryAfter.map { "retry after \($0.components.seconds) s" },
                status.trace.map { "trace: \($0)" },
            ]
            let line = words.compactMap { $0 }.filter { !$0.isEmpty }.map { $0.printable(limit: 400) }
            Terminal.output.write(
                "  \(String(repeating: " ", count: 17)) \(Style.faint(line.joined(separator: " · ")))\n"
            )
        }
    }

    /// Prints a token on a line of its own.
    func token(_ text: String) { if !isJSON { Terminal.output.write(text + "\n") } }

    /// Prints the JSON object.
    func finish() {
        guard isJSON else { return }
        Terminal.output.write(JSON.object([("steps", .array(steps.withLock { $0 }))]).line + "\n")
    }
}

extension JSON {
    /// Creates an object from an error, with the documented names.
    fileprivate init(_ status: Status) {
        self = .object([
            ("status", .number(Int64(status.status))), ("code", .string(status.code)),
            ("message", .optional(status.message)), ("details", .optional(status.details)),
            ("action", .optional(status.action?.rawValue)), ("trace", .optional(status.trace)),
            ("retryAfter", status.retryAfter.map { .number($0.components.seconds) } ?? .null),
        ])
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
