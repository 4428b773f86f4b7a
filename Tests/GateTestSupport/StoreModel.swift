// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
internal import MediaTokens
package import Platform
internal import PlaybackGate
package import ReplayStores

/// The reference model of a replay store: lists of all records, of which none is forgotten.
///
/// A store may differ from it only by a refusal that its documentation allows: for a use that it may have forgotten, for a
/// full store, and for a pair of revocations of one subject, which combine.
package struct StoreModel {
    /// The properties that differ between stores.
    package struct Traits: Sendable {
        /// True if the store uses the clock of the machine instead of the times of requests.
        package var hasOwnClock = false
        /// The capacity in uses; `nil` if unlimited.
        package var capacity: Int?

        package init(hasOwnClock: Bool = false, capacity: Int? = nil) {
            self.hasOwnClock = hasOwnClock
            self.capacity = capacity
        }
    }

    private let traits: Traits
    private var uses: [TokenUse] = []
    private var revocations: [(word: Revocation, latest: Timestamp)] = []
    /// The latest time that was passed to the store.
    private var latest = Timestamp(millisecondsSince1970: .min)
    /// The number of answers of the store, by kind.
    package private(set) var answers: [String: Int] = [:]

    private static let margin: Int64 = 120_000

    package init(_ traits: Traits = Traits()) { self.traits = traits }

    // MARK: Uses

    /// Checks the outcome of a use; a `nil` outcome is an error. Returns a description of the fault, if there is one.
    package mutating func check(_ outcome: UseOutcome?, record use: TokenUse, at now: Timestamp) -> String? {
        see(now)
        answers[outcome.map { Self.name($0) } ?? "error", default: 0] += 1
        let known = uses.filter { $0.token == use.token }
        let index = known.firstIndex { $0.playback != nil && $0.playback == use.playback }
        let isRevoked = mustBeRevoked(use.token, at: now)
        switch outcome {
        case .recorded:
            uses.append(use)
            if isRevoked { return "recorded, and revoked" }
            if index != nil { return "recorded, and had been for the same playback" }
            return known.count < use.maximumUses ? nil : "recorded for the \(known.count + 1)th time"
        case .repeated:
            if isRevoked { return "repeated, and revoked" }
            return index == nil ? "repeated, and had not been recorded for this playback" : nil
        case .usedUp:
            if isRevoked { return "used up, and revoked" }
            if index == nil, known.count >= use.maximumUses { return nil }
            // Redis compares at most `maximumUses` recorded uses.
            if traits.hasOwnClock, let index, index >= use.maximumUses { return nil }
            return mayBeForgotten(use) ? nil : "used up, and is not"
        case .revoked(let kind): return mayBeRevoked(use.token, by: kind, at: now) ? nil : "revoked, and is not"
        case .full: return traits.capacity.map { uses.count >= $0 } ?? false ? nil : "full, and is not"
        case .notRevoked: return "not revoked, as answer to a use"
        case nil: return isOver(use.forgettable) ? nil : "an error"
        }
    }

    /// Checks the outcome of an examination, which records no use.
    package mutating func check(_ outcome: UseOutcome?, examine use: TokenUse, at now: Timestamp) -> String? {
        see(now)
        switch outcome {
        case .notRevoked: return mustBeRevoked(use.token, at: now) ? "not revoked, and is" : nil
        case .revoked(let kind): return mayBeRevoked(use.token, by: kind, at: now) ? nil : "revoked, and is not"
        default: return "\(outcome.map { Self.name($0) } ?? "an error"), as answer to a look"
        }
    }

    /// True if a use that can be forgotten as late as this one may have been forgotten.
    private func mayBeForgotten(_ use: TokenUse) -> Bool {
        if traits.hasOwnClock { return false }
        let until = Self.seconds(use.forgettable)
        return uses.contains { $0.forgettable < latest && Self.seconds($0.forgettable) >= until }
    }

    // MARK: Revocations

    /// Checks if a store recorded a revocation.
    package mutating func check(_ word: Revocation, isRecorded: Bool, at now: Timestamp) -> String? {
        see(now)
        if isRecorded { revocations.append((word, now)) }
        return isRecorded || isOver(word.expires) ? nil : "a word was not recorded"
    }

    private func mustBeRevoked(_ token: MediaToken, at now: Timestamp) -> Bool {
        revocations.contains { word, latest in
            guard Self.kind(of: word, for: token) != nil, token.timeIssued < word.earliest else { return false }
            if traits.hasOwnClock { return .now() <= word.expires }
            return now <= word.expires && latest <= word.expires.advanced(byMilliseconds: Self.margin)
        }
    }

    /// True if a revocation may cover the token. Two revocations of one subject combine to the later expiry and issue time.
    private func mayBeRevoked(_ token: MediaToken, by kind: Revocation.Kind, at now: Timestamp) -> Bool {
        let words = revocations.map(\.word).filter { Self.kind(of: $0, for: token) == kind }
        return words.contains { word in
            token.timeIssued < word.earliest
                && words.contains { $0.names == word.names && (traits.hasOwnClock || now <= $0.expires) }
        }
    }

    private static func kind(of word: Revocation, for token: MediaToken) -> Revocation.Kind? {
        switch word.subject {
        case .token(let fingerprint): fingerprint == token.fingerprint ? .token : nil
        case .session(let guid, _): guid == token.userSessionGUID ? .session : nil
        case .mvpd(let id, _): id == token.mvpdID || id == token.proxyMVPDID ? .mvpd : nil
        // It is of a session, and covers no token.
        case .playback, .sharedPlayback: nil
        }
    }

    // MARK: Time

    private mutating func see(_ now: Timestamp) {
        latest = max(latest, now)
        for index in revocations.indices { revocations[index].latest = max(revocations[index].latest, now) }
    }

    /// True if a store with its own clock may refuse to record an item that ends at `end`.
    private func isOver(_ end: Timestamp) -> Bool {
        traits.hasOwnClock && end.advanced(byMilliseconds: Self.margin) <= .now()
    }

    /// The memory store has a resolution of seconds.
    private static func seconds(_ time: Timestamp) -> Int64 { (time.millisecondsSince1970 + 999) / 1000 }

    private static func name(_ outcome: UseOutcome) -> String {
        if case .revoked = outcome { "revoked" } else { "\(outcome)" }
    }
}

