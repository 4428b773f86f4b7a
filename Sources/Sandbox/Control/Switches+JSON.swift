// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Encodings
internal import Entitlements

extension Switches {
    /// The current switches, in the JSON form that sets them.
    var shown: JSON {
        .object([
            ("faults", .array(faults.map(\.shown))),
            ("wrongKey", .bool(wrongKey != nil)),
            ("clockSkew", .string((clockSkew < 0 ? "-" : "") + Duration.milliseconds(abs(clockSkew)).text)),
            ("malformedTokens", .bool(malformsTokens)),
            (
                "throttling",
                throttling.map {
                    .object([("rate", .number(Int64($0.rate))), ("burst", .number(Int64($0.burst)))])
                } ?? .null
            ),
            ("denied", .array(denied.map { .string($0) })),
            (
                "degradation",
                .array(
                    degradation.map { rule in
                        .object([
                            ("requestor", .string(rule.requestor)), ("mvpd", .string(rule.provider)),
                            ("rule", .string(rule.kind.rawValue)),
                        ])
                    }
                )
            ),
        ])
    }
}

extension Fault {
    fileprivate var shown: JSON {
        var members: [JSON.Member] = [("on", .string(operation.rawValue))]
        switch effect {
        case .code(let code, let details):
            members.append(("code", .string(code.rawValue)))
            if let details { members.append(("details", .string(details))) }
        case .registration(let error): members.append(("code", .string(error.error)))
        case .status(let status): members.append(("status", .number(Int64(status))))
        case .body(let text): members.append(("body", .string(text)))
        case .stall: members.append(("stall", .bool(true)))
        case .close: members.append(("close", .bool(true)))
        case .delay(let duration): members.append(("delay", .string(duration.text)))
        }
        if let times { members.append(("times", .number(Int64(times)))) }
        return .object(members)
    }
}
