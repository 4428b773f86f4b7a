// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Encodings
internal import Entitlements
internal import Platform

/// The changes of one request to the switches. All of them are validated before any takes effect.
struct SwitchChange: Sendable {
    private(set) var hasWrongKey: Bool?
    private(set) var expiresAuthentication = false
    private(set) var expiresAuthorization = false
    private var changes: [@Sendable (inout Switches) -> Void] = []

    func apply(to switches: inout Switches) { for change in changes { change(&switches) } }

    /// Parses a JSON object.
    ///
    /// - Throws: ``EndpointError`` (400) that names the invalid part.
    init(_ body: [UInt8], configuration: SandboxConfiguration) throws(EndpointError) {
        let value: JSON
        do { value = try JSONReader.read(body.span, limits: JSONLimits(depth: 6, members: 64, elements: 256)) } catch {
            throw Self.problem("the body", "must be a JSON object")
        }
        for member in try value.members("the body") { try read(member.name, member.value, configuration) }
    }

    private mutating func read(
        _ name: String,
        _ value: JSON,
        _ configuration: SandboxConfiguration
    ) throws(EndpointError) {
        switch name {
        case "faults":
            let faults = try value.list(name).mapTyped { (value) throws(EndpointError) in try Fault(value) }
            changes.append { $0.faults = faults }
        case "wrongKey": hasWrongKey = try value.truth(name)
        case "clockSkew":
            let skew = try Self.skew(value)
            changes.append { $0.clockSkew = skew }
        case "malformedTokens":
            let isOn = try value.truth(name)
            changes.append { $0.malformsTokens = isOn }
        case "throttling":
            let throttling = try SandboxConfiguration.Throttling(value)
            changes.append { $0.throttling = throttling }
        case "expireAuthentication": expiresAuthentication = try value.truth(name)
        case "expireAuthorization": expiresAuthorization = try value.truth(name)
        case "denied":
            let denied = try value.list(name).mapTyped { (value) throws(EndpointError) in try value.text(name) }
            changes.append { $0.denied = denied }
        case "degradation":
            let rules = try value.list(name).mapTyped { (value) throws(EndpointError) in
                try SandboxConfiguration.DegradationRule(value, configuration)
            }
            changes.append { $0.degradation = rules }
        default:
            throw Self.problem(
                name,
                """
                unknown switch; known: faults, wrongKey, clockSkew, malformedTokens, throttling, \
                expireAuthentication, expireAuthorization, denied, degradation
                """
            )
        }
    }

    private static func skew(_ value: JSON) throws(EndpointError) -> Int64 {
        let text = try value.text("clockSkew")
        let isNegative = text.hasPrefix("-")
        guard let duration = Duration(text: isNegative ? String(text.dropFirst()) : text),
            duration <= .seconds(3650 * 86_400)
        else { throw problem("clockSkew", "must be a duration, optionally negative, such as -1h") }
        return isNegative ? -duration.milliseconds : duration.milliseconds
    }

    static func problem(_ name: String, _ message: String) -> EndpointError {
        EndpointError(400, "\(name.prefix(64)): \(message)")
    }
}

extension Fault {
    fileprivate init(_ value: JSON) throws(EndpointError) {
        var parts = FaultParts()
        for member in try value.members("faults") { try parts.read(member.name, member.value) }
        guard let operation = parts.operation else {
            throw SwitchChange.problem("on", "is missing: name the operation that fails")
        }
        guard var effect = parts.effect else {
            throw SwitchChange.problem("faults", "has no effect: add code, status, body, stall, close or delay")
        }
        switch effect {
        case .code(let code, _): effect = .code(code, details: parts.details)
        case .registration where operation != .register && operation != .token:
            throw SwitchChange.problem("code", "codes of client registration are valid only for register and token")
        default: break
        }
        self.operation = operation
        self.effect = effect
        times = parts.times
    }
}

/// The members of a fault in JSON that were read so far.
private struct FaultParts {
    var operation: Operation?
    var effect: Fault.Effect?
    var details: String?
    var times: Int?

    mutating func read(_ name: String, _ value: JSON) throws(EndpointError) {
        switch name {
        case "on":
            operation = Operation(rawValue: try value.text(name))
            guard operation != nil else {
                let known = Operation.allCases.map(\.rawValue).joined(separator: ", ")
                throw SwitchChange.problem("on", "must be one of \(known)")
            }
        case "times": times = Int(try value.number(name, in: 1...1_000_000))
        case "details": details = try value.text(name)
        default:
            let other = try Self.effect(name, value)
            guard effect == nil else {
                throw SwitchChange.problem(name, "a fault has one effect; add another fault for the second effect")
            }
            effect = other
        }
    }

