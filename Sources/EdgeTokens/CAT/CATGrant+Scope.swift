// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension CATGrant {
    /// The path that all permitted paths begin with; `nil` if no rule of the token is of that kind.
    public var pathPrefix: String? {
        guard let place = claims[.uri] else { return nil }
        let payload = payload
        do throws(ClaimFault) {
            var reader = ClaimReader(payload.span.extracting(place))
            for _ in 0..<(try reader.map(1...256)) {
                let component = try reader.integer()
                for _ in 0..<(try reader.map(1...256)) {
                    let match = try reader.integer()
                    guard component == Int64(URIComponent.path.rawValue), match == ValueMatch.prefix.rawValue else {
                        try reader.skip()
                        continue
                    }
                    let text = try reader.text(1...4096)
                    return String(copying: payload.span.extracting(place).extracting(text))
                }
            }
            return nil
        } catch {
            return nil
        }
    }
}
