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
    /// An untrusted key that signs media tokens in place of the service's own.
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
    var shown: JSON {
        let skew = (clockSkew < 0 ? "-" : "") + Duration.milliseconds(abs(clockSkew)).text
        return [
            "faults": .array(faults.map(\.shown)), "wrongKey": .bool(wrongKey != nil), "clockSkew": .string(skew),
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

/// The changes of one request to the switches. All of them are validated before any takes effect.
struct SwitchChange: Sendable {
    let hasWrongKey: Bool?
    let expiresAuthentication: Bool
    let expiresAuthorization: Bool
    private let changes: [@Sendable (inout Switches) -> Void]

    func apply(to switches: inout Switches) { for change in changes { change(&switches) } }

    /// Reads a JSON object by the rules of configuration files: JSON is YAML too.
    ///
    /// - Throws: ``EndpointError`` (400) that names the invalid part.
    init(_ body: [UInt8], configuration: SandboxConfiguration) throws(EndpointError) {
        let value = try? JSONReader.read(body.span, limits: JSONLimits(depth: 6, members: 64, elements: 256))
        guard let value else { throw EndpointError(400, "the body: must be a JSON object") }
        guard case .object(let members) = value else { throw EndpointError(400, "the body: must be an object") }
        // Null switches throttling off. Configuration files have no null.
        let stopsThrottling = value["throttling"] == .null
        let given = JSON.object(members.filter { $0.name != "throttling" || $0.value != .null })
        let problems = ProblemList()
        do throws(ConfigurationError) {
            let file = ConfigurationFile(path: "")
            let section = try ConfigurationSection(given.line, file: file, problems: problems)
            func isOn(_ name: String) -> Bool { section.bool(name, default: false) }
            var changes: [@Sendable (inout Switches) -> Void] = []
            func change(_ name: String, _ change: @escaping @Sendable (inout Switches) -> Void) {
                if section.has(name) { changes.append(change) }
            }
            let isWrong = isOn("wrongKey")
            hasWrongKey = section.has("wrongKey") ? isWrong : nil
            (expiresAuthentication, expiresAuthorization) = (isOn("expireAuthentication"), isOn("expireAuthorization"))
            let faults = section.list("faults", Fault.read).compactMap(\.self)
            let skew = section.parsed("clockSkew", default: 0, Self.skew)
            let malformsTokens = isOn("malformedTokens")
            let throttling = section.optionalSection("throttling", Throttling.init)
            let denied = value["denied"]?.values == nil ? [] : section.strings("denied") ?? []
            let (requestors, providers) = (configuration.requestors.map(\.id), configuration.providers.map(\.id))
            let rules = section.list("degradation") {
                DegradationRule($0, requestors: requestors, providers: providers)
            }
            if section.has("denied"), value["denied"]?.values == nil { section.note("denied", "must be a list") }
            section.finish()
            change("faults") { $0.faults = faults }
            change("clockSkew") { $0.clockSkew = skew }
            change("malformedTokens") { $0.malformsTokens = malformsTokens }
            change("denied") { $0.denied = denied }
            change("degradation") { $0.degradation = rules }
            if throttling != nil || stopsThrottling { changes.append { $0.throttling = throttling } }
            self.changes = changes
            try problems.throwIfAny()
        } catch {
            let problem = error.problems.first
            throw EndpointError(400, "\(problem?.place.key.prefix(64) ?? ""): \(problem?.message ?? "is invalid")")
        }
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
