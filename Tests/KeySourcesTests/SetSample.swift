// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Keys
import Platform

@testable import KeySources

/// Key sets of others, and answers with them.
enum SetSample {
    static let time = GateSample.time
    static let binding = KeyBinding(issuer: "other-org", format: .cat)
    static let point = """
        "kty":"EC","crv":"P-256","x":"sP2VzTW_SP-lt1RhWXcn8ZJtmP3UKB1OGcrJ_2GXqpw",\
        "y":"r5heKMJthF5Vz_tlofuLy1BWACaL-s_zefEzrlgg4uU"
        """

    /// A set with a key for each identifier.
    static func set(_ ids: [String]) -> [UInt8] {
        [UInt8]("{\"keys\":[\(ids.map { "{\(point),\"kid\":\"\($0)\"}" }.joined(separator: ","))]}".utf8)
    }

    static func answer(
        _ ids: String...,
        tag: String? = nil,
        caching: String? = nil
    ) -> Result<KeySetResponse, KeySetFault> {
        var headers: [(String, String)] = [("Content-Type", "application/jwk-set+json")]
        if let tag { headers.append(("ETag", tag)) }
        if let caching { headers.append(("Cache-Control", caching)) }
        return .success(response(status: 200, headers: headers, body: set(ids)))
    }

    static func response(status: Int, headers: [(String, String)] = [], body: [UInt8] = []) -> KeySetResponse {
        KeySetResponse(status: status, headers: headers.map { .init(name: $0.0, value: $0.1) }, body: body)
    }

    static func state(_ rules: KeySetRules = KeySetRules()) -> SetLife {
        SetLife(KeySetState(binding: binding, rules: rules))
    }

    static func id(_ text: String) -> KeyID {
        guard let id = KeyID(text) else { preconditionFailure("\(text) is no key id") }
        return id
    }
}

/// A state in the course of a test. A reference, because an expectation cannot change a value.
@dynamicMemberLookup
final class SetLife {
    private var state: KeySetState

    init(_ state: KeySetState) { self.state = state }

    subscript<Value>(dynamicMember path: KeyPath<KeySetState, Value>) -> Value { state[keyPath: path] }

    /// The identifiers of the keys.
    var ids: [String] { state.keys.compactMap { $0.id?.text } }

    func next(at now: Timestamp) -> KeySetState.Step { state.next(at: now) }

    func ask(for id: KeyID, at now: Timestamp) -> Bool { state.ask(for: id, at: now) }

    func finish(_ answer: Result<KeySetResponse, KeySetFault>, at now: Timestamp, spread: Double) -> KeySetOutcome {
        state.finish(answer, at: now, spread: spread)
    }

    /// Fetches at `now` if it is due, and accepts `answer`.
    func fetch(
        _ answer: Result<KeySetResponse, KeySetFault>,
        at now: Timestamp,
        spread: Double = 0
    ) -> KeySetOutcome? {
        guard case .fetch = next(at: now) else { return nil }
        return finish(answer, at: now, spread: spread)
    }

    /// The milliseconds until the next fetch.
    func wait(from now: Timestamp) -> Int64 { state.nextFetch.since(now) }
}
