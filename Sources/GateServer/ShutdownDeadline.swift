// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Dispatch
internal import Logging
internal import Platform
internal import ServiceLifecycle

/// Ends the process with exit status 1 if draining exceeds the limit.
struct ShutdownDeadline: Service {
    let limit: Duration
    let logger: Logger

    func run() async throws {
        try await gracefulShutdown()
        logger.info("stopping", metadata: ["grace": "\(limit.text)"])
        // A thread of its own is used, because those of the tasks may all be blocked.
        let (limit, logger) = (limit, logger)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(limit.milliseconds))) {
            logger.error("the grace period is over; requests in flight were cut off")
            // Another thread writes the log; this gives it time to finish.
            usleep(20_000)
            _exit(1)
        }
    }
}
