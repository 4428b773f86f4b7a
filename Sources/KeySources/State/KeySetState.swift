// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import Keys
public import Platform

/// The state of a fetched key set: its keys, and when it is fetched again.
///
/// A pure value. Time, chance and the answers of the server are arguments, so a model can check it. Its driver reads
/// the next step from ``next(at:)``, and passes the answers to ``finish(_:at:spread:)``.
public struct KeySetState: Sendable {
    /// The binding of the keys, by configuration.
    public let binding: KeyBinding
    /// The rules.
    public let rules: KeySetRules

    /// The keys; none before the first fetch, and none once the set is gone.
    public private(set) var keys: [TokenKey] = []
    /// The explanation of the last fetch, if its set was not accepted; for people, without any part of a key.
    public private(set) var fault: String?
    /// The entries of the last set that cannot be used.
    public private(set) var skipped: [KeySetReading.SkippedKey] = []
    /// A number that grows whenever the keys change.
    public private(set) var generation: UInt64 = 0
    /// The time of the last answer that confirmed the keys; `nil` if there are none.
    public private(set) var confirmed: Timestamp?
    /// True from a step to fetch until its answer: there is one fetch at a time.
    public private(set) var isFetching = false
    /// The number of failures since the last success.
    public private(set) var failures = 0

    /// The time of the next fetch.
    private(set) var nextFetch = Timestamp(millisecondsSince1970: .min)
    private(set) var bytes: [UInt8] = []
    private(set) var entityTag: String?
    private var lastTrigger: Timestamp?
    /// The unknown identifiers that the next answer may bring.
    private var awaited: Set<KeyID> = []
    /// The identifiers that an answer did not contain, and the times before which they are not requested again.
    private var absent: [KeyID: Timestamp] = [:]
    private var last = Timestamp(millisecondsSince1970: .min)

    /// Creates the state before the first fetch.
    public init(binding: KeyBinding, rules: KeySetRules = KeySetRules()) {
        self.binding = binding
        self.rules = rules
    }

    /// A step of the driver of the state.
    public enum Step: Hashable, Sendable {
        /// Fetch the set now, with this entity tag if there is one.
        case fetch(entityTag: String?)
        /// Wait for so many milliseconds, or for an unknown key.
        case wait(milliseconds: Int64)
    }

    /// Returns the next step. Drops the keys if their server has not confirmed them for too long.
    public mutating func next(at now: Timestamp) -> Step {
        notice(now)
        if let end, end <= now { drop() }
        guard !isFetching else { return .wait(milliseconds: Self.longestWait) }
        guard nextFetch > now else {
            isFetching = true
            return .fetch(entityTag: entityTag)
        }
        let due = min(nextFetch, end ?? nextFetch)
        return .wait(milliseconds: max(1, min(due.since(now), Self.longestWait)))
    }

    /// The end of the keys unless their server confirms them.
    private var end: Timestamp? { confirmed?.advanced(byMilliseconds: rules.maximumStale.milliseconds) }

    /// The longest wait, so that a change of the clock is noticed: 30 s.
    private static let longestWait: Int64 = 30_000

    /// Processes the answer to a fetch.
    ///
    /// - Parameters:
    ///   - answer: The answer of the fetcher.
    ///   - now: The time of the answer.
    ///   - spread: A random number from -1 to 1, which moves the next fetch.
    public mutating func finish(
        _ answer: Result<KeySetResponse, KeySetFault>,
        at now: Timestamp,
        spread: Double
    ) -> KeySetOutcome {
        notice(now)
        isFetching = false
        fault = nil
        do throws(KeySetFault) {
            let response = try answer.get()
            let isNew = try apply(response)
            confirmed = now
            failures = 0
            let share = KeySetRules.refresh * (1 + KeySetRules.spread * min(max(spread, -1), 1))
            nextFetch = now.advanced(byMilliseconds: Int64(Double(Freshness.milliseconds(response)) * share))
            forgetAwaited(at: now)
            return isNew ? .fetched : .unchanged
        } catch {
            failures += 1
            let delay = KeySetRules.firstRetry << Int64(min(failures - 1, 10))
            nextFetch = now.advanced(byMilliseconds: min(delay, KeySetRules.longestRetry))
            awaited = []
            return .failed(error)
        }
    }

    /// Asks for a key that no set has.
    ///
    /// The next fetch starts at once, unless the last one failed or another fetch for this reason was too recent. It
    /// does not if the set has just been fetched without the key.
    ///
    /// - Returns: True if a fetch is due or under way that may bring the key.
    public mutating func ask(for id: KeyID, at now: Timestamp) -> Bool {
        notice(now)
        if let until = absent[id], now < until { return false }
        guard !keys.contains(where: { $0.id == id }) else { return false }
        guard !isFetching, nextFetch > now else { return expect(id) }
        guard failures == 0 else { return false }
        if let lastTrigger, now < lastTrigger.advanced(byMilliseconds: rules.unknownKeyInterval.milliseconds) {
            return false
        }
        lastTrigger = now
        nextFetch = now
        return expect(id)
    }

