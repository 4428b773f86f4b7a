// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform
internal import Synchronization

/// The current switches, and the throttling state of devices.
final class Control: Sendable {
    private let initial: Switches
    private let state: Mutex<State>

    private struct State {
        var switches: Switches
        var throttle = Throttle()
    }

    init(_ configuration: SandboxConfiguration) {
        let switches = Switches(configuration)
        initial = switches
        state = Mutex(State(switches: switches))
    }

    var switches: Switches { state.withLock { $0.switches } }

    /// Changes switches in one step, or not at all if `change` throws. Resets the throttling state.
    func change<Value: Sendable>(_ change: (inout Switches) throws -> Value) rethrows -> Value {
        try state.withLock { state in
            var next = state.switches
            let value = try change(&next)
            state = State(switches: next)
            return value
        }
    }

    /// Resets all switches to the configuration.
    func reset() { change { $0 = initial } }

    /// Returns the first fault that is switched on for an operation, and decrements its count.
    func nextFault(on operation: Operation) -> Fault? {
        state.withLock { state in
            let match = { (fault: Fault) in
                fault.operation == operation || fault.operation == .any && operation != .mvpd
            }
            guard let index = state.switches.faults.firstIndex(where: match) else { return nil }
            let fault = state.switches.faults[index]
            if let times = fault.times {
                if times > 1 {
                    state.switches.faults[index].times = times - 1
                } else {
                    state.switches.faults.remove(at: index)
                }
            }
            return fault
        }
    }

    /// True if throttling admits a request of a device now.
    func admits(_ device: String, at now: Timestamp) -> Bool {
        state.withLock { state in
            guard let limit = state.switches.throttling else { return true }
            return state.throttle.admits(device, under: limit, at: now)
        }
    }
}

/// A token bucket for each device. It fills at a constant rate, and each request consumes one token.
struct Throttle {
    private var buckets: [String: Bucket] = [:]

    private struct Bucket {
        /// The level in thousandths of a request.
        var level: Int64
        var filled: Timestamp
    }

    /// The maximum number of devices. At the limit, all buckets are discarded.
    private static let limit = 10_000

    mutating func admits(_ device: String, under limit: Throttling, at now: Timestamp) -> Bool {
        if buckets.count >= Self.limit { buckets = [:] }
        let full = Int64(limit.burst) * 1000
        var bucket = buckets[device] ?? Bucket(level: full, filled: now)
        let elapsed = max(0, now.millisecondsSince1970 - bucket.filled.millisecondsSince1970)
        bucket.level = min(full, bucket.level + min(elapsed, full) * Int64(limit.rate))
        bucket.filled = now
        let isAdmitted = bucket.level >= 1000
        if isAdmitted { bucket.level -= 1000 }
        buckets[device] = bucket
        return isAdmitted
    }

    /// Returns the response (429) to a throttled client: the documented page, or an enhanced error for a client that
    /// accepts JSON. The documents name no code for it.
    static func refusal(of call: EndpointRequest) throws -> Response {
        let message = "Too many requests of this device: wait a second, then retry."
        let status = Status(status: 429, code: "too_many_requests", message: message, action: .retryAfter)
        let acceptsJSON = call.headers[.accept]?.contains("application/json") ?? false
        let page = "<html><body><h1>429 Too Many Requests</h1><p>Wait a second, then retry.</p></body></html>"
        var response = Response.text(page, type: "text/html", status: .tooManyRequests)
        if acceptsJSON { response = try .json(status.reported(to: call), status: .tooManyRequests) }
        // The documents ask for a second.
        response.headers[.retryAfter] = "1"
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlAllowMethods] = "POST,GET,OPTIONS,DELETE"
        response.headers[.accessControlAllowHeaders] = """
            ap_11,ap_42,ap_z,ap_19,ap_21,ap_23,authorization,content-type,pass_sfp,AP-Session-Identifier,\
            AP-Device-Identifier,AP-SDK-Identifier,X-Device-Info
            """
        response.headers[.accessControlExposeHeaders] =
            "pass_sfp,Authzf-Error-Code,Authzf-Sub-Error-Code,Authzf-Error-Details"
        return response
    }
}