    /// Reads the effect that a member names; `nil` if the member is false.
    private static func effect(_ name: String, _ value: JSON) throws(EndpointError) -> Fault.Effect? {
        switch name {
        case "code": return try effect(ofCode: value.text(name))
        case "status": return .status(Int(try value.number(name, in: 400...599)))
        case "body": return .body(try value.text(name))
        case "stall": return try value.truth(name) ? .stall : nil
        case "close": return try value.truth(name) ? .close : nil
        case "delay":
            guard let duration = Duration(text: try value.text(name)), duration <= .seconds(600) else {
                throw SwitchChange.problem(name, "must be a duration up to 10m, such as 500ms")
            }
            return .delay(duration)
        default:
            throw SwitchChange.problem(
                name,
                """
                a fault has no such key; it has on, times and one of code (with details), status, body, stall, \
                close, delay
                """
            )
        }
    }

    private static func effect(ofCode name: String) throws(EndpointError) -> Fault.Effect {
        let words: [RegistrationError] = [
            .invalidRequest, .invalidRedirectURI, .invalidSoftwareStatement, .unapprovedSoftwareStatement,
            .invalidClient, .unauthorizedClient, .unsupportedGrantType,
        ]
        if let word = words.first(where: { $0.error == name }) { return .registration(word) }
        guard let code = StatusCode(rawValue: name),
            code.documentation(.v1) != nil || code.documentation(.v2) != nil
        else { throw SwitchChange.problem("code", "\(name.prefix(64)) is not a service code; see /sandbox/errors") }
        return .code(code, details: nil)
    }
}

extension SandboxConfiguration.Throttling {
    fileprivate init?(_ value: JSON) throws(EndpointError) {
        if case .null = value { return nil }
        var (rate, burst) = (1, 10)
        for member in try value.members("throttling") {
            switch member.name {
            case "rate": rate = Int(try member.value.number("rate", in: 1...10_000))
            case "burst": burst = Int(try member.value.number("burst", in: 1...10_000))
            default: throw SwitchChange.problem(member.name, "unknown key of throttling; known: rate and burst")
            }
        }
        self.init(rate: rate, burst: burst)
    }
}

extension SandboxConfiguration.DegradationRule {
    fileprivate init(_ value: JSON, _ configuration: SandboxConfiguration) throws(EndpointError) {
        var (requestor, provider, kind) = ("", "", Kind?.none)
        for member in try value.members("degradation") {
            switch member.name {
            case "requestor": requestor = try member.value.text(member.name)
            case "mvpd": provider = try member.value.text(member.name)
            case "rule": kind = Kind(rawValue: try member.value.text(member.name))
            default: throw SwitchChange.problem(member.name, "unknown key of a rule; known: requestor, mvpd and rule")
            }
        }
        guard configuration.requestor(requestor) != nil else {
            throw SwitchChange.problem("requestor", "must be a requestor of the configuration")
        }
        guard configuration.provider(provider) != nil else {
            throw SwitchChange.problem("mvpd", "must be an MVPD of the configuration")
        }
        guard let kind else {
            throw SwitchChange.problem(
                "rule",
                "must be one of \(Kind.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        self.init(requestor: requestor, provider: provider, kind: kind)
    }
}

extension JSON {
    fileprivate func members(_ name: String) throws(EndpointError) -> [Member] {
        guard case .object(let members) = self else { throw SwitchChange.problem(name, "must be an object") }
        return members
    }

    fileprivate func list(_ name: String) throws(EndpointError) -> [JSON] {
        guard case .array(let values) = self else { throw SwitchChange.problem(name, "must be a list") }
        return values
    }

    fileprivate func text(_ name: String) throws(EndpointError) -> String {
        guard case .string(let text) = self else { throw SwitchChange.problem(name, "must be a string") }
        return text
    }

    fileprivate func truth(_ name: String) throws(EndpointError) -> Bool {
        guard case .bool(let truth) = self else { throw SwitchChange.problem(name, "must be true or false") }
        return truth
    }

    fileprivate func number(_ name: String, in range: ClosedRange<Int64>) throws(EndpointError) -> Int64 {
        guard case .number(let number) = self, range.contains(number) else {
            throw SwitchChange.problem(name, "must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

extension Array {
    /// Returns the results of `transform`, like `map` with typed throws.
    fileprivate func mapTyped<Value>(
        _ transform: (Element) throws(EndpointError) -> Value
    ) throws(EndpointError) -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try transform(element)) }
        return values
    }
}