    /// Accepts a copy of the set from before a restart. It is fetched at once nevertheless.
    ///
    /// - Returns: True if its keys are in use. Others than those of a set that was received lately are not.
    mutating func restore(_ copy: KeySetCopy, at now: Timestamp) -> Bool {
        notice(now)
        guard confirmed == nil, copy.confirmed <= now,
            now < copy.confirmed.advanced(byMilliseconds: rules.maximumStale.milliseconds),
            let reading = try? KeySetReading(copy.bytes, source: .published, binding: binding)
        else { return false }
        adopt(reading, bytes: copy.bytes, entityTag: copy.entityTag)
        confirmed = copy.confirmed
        return true
    }

    // MARK: Parts

    private mutating func expect(_ id: KeyID) -> Bool {
        if awaited.count < KeySetRules.rememberedKeys { awaited.insert(id) }
        return true
    }

    /// Remembers the awaited identifiers that the set does not have.
    private mutating func forgetAwaited(at now: Timestamp) {
        let missing = awaited.filter { id in !keys.contains { $0.id == id } }
        absent = absent.filter { now < $0.value }
        while absent.count + missing.count > KeySetRules.rememberedKeys, let first = absent.first {
            absent[first.key] = nil
        }
        for id in missing { absent[id] = now.advanced(byMilliseconds: KeySetRules.memory) }
        awaited = []
    }

    /// Processes an answer. Returns false for a confirmation without a body.
    private mutating func apply(_ response: KeySetResponse) throws(KeySetFault) -> Bool {
        switch response.status {
        case 304:
            guard entityTag != nil, confirmed != nil else { throw .statusRefused }
            return false
        case 200: break
        case 300..<400: throw .redirected
        default: throw .statusRefused
        }
        guard let notation = response.mediaType.flatMap(KeySetNotation.init(mediaType:)),
            response.values("content-encoding").allSatisfy({ $0.lowercased() == "identity" })
        else { throw .contentTypeRefused }
        let reading: KeySetReading
        do throws(KeySetError) { reading = try Self.read(response.body, as: notation, binding: binding) } catch {
            fault = error.reason
            throw KeySetFault(error.code)
        }
        if response.body == bytes, !keys.isEmpty {
            entityTag = response.entityTag
        } else {
            adopt(reading, bytes: response.body, entityTag: response.entityTag)
        }
        return true
    }

    private mutating func adopt(_ reading: KeySetReading, bytes: [UInt8], entityTag: String?) {
        keys = reading.keys
        skipped = reading.skipped
        self.bytes = bytes
        self.entityTag = entityTag
        generation += 1
    }

    private mutating func drop() {
        keys = []
        skipped = []
        bytes = []
        entityTag = nil
        confirmed = nil
        generation += 1
    }

    private static func read(
        _ bytes: [UInt8],
        as notation: KeySetNotation,
        binding: KeyBinding
    ) throws(KeySetError) -> KeySetReading {
        switch notation {
        case .jwkSet: try KeySetReading(jwkSet: bytes, source: .published, binding: binding)
        case .coseKeySet: try KeySetReading(coseKeySet: bytes, source: .published, binding: binding)
        }
    }

    /// Notices the time. If the clock was set back, all times of the state go back with it: ages do not change.
    private mutating func notice(_ now: Timestamp) {
        defer { last = now }
        guard now < last else { return }
        let back = -last.since(now)
        confirmed = confirmed?.advanced(byMilliseconds: back)
        if nextFetch.millisecondsSince1970 > .min { nextFetch = nextFetch.advanced(byMilliseconds: back) }
        lastTrigger = lastTrigger?.advanced(byMilliseconds: back)
        absent = absent.mapValues { $0.advanced(byMilliseconds: back) }
    }
}

extension KeySetFault {
    fileprivate init(_ code: KeySetError.Code) {
        switch code {
        case .tooLarge: self = .tooLarge
        case .malformed: self = .malformed
        case .privateKeyPresent: self = .privateKey
        case .duplicateKeyID: self = .duplicateKey
        case .noUsableKey, .unusableKey: self = .noUsableKey
        case .tooManyKeys: self = .tooManyKeys
        }
    }
}

extension Timestamp {
    /// Returns the milliseconds from `other` to this time, within the range of numbers.
    func since(_ other: Timestamp) -> Int64 {
        let (difference, overflow) = millisecondsSince1970.subtractingReportingOverflow(other.millisecondsSince1970)
        return overflow ? (self < other ? .min : .max) : difference
    }
}
