// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Cryptography
internal import Encodings
internal import HTTPServer
internal import MediaTokens
internal import NIOHTTP1
package import Platform
package import PlaybackGate
package import ReplayStores
internal import Telemetry

// Revocations: to record, to list and to lift them.

extension APIResponder {
    /// `POST /v1/revocations`: records a revocation in the store.
    package func revoke(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> Outcome {
        let revocation = try Revocation(try read(RevocationBody.self, from: call), for: call.gate, at: call.time)
        let (gate, time, trace, revocationCache) = (call.gate, call.time, call.trace, revocationCache)
        try reserveRoom(for: 1)
        return .later { [self] () async throws(APIRefusal) in
            defer { inFlight.release(1) }
            try await gate.record(revocation, cache: revocationCache, at: time)
            journal.noteRevoked(revocation, by: caller)
            let members: [JSON.Member] = [
                ("revoked", .string(revocation.kind.rawValue)), ("id", .string(revocation.storeKey.hexadecimal)),
                ("expires", .number(revocation.expires.millisecondsSince1970)), ("store", .string(gate.store.name)),
                ("trace", .string("\(trace)")),
            ]
            return .json(.object(members), status: .created, trace: trace)
        }
    }

    /// `GET /v1/revocations`: lists the revocations in force, the newest first.
    func listRevocations(_ call: RequestContext) throws(APIRefusal) -> Outcome {
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        try reserveRoom(for: 1)
        return .later { [self] () async throws(APIRefusal) in
            defer { inFlight.release(1) }
            let list = try await gate.listedRevocations(at: time)
            let members: [JSON.Member] = [
                ("revocations", .array(list.records.map(\.json))), ("more", .bool(list.hasMore)),
                ("store", .string(gate.store.name)), ("trace", .string("\(trace)")),
            ]
            return .json(.object(members), trace: trace)
        }
    }

    /// `POST /v1/revocations/lift`: lifts the revocation of a subject.
    package func lift(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> Outcome {
        let body = try read(RevocationBody.self, from: call)
        guard body.issuedBefore == nil, body.expires == nil else {
            throw APIRefusal(.invalidRequest, details: "issuedBefore and expires are for new revocations")
        }
        // What is revoked can be lifted, whether a policy names its MVPD or not.
        let revocation = try Revocation(RevocationBody(body.subject), for: call.gate, at: call.time)
        return try lift(revocation.storeKey, revocation: revocation, in: call, by: caller)
    }

    /// `DELETE /v1/revocations/{id}`: lifts the revocation with an id.
    package func lift(_ id: Substring, in call: RequestContext, by caller: String?) throws(APIRefusal) -> Outcome {
        guard let key = SHA256Digest(hexadecimal: String(id)) else {
            throw APIRefusal(.invalidRequest, details: "id: must have 64 hexadecimal digits")
        }
        return try lift(key, revocation: nil, in: call, by: caller)
    }

    private func lift(
        _ key: SHA256Digest,
        revocation: Revocation?,
        in call: RequestContext,
        by caller: String?
    ) throws(APIRefusal) -> Outcome {
        let (gate, time, trace, revocationCache) = (call.gate, call.time, call.trace, revocationCache)
        try reserveRoom(for: 1)
        return .later { [self] () async throws(APIRefusal) in
            defer { inFlight.release(1) }
            try await gate.lift(key, revocation: revocation, cache: revocationCache, at: time)
            journal.noteLifted(revocation, id: key.hexadecimal, by: caller)
            let members: [JSON.Member] = [
                ("lifted", .bool(true)), ("id", .string(key.hexadecimal)), ("trace", .string("\(trace)")),
            ]
            return .json(.object(members), trace: trace)
        }
    }
}

extension Gate {
    /// The most revocations in a list.
    private static var mostListed: Int { 1000 }

    /// Returns the newest revocations in force, and whether there are more.
    package func listedRevocations(
        at now: Timestamp
    ) async throws(APIRefusal) -> (records: [RevocationRecord], hasMore: Bool) {
        let all: [RevocationRecord]
        do throws(ReplayStoreError) { all = try await revocations(atMost: 1_000_000, at: now) } catch {
            throw APIRefusal(DenyCode.replayStoreUnavailable)
        }
        return (all.suffix(Self.mostListed).reversed(), all.count > Self.mostListed)
    }

    /// Lifts a revocation, also for the grants of this process if its subject is known.
    package func lift(
        _ key: SHA256Digest,
        revocation: Revocation?,
        cache revocationCache: RevocationCache?,
        at now: Timestamp
    ) async throws(APIRefusal) {
        let wasRevoked: Bool
        do throws(ReplayStoreError) { wasRevoked = try await lift(key, at: now) } catch {
            throw APIRefusal(DenyCode.replayStoreUnavailable)
        }
        guard wasRevoked else { throw APIRefusal(.revocationUnknown) }
        if let revocation { revocationCache?.remove(RevocationRecord(revocation, at: now), at: now) }
    }
}

extension RevocationRecord {
    /// The record in a list. A subject is known only by its id: stores have neither GUIDs nor names.
    fileprivate var json: JSON {
        let everything = issuedBefore >= Revocation.everShared
        return .object([
            ("id", .string(key.hexadecimal)), ("kind", .optional(kind?.rawValue)),
            ("playback", .optional(session?.hexadecimal)),
            ("reason", isShared ? .string("shared") : .null),
            ("issuedBefore", everything ? .null : .number(issuedBefore.millisecondsSince1970)),
            ("until", .number(kept.millisecondsSince1970)),
        ])
    }
}
