// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
internal import Platform

/// The revocations in memory: those that apply to media tokens, and their list for caches.
struct RevocationLog {
    private var entries: [[UInt8]: (issuedBefore: Timestamp, expires: Timestamp)] = [:]
    /// The records of revocations for grants, which last longer than those for media tokens.
    private var records: [SHA256Digest: (record: RevocationRecord, number: Int64)] = [:]
    private var number: Int64 = 0
    private let generation = "\(UInt64.random(in: .min ... .max))"
    private let limit: Int
    private let recordLimit: Int

    /// Creates an empty log.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of revocations of media tokens.
    ///   - recordLimit: The maximum number of revocations of sessions.
    init(limit: Int, recordLimit: Int) {
        self.limit = limit
        self.recordLimit = recordLimit
    }

    /// The number of revocations that may apply to media tokens.
    var count: Int { entries.count }

    /// Adds a revocation. Returns false if there is no room.
    mutating func add(_ revocation: Revocation, at now: Timestamp) -> Bool {
        let record = RevocationRecord(revocation, at: now)
        guard makeRoom(for: revocation.key, at: now), makeRoom(for: record, at: now) else { return false }
        let entry = (issuedBefore: revocation.issuedBefore, expires: revocation.expires)
        if let present = entries[revocation.key], !Revocation.isForgettable(present.expires, at: now) {
            // Merge both revocations of one subject, so that each stays effective.
            let before = max(present.issuedBefore, entry.issuedBefore)
            entries[revocation.key] = (before, max(present.expires, entry.expires))
        } else {
            entries[revocation.key] = entry
        }
        number += 1
        records[record.key] = (records[record.key]?.record.merged(with: record, at: now) ?? record, number)
        return true
    }

    /// Lifts the revocation of a subject. Returns false if it is not revoked.
    mutating func lift(_ key: SHA256Digest, at now: Timestamp) -> Bool {
        let entry = entries.removeValue(forKey: key.bytes)
        guard let present = records[key]?.record, !present.isOver(at: now), !present.isLifted else {
            return entry.map { now <= $0.expires } ?? false
        }
        number += 1
        records[key] = (present.lifted(), number)
        return true
    }

    private mutating func makeRoom(for key: [UInt8], at now: Timestamp) -> Bool {
        if entries.count >= limit {
            entries = entries.filter { !Revocation.isForgettable($0.value.expires, at: now) }
        }
        return entries.count < limit || entries[key] != nil
    }

    private mutating func makeRoom(for record: RevocationRecord, at now: Timestamp) -> Bool {
        if records.count >= recordLimit { records = records.filter { !$0.value.record.isOver(at: now) } }
        return records.count < recordLimit || records[record.key] != nil
    }

    /// Returns the kind of a revocation that covers `token`, whose keys are `keys`; `nil` if there is none.
    func kind(
        covering token: MediaToken,
        _ keys: [(kind: Revocation.Kind, key: [UInt8])],
        at now: Timestamp
    ) -> Revocation.Kind? {
        for (kind, key) in keys {
            guard let entry = entries[key], now <= entry.expires else { continue }
            if token.timeIssued < entry.issuedBefore { return kind }
        }
        return nil
    }

    /// Returns the revocations that were recorded after `cursor`.
    func changes(after cursor: RevocationCursor?) -> RevocationChanges {
        let end = RevocationCursor(generation: generation, number: number)
        let seen = cursor?.generation == generation ? cursor?.number ?? 0 : 0
        if seen == number { return RevocationChanges([], cursor: end, hasMore: false) }
        let news = records.values.filter { $0.number > seen }.sorted { $0.number < $1.number }
        return RevocationChanges(news.map(\.record), cursor: end, hasMore: false)
    }
}