extension Revocation {
    /// The earliest issue time that the revocation does not cover.
    fileprivate var earliest: Timestamp {
        switch subject {
        case .token, .playback, .sharedPlayback: Timestamp(millisecondsSince1970: .max)
        case .session(_, let time), .mvpd(_, let time): time
        }
    }

    /// The kind and the name of the revoked subject.
    fileprivate var names: [String] {
        switch subject {
        case .token(let fingerprint): ["token", fingerprint.hexadecimal]
        case .session(let guid, _): ["session", guid]
        case .mvpd(let id, _): ["mvpd", id]
        case .playback(let session), .sharedPlayback(let session): ["playback", session.hexadecimal]
        }
    }
}

extension StoreModel {
    /// Runs a history with two handles on one store. Returns a description of the first fault.
    ///
    /// - Parameters:
    ///   - open: Opens the store.
    ///   - isLasting: True if the store retains its records when it is reopened.
    package mutating func walk(
        _ history: StoreHistory,
        steps: Int,
        isLasting: Bool,
        open: () throws -> any ReplayStore
    ) async throws -> String? {
        var history = history
        let first = try open()
        var handles = [first, isLasting ? try open() : first]
        for number in 0..<steps {
            let step = history.next()
            let store = handles[step.handle]
            let fault: String?
            switch step.action {
            case .record(let use):
                fault = check(try? await store.record(use, at: step.time), record: use, at: step.time)
            case .examine(let use):
                fault = check(try? await store.examine(use, at: step.time), examine: use, at: step.time)
            case .revoke(let word):
                let isRecorded = (try? await store.revoke(word, at: step.time)) != nil
                fault = check(word, isRecorded: isRecorded, at: step.time)
            case .reopen:
                if isLasting { handles[step.handle] = try open() }
                fault = nil
            }
            if let fault { return "step \(number), at \(step.time): \(fault)" }
        }
        return nil
    }
}
