// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// How often, and after what times, the client asks again: where the service says `retry` or there was no answer, and it
/// does no harm to ask twice.
public struct RetryPolicy: Hashable, Sendable {
    /// How often one question is asked in all, from 1.
    public var attempts: Int
    /// The time before the second attempt; it doubles from one to the next, and up to a half of it is left to chance, so that
    /// clients that failed together do not come back together.
    public var firstDelay: Duration
    /// The most that is waited; where the service asks for more, the client gives up.
    public var maximumDelay: Duration

    /// Makes a policy.
    public init(attempts: Int = 3, firstDelay: Duration = .milliseconds(250), maximumDelay: Duration = .seconds(4)) {
        self.attempts = max(1, attempts)
        self.firstDelay = firstDelay
        self.maximumDelay = maximumDelay
    }

    /// No second attempt.
    public static let none = RetryPolicy(attempts: 1)

    /// What to wait after the attempt of this number, from 1; nil where there is no further one.
    func delay(after attempt: Int, asked: Duration?) -> Duration? {
        guard attempt < attempts else { return nil }
        if let asked { return asked <= maximumDelay ? asked : nil }
        var full = min(firstDelay, maximumDelay)
        for _ in 1..<attempt where full < maximumDelay {
            full = min(full + min(full, maximumDelay - full), maximumDelay)
        }
        return full / 2 + full / 2 * Double.random(in: 0...1)
    }
}
