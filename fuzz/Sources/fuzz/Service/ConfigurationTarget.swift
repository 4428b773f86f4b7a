// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
@testable import ConfigurationReading
@testable import GateService
@testable import StrictJSON

extension Target {
    /// The text of a configuration file: a configuration that can be shown, or errors that can.
    static let configuration = Target(name: "configuration") { input in
        // Secrets may be in files, and a device may never end.
        guard let text = input.text, !text.contains("/dev"), !text.contains("/proc") else { return }
        let file = ConfigurationFile(path: "/nonexistent/gate.yaml")
        do throws(ConfigurationError) {
            let configuration = try GateConfiguration(text, file: file)
            let line = [UInt8](configuration.effective.line.utf8)
            let limits = JSONLimits(depth: 64, members: 1024, elements: 65_536)
            demand(
                (try? JSONReader.read(line.span, limits: limits)) != nil,
                "what is in force is no JSON: \(line.shown)"
            )
        } catch {
            demand(!error.problems.isEmpty, "an error without a problem")
            for problem in error.problems {
                demand(!problem.message.isEmpty && "\(problem)".hasPrefix(file.path), "a problem without a place")
                demand(problem.place.line >= 0 && problem.place.column >= 0, "a place outside the file")
            }
        }
    }
}
