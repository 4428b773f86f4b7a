// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A progress bar for a file that is being read. It is displayed only if standard error is a terminal.
package struct ProgressBar {
    private let total: Int?
    private let isVisible: Bool
    private let clock = ContinuousClock()
    private var next: ContinuousClock.Instant

    /// Creates a progress bar.
    ///
    /// - Parameter total: The size of the file in bytes; `nil` if it is unknown.
    package init(total: Int?) {
        self.total = total
        isVisible = Terminal.error.isInteractive
        next = clock.now
    }

    /// Shows that `done` bytes have been read, and `note`. Updates at most ten times a second.
    package mutating func show(done: Int, note: String) {
        guard isVisible, clock.now >= next else { return }
        next = clock.now + .milliseconds(100)
        Terminal.error.write("\r\u{1B}[K" + line(done: done, note: note))
    }

    /// Removes the bar.
    package func clear() {
        if isVisible { Terminal.error.write("\r\u{1B}[K") }
    }

    private func line(done: Int, note: String) -> String {
        guard let total, total > 0 else { return "\(done / 1_048_576) MiB  \(note)" }
        let share = min(1, Double(done) / Double(total))
        let filled = Int(share * 30)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
        return "\(bar) \(Int(share * 100)) %  \(note)"
    }
}
