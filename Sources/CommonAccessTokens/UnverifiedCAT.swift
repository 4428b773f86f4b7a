// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
public import Keys

/// The content of an unverified Common Access Token, which anybody can have written: only for diagnosis.
public struct UnverifiedCAT: Sendable {
    /// The issuer that the token names; `nil` if it names none, or its claims cannot be read.
    public let issuer: String?
    /// The key identifier in the token's header; `nil` if there is none.
    public let keyID: KeyID?
    /// The algorithm in the token's header; `nil` for none or an unknown one.
    public let algorithm: KeyAlgorithm?

    private let payload: [UInt8]

    /// Reads a token without its key.
    ///
    /// - Parameter token: The token as presented, at most ``CATVerifier/maximumSize`` characters.
    /// - Throws: ``UnverifiedTokenError`` if the token is too large, or no envelope.
    public init(_ token: Span<UInt8>) throws(UnverifiedTokenError) {
        var buffer = [UInt8](repeating: 0, count: COSEText.bufferSize)
        var output = buffer.mutableSpan
        let count: Int
        switch COSEText.decode(token, into: &output) {
        case .success(let decoded): count = decoded
        case .failure(let refusal): throw UnverifiedTokenError(code: GrantCode(refusal))
        }
        let bytes = output.span.extracting(first: count)
        switch COSEMessage.parse(bytes) {
        case .failure(let refusal): throw UnverifiedTokenError(code: GrantCode(refusal))
        case .success(let message):
            payload = [UInt8](copying: bytes.extracting(message.payload))
            keyID = message.keyID.flatMap { KeyID([UInt8](copying: bytes.extracting($0))) }
            algorithm = message.algorithm.flatMap { KeyAlgorithm(coseIdentifier: $0) }
        }
        let payload = payload
        issuer = Self.issuer(payload.span)
    }

    private static func issuer(_ payload: Span<UInt8>) -> String? {
        do throws(ClaimFault) {
            var reader = ClaimReader(payload)
            for _ in 0..<(try reader.map(0...256)) {
                let key = try reader.next()
                guard key.integer == ClaimLabel.issuer.rawValue else {
                    try reader.skip()
                    continue
                }
                return String(copying: payload.extracting(try reader.text(1...256)))
            }
        } catch {
            return nil
        }
        return nil
    }

    /// Reports for each claim its result if the token were authentic.
    ///
    /// - Parameters:
    ///   - token: The token as presented.
    ///   - facts: The facts of the request.
    ///   - policy: The own names, and the means of the caller.
    ///   - now: The time of receipt.
    /// - Returns: The claims, and the refusal of a token with them; `nil` if there is none.
    public func explain(
        presentedAs token: Span<UInt8>,
        for facts: RequestFacts,
        under policy: CATPolicy,
        at now: Timestamp
    ) -> (claims: [ExplainedClaim], refusal: GrantRefusal?) {
        let payload = payload
        let profile = CATVerifier.Profile(AcceptedIssuer(issuer ?? ""))
        guard let keys = try? KeySet([]) else { return ([], GrantRefusal(.keyUnknown)) }
        let verifier = CATVerifier(keys: keys, issuers: [profile.issuer], policy: policy)
        let explainer = ClaimExplainer(
            settings: verifier.settings,
            profile: profile,
            now: now.millisecondsSince1970
        )
        let claims = explainer.claims(of: payload.span, presentedAs: token, for: facts)
        do throws(CATFault) {
            let read = try verifier.read(payload.span, of: profile)
            let context = CATContext(
                payload: payload.span,
                patterns: read.patterns,
                profile: profile,
                settings: verifier.settings,
                now: now.millisecondsSince1970
            )
            return (claims, read.claims.verdict(in: context, presentedAs: token, for: facts).refusal)
        } catch {
            return (claims, error.refusal)
        }
    }
}
