// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
public import Keys

extension CATIssuer {
    /// Renews a token that was allowed, and for which a renewal is due: the same claims with a new life and identity.
    ///
    /// The new life ends with the session. A token of another installation that has no session gets one of the longest
    /// length that its issuer's configuration allows.
    ///
    /// - Parameters:
    ///   - grant: The token.
    ///   - now: The time of the request.
    ///   - identifier: The identity of the new token; 16 random bytes by default.
    /// - Throws: ``CATIssueError/notRenewable``, or another ``CATIssueError`` if it cannot be signed.
    public func renew(
        _ grant: CATGrant,
        at now: Timestamp,
        identifier: [UInt8]? = nil
    ) throws(CATIssueError) -> IssuedCAT {
        guard key.issuer == grant.issuer.name else { throw .issuer }
        guard case .valid(let times) = grant.claims.renewal, let expires = grant.expires, now < expires else {
            throw .notRenewable
        }
        var session = grant.claims.sessionEnd.map { Int64($0) }
        if session == nil, let longest = grant.issuer.maximumSession {
            session = now.seconds + longest.components.seconds
        }
        guard let session, session * 1000 > expires.millisecondsSince1970 else { throw .notRenewable }
        let (sum, overflow) = now.millisecondsSince1970.addingReportingOverflow(times.life)
        let end = min(overflow ? session : sum / 1000, session)
        // A life that ends before the present one renews nothing.
        guard end * 1000 > expires.millisecondsSince1970 else { throw .notRenewable }
        let renewalStart = Timestamp(millisecondsSince1970: times.start(end: end * 1000))
        return try copy(grant, until: end, of: session, identifier: identifier, renewalStart: renewalStart, at: now)
    }

    /// Issues a token beside one that was allowed: the same claims with another end and identity. An example is a token
    /// for the references of a manifest. A token that is not renewable can be copied too.
    ///
    /// - Parameters:
    ///   - grant: The token.
    ///   - end: The end of the new token. It is moved to the session's end if it is later.
    ///   - now: The time of the request.
    ///   - identifier: The identity of the new token; 16 random bytes by default.
    /// - Throws: ``CATIssueError/notRenewable`` if the token has no session, or would be expired; another ``CATIssueError`` if it
    ///   cannot be signed.
    public func copy(
        _ grant: CATGrant,
        until end: Timestamp,
        at now: Timestamp,
        identifier: [UInt8]? = nil
    ) throws(CATIssueError) -> IssuedCAT {
        guard key.issuer == grant.issuer.name else { throw .issuer }
        guard let session = grant.claims.sessionEnd.map({ Int64($0) }) else { throw .notRenewable }
        let seconds = min(end.seconds, session)
        guard seconds * 1000 > now.millisecondsSince1970 else { throw .notRenewable }
        var renewalStart: Timestamp?
        if case .valid(let times) = grant.claims.renewal {
            renewalStart = Timestamp(millisecondsSince1970: times.start(end: seconds * 1000))
        }
        return try copy(grant, until: seconds, of: session, identifier: identifier, renewalStart: renewalStart, at: now)
    }

    /// Signs the claims of a token with another end and identity, in seconds.
    private func copy(
        _ grant: CATGrant,
        until end: Int64,
        of session: Int64,
        identifier: [UInt8]?,
        renewalStart: Timestamp?,
        at now: Timestamp
    ) throws(CATIssueError) -> IssuedCAT {
        var fresh = identifier ?? []
        if fresh.isEmpty { fresh = try Self.randomIdentifier() }
        let changes = Renewed(expires: end, issued: now.seconds, identifier: fresh, sessionEnd: session)
        guard let payload = changes.payload(of: grant) else { throw .claims }
        return IssuedCAT(
            token: try sign(payload),
            expires: Timestamp(secondsSince1970: end),
            renewalStart: renewalStart,
            identifier: fresh,
            session: grant.session
        )
    }

    /// The claims that a renewal changes.
    private struct Renewed {
        let expires: Int64
        let issued: Int64
        let identifier: [UInt8]
        let sessionEnd: Int64

        /// Returns the payload of `grant` with the changes, all other claims as they were encoded; `nil` if it has claims
        /// that cannot be copied.
        func payload(of grant: CATGrant) -> [UInt8]? {
            let labels = grant.issuer.labels
            let source = grant.payload
            var entries: [(key: CBORHead, value: Range<Int>)] = []
            do throws(ClaimFault) {
                var reader = ClaimReader(source.span)
                for _ in 0..<(try reader.map(0...256)) {
                    let key = try reader.next()
                    let start = reader.position
                    try reader.skip()
                    entries.append((key, start..<reader.position))
                }
            } catch {
                return nil
            }
            var writer = CBORWriter(capacity: grant.payload.count + 64)
            writer.map { map in
                for (key, value) in entries {
                    let copy: (inout CBORWriter) -> Void = {
                        $0.write(encoded: source.span.extracting(value))
                    }
                    switch key {
                    case .text(let range): map.entry(String(copying: source.span.extracting(range)), value: copy)
                    default:
                        guard let label = key.integer, !isChanged(labels.claim(label)) else { continue }
                        map.entry(label, value: copy)
                    }
                }
                map.entry(labels.label(.expiration).rawValue) { $0.write(expires) }
                map.entry(labels.label(.issuedAt).rawValue) { $0.write(issued) }
                map.entry(labels.label(.identifier).rawValue) { $0.write(identifier) }
                map.entry(labels.label(.sessionEnd).rawValue) { $0.write(sessionEnd) }
            }
            return try? writer.finish()
        }

        private func isChanged(_ claim: CATClaim?) -> Bool {
            switch claim {
            case .expiration, .issuedAt, .identifier, .sessionEnd: true
            default: false
            }
        }
    }
}
