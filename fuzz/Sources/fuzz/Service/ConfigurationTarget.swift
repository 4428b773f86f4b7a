// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import ConfigurationReading
@testable import Encodings
@testable import GateConfiguration

extension Target {
    /// The text of a configuration file: the result is a configuration or errors, and both can be printed.
    static let configuration = Target(name: "configuration") { input in
        // Secrets can be in files, and reading a device may never end.
        guard let text = input.text, !text.contains("/dev"), !text.contains("/proc") else { return }
        let file = ConfigurationFile(path: "/nonexistent/gate.yaml")
        do throws(ConfigurationError) {
            let configuration = try GateConfiguration(text, file: file)
            let line = [UInt8](configuration.effective.line.utf8)
            let limits = JSONLimits(depth: 64, members: 1024, elements: 65_536)
            demand(
                (try? JSONReader.read(line.span, limits: limits)) != nil,
                or: "what is in force is no JSON: \(line.debugText)"
            )
        } catch {
            demand(!error.problems.isEmpty, or: "an error without a problem")
            for problem in error.problems {
                demand(!problem.message.isEmpty && "\(problem)".hasPrefix(file.path), or: "a problem without a place")
                demand(problem.location.line >= 0 && problem.location.column >= 0, or: "a place outside the file")
            }
        }
    }
}
