// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings

/// The answer that a token demands if one of its claims fails (`catif`). It can only change a refusal, never remove it.
public struct CATAnswer: Hashable, Sendable {
    /// The status, 300 to 499.
    public let status: Int
    /// The address of the redirect from the token. The caller compares its host with the configured ones.
    public let location: String?
}

extension CATGrant {
    /// Returns the answer that the token demands if the claim of `refusal` fails; `nil` if it demands none, or an
    /// unsupported one.
    public func response(to refusal: GrantRefusal) -> CATAnswer? {
        guard let claim = refusal.claim, let range = claims[.answers] else { return nil }
        let payload = payload
        do throws(ClaimFault) {
            var reader = ClaimReader(payload.span.extracting(range))
            for _ in 0..<(try reader.map(0...256)) {
                let label = try reader.next().integer
                guard label.map({ issuer.labels.meaning(of: ClaimLabel($0)) }) == claim else {
                    try reader.skip()
                    continue
                }
                return try reader.readAnswer()
            }
        } catch {
            return nil
        }
        return nil
    }
}

extension ClaimReader {
    /// Reads a status, and the header fields if there are some.
    fileprivate mutating func readAnswer() throws(ClaimFault) -> CATAnswer {
        let count = try array(1...3)
        let status = Int(try unsigned(300...499))
        var location: String?
        guard count > 1 else { return CATAnswer(status: status, location: nil) }
        for _ in 0..<(try map(0...16)) {
            let name = try text(1...64)
            let head = try next()
            guard case .text(let value) = head, String(copying: source.extracting(name)).isSameField("location") else {
                try skip(contentsOf: head)
                continue
            }
            location = String(copying: source.extracting(value))
        }
        guard location?.utf8.allSatisfy({ 0x21..<0x7F ~= $0 }) ?? true else { throw .malformed }
        return CATAnswer(status: status, location: location)
    }
}
