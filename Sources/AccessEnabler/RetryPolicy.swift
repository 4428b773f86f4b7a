// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The number of attempts and the back-off of a request. A request is retried if the service answers with `retry` or does
/// not answer, and if repeating it is harmless.
public struct RetryPolicy: Hashable, Sendable {
    /// The maximum number of attempts, from 1.
    public var attempts: Int
    /// The delay before the second attempt. It doubles with every further attempt, and up to half of it is random, so that
    /// clients that failed together do not retry together.
    public var firstDelay: Duration
    /// The maximum delay. If the service requests a longer one, the client gives up.
    public var maximumDelay: Duration
    /// The time from the start of the first attempt within which a further one may begin.
    public var deadline: Duration

    /// Creates a policy.
    public init(
        attempts: Int = 3,
        firstDelay: Duration = .milliseconds(250),
        maximumDelay: Duration = .seconds(4),
        deadline: Duration = .seconds(60)
    ) {
        self.attempts = max(1, attempts)
        self.firstDelay = firstDelay
        self.maximumDelay = maximumDelay
        self.deadline = deadline
    }

    /// A policy without retries.
    public static let none = RetryPolicy(attempts: 1)

    /// Returns the delay after the attempt with this number, from 1; `nil` if no attempt remains.
    func delay(after attempt: Int, requested: Duration?) -> Duration? {
        guard attempt < attempts else { return nil }
        if let requested { return requested <= maximumDelay ? requested : nil }
        var full = min(firstDelay, maximumDelay)
        for _ in 1..<attempt where full < maximumDelay {
            full = min(full + min(full, maximumDelay - full), maximumDelay)
        }
        return full / 2 + full / 2 * Double.random(in: 0...1)
    }
}

/// The attempts of one operation: the only code that waits to repeat a request. Nothing within an attempt retries.
struct Attempts {
    private let policy: RetryPolicy
    private let sleep: @Sendable (Duration) async throws -> Void
    private let start = ContinuousClock.now
    private var count = 1

    /// Starts the first attempt.
    init(_ settings: ConnectionSettings) {
        policy = settings.retry
        sleep = settings.sleep
    }

    /// Waits for the next attempt.
    ///
    /// - Parameter requested: The delay that the service requests; `nil` for none.
    /// - Returns: False, at once, if no attempt remains or the next one would begin after the deadline.
    mutating func next(after requested: Duration? = nil) async throws(ServiceFailure) -> Bool {
        guard let delay = policy.delay(after: count, requested: requested),
            ContinuousClock.now - start + delay < policy.deadline
        else { return false }
        count += 1
        do { try await sleep(delay) } catch { throw .cancelled }
        return true
    }
}
