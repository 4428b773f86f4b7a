// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Encodings
internal import Entitlements
internal import MediaTokens
internal import Platform

/// The switches for deliberate failures.
struct Switches: Sendable {
    var faults: [Fault] = []
    /// An untrusted key that signs media tokens instead of the service's own.
    var wrongKey: SigningKey?
    /// The offset that is added to the issue time of media tokens, in milliseconds.
    var clockSkew: Int64 = 0
    /// True if media tokens are issued without their closing tag.
    var malformsTokens = false
    var throttling: Throttling?
    /// Resources and channels that every provider denies.
    var denied: [String] = []
    var degradation: [DegradationRule]

    /// Creates the initial switches of a configuration.
    init(_ configuration: SandboxConfiguration) {
        throttling = configuration.throttling
        degradation = configuration.degradation
    }

    /// The current switches, in the JSON form that sets them.
    var json: JSON {
        let skew = (clockSkew < 0 ? "-" : "") + Duration.milliseconds(abs(clockSkew)).text
        return [
            "faults": .array(faults.map(\.json)), "wrongKey": .bool(wrongKey != nil), "clockSkew": .string(skew),
            "malformedTokens": .bool(malformsTokens),
            "throttling": throttling.map {
                ["rate": .number(Int64($0.rate)), "burst": .number(Int64($0.burst))]
            } ?? .null,
            "denied": .strings(denied),
            "degradation": .array(
                degradation.map {
                    [
                        "requestor": .string($0.requestor), "mvpd": .string($0.provider),
                        "rule": .string($0.kind.rawValue),
                    ]
                }
            ),
        ]
    }
}

/// The changes of one request to the switches: a JSON object, read by the rules of configuration files. JSON is YAML too.
struct SwitchChange: Sendable {
    private let body: JSON
    private let members: [JSON.Member]

    /// True if a new untrusted key must sign media tokens.
    var needsKey: Bool { body["wrongKey"] == true }

    init(_ bytes: [UInt8]) throws(EndpointError) {
        let value = try? JSONReader.read(bytes.span, limits: JSONLimits(depth: 6, members: 64, elements: 256))
        guard let value else { throw EndpointError(400, message: "the body: must be a JSON object") }
        guard case .object(let members) = value else {
            throw EndpointError(400, message: "the body: must be an object")
        }
        (body, self.members) = (value, members)
    }

    /// Changes the switches that the request names, and returns which logins and authorizations to expire.
    ///
    /// - Parameter key: The untrusted key, if one is needed.
    /// - Throws: ``EndpointError`` (400) that names the invalid part.
    func apply(
        to switches: inout Switches,
        _ configuration: SandboxConfiguration,
        key: SigningKey?
    ) throws(EndpointError) -> (authentication: Bool, authorization: Bool) {
        do throws(ConfigurationError) { return try read(into: &switches, configuration: configuration, key: key) } catch
        {
            let problem = error.problems.first
            throw EndpointError(
                400,
                message: "\(problem?.location.key.prefix(64) ?? ""): \(problem?.message ?? "is invalid")"
            )
        }
    }

    private func read(
        into switches: inout Switches,
        configuration: SandboxConfiguration,
        key: SigningKey?
    ) throws(ConfigurationError) -> (Bool, Bool) {
        // Null switches throttling off. Configuration files have no null.
        let stopsThrottling = body["throttling"] == .null
        let given = JSON.object(members.filter { $0.name != "throttling" || !stopsThrottling })
        let problems = ProblemList()
        let section = try ConfigurationSection(given.line, file: ConfigurationFile(path: ""), problems: problems)
        let (requestors, providers) = (configuration.requestors.map(\.id), configuration.providers.map(\.id))
        let isWrong = section.bool("wrongKey", default: switches.wrongKey != nil)
        if section.has("wrongKey") { switches.wrongKey = isWrong ? key : nil }
        let faults = section.list("faults", read: Fault.read).compactMap(\.self)
        if section.has("faults") { switches.faults = faults }
        switches.clockSkew = section.parsed("clockSkew", default: switches.clockSkew, parse: Self.skew)
        switches.malformsTokens = section.bool("malformedTokens", default: switches.malformsTokens)
        let throttling = section.optionalSection("throttling", read: Throttling.init)
        if throttling != nil || stopsThrottling { switches.throttling = throttling }
        if section.has("denied"), body["denied"]?.values == nil {
            section.note(at: "denied", message: "must be a list")
        }
        switches.denied = section.strings("denied") ?? switches.denied
        let rules = section.list("degradation") {
            DegradationRule($0, requestors: requestors, providers: providers)
        }
        if section.has("degradation") { switches.degradation = rules }
        let expired = ["expireAuthentication", "expireAuthorization"].map { section.bool($0, default: false) }
        section.finish()
        try problems.throwIfAny()
        return (expired[0], expired[1])
    }

    private static func skew(_ text: String) throws(Message) -> Int64 {
        let isNegative = text.hasPrefix("-")
        guard let duration = Duration(text: isNegative ? String(text.dropFirst()) : text),
            duration <= .seconds(3650 * 86_400)
        else { throw Message("must be a duration, optionally negative, such as -1h") }
        return isNegative ? -duration.milliseconds : duration.milliseconds
    }

    /// An explanation of an invalid value.
    struct Message: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }
}
