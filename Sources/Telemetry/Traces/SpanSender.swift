// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CoreMetrics
internal import Encodings
package import Logging
internal import ServiceLifecycle

/// Sends the spans of decisions to a collector, in batches, each second and once more at the end.
///
/// A batch that the collector cannot accept now is sent again: after a second, then after twice that, up to half a
/// minute. If the collector names a time, that time counts. A batch that it refuses is dropped.
///
/// Source: OTLP 1.x, "OTLP/HTTP Response" and "OTLP/HTTP Throttling".
package actor SpanSender: Service {
    private let tracer: DecisionTracer
    private let counters: DecisionTracer.Counters
    private let collector: SpanCollector
    private let service: String
    private let logger: Logger
    /// The batch that the collector could not accept yet.
    private var waiting: [[UInt8]] = []
    /// The number of consecutive times that the collector could not accept a batch.
    private var failures = 0
    private var isFaulty = false

    /// The most spans in a request.
    private static let batch = 512
    private static let interval = Duration.seconds(1)
    private static let longest = Duration.seconds(30)

    /// - Parameter service: The name of the service in each span.
    package init(
        tracer: DecisionTracer,
        counters: DecisionTracer.Counters,
        collector: SpanCollector,
        service: String,
        logger: Logger
    ) {
        (self.tracer, self.counters, self.collector) = (tracer, counters, collector)
        (self.service, self.logger) = (service, logger)
    }

    package func run() async throws {
        var wait = Self.interval
        while true {
            let time = wait
            await cancelWhenGracefulShutdown { try? await Task.sleep(for: time) }
            let isLast = Task.isShuttingDownGracefully || Task.isCancelled
            wait = await sendAll()
            if isLast { break }
        }
        await collector.shutdown()
    }

    /// Sends the spans so far. Returns the time until the next batch.
    private func sendAll() async -> Duration {
        while true {
            if waiting.isEmpty { waiting = tracer.removeOldest(Self.batch) }
            guard !waiting.isEmpty else { return Self.interval }
            switch await collector.send(document(waiting)) {
            case .taken(let refused, let reason):
                let refused = min(max(refused, 0), waiting.count)
                counters.sent.increment(by: waiting.count - refused)
                counters.refused.increment(by: refused)
                if refused > 0 { report("the collector has refused \(refused) spans: \(reason)") } else { reportGood() }
            case .refused(let reason):
                counters.refused.increment(by: waiting.count)
                report(reason)
            case .later(let reason, let time):
                report(reason)
                failures += 1
                return time ?? min(Self.interval * (1 << min(failures - 1, 5)), Self.longest)
            }
            failures = 0
            waiting = []
        }
    }

    /// Logs the first of a row of faults.
    private func report(_ reason: String) {
        if !isFaulty { logger.warning("spans are not taken: \(reason)") }
        isFaulty = true
    }

    private func reportGood() {
        if isFaulty { logger.info("spans are taken again") }
        isFaulty = false
    }

    /// The body of a request.
    private func document(_ spans: [[UInt8]]) -> [UInt8] {
        let version = GateVersion.current
        let resource: JSON = [
            "attributes": [.attribute("service.name", text: service), .attribute("service.version", text: version)]
        ]
        let scope: JSON = ["name": "playgate", "version": .string(version)]
        let head = #"{"resourceSpans":[{"resource":\#(resource.line),"scopeSpans":[{"scope":\#(scope.line),"spans":["#
        var bytes = [UInt8](head.utf8)
        bytes += spans.joined(separator: ",".utf8)
        bytes += "]}]}]}".utf8
        return bytes
    }
}
