// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// A token bucket for each device. It fills at a constant rate, and each request takes one token.
struct Throttle {
    private var buckets: [String: Bucket] = [:]

    private struct Bucket {
        /// The level in thousandths of a request.
        var level: Int64
        var filled: Timestamp
    }

    /// The maximum number of devices. At the limit, all buckets are discarded.
    private static let limit = 10_000

    mutating func admits(_ device: String, _ limit: SandboxConfiguration.Throttling, at now: Timestamp) -> Bool {
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

    /// The documented response (429) to a throttled client.
    static var refusal: Response {
        var response = Response.text(
            "<html><body><h1>429 Too Many Requests</h1><p>Wait a second, then retry.</p></body></html>",
            "text/html"
        )
        response.status = .tooManyRequests
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
