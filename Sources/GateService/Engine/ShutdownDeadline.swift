// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Dispatch
internal import Logging
internal import Platform
internal import ServiceLifecycle

/// Ends the process when draining takes longer than it may: whatever hangs, a stop is a stop.
struct ShutdownDeadline: Service {
    let limit: Duration
    let logger: Logger

    func run() async throws {
        try await gracefulShutdown()
        logger.info("stopping", metadata: ["grace": "\(limit.text)"])
        // On a thread of its own, as those of the tasks may all be stuck.
        let (limit, logger) = (limit, logger)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(limit.milliseconds))) {
            logger.error("the grace time is over; requests in hand were cut off")
            // The log is written by another thread: it gets a moment.
            usleep(20_000)
            _exit(1)
        }
    }
}
