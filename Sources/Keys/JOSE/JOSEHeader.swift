// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The statements of a JOSE header (RFC 7515 §4, RFC 7516 §4) that are looked at. Keys that a header holds or refers to
/// (`jwk`, `jku`, `x5u`, `x5c`) are never used.
struct JOSEHeader {
    /// The name of the algorithm; `nil` if the header has none.
    private(set) var algorithm: String?
    /// The name of the algorithm that encrypts the content of a JWE; `nil` if the header has none.
    private(set) var encryption: String?
    /// The key identifier.
    private(set) var keyID = Identifier.none
    /// True if the header has `crit`, `b64` or `zip`, none of which is supported.
    private(set) var isUnsupported = false

    /// A key identifier of a header.
    enum Identifier {
        case none
        case some(KeyID)
        /// An identifier that no key can have.
        case impossible
    }

    /// The largest header, in characters.
    static let maximumSize = 1024
    private static let limits = JSONLimits(depth: 6, members: 32, elements: 32)

    /// Reads a header.
    ///
    /// - Parameter text: The header as it is encoded.
    init(_ text: Span<UInt8>) throws(JOSERefusal) {
        guard text.count <= Self.maximumSize else { throw .tooLarge }
        var buffer: [1056 of UInt8] = .init(repeating: 0)
        var output = buffer.mutableSpan
        guard let count = Base64.decodeURLSafe(text, into: &output), count > 0 else { throw .malformed }
        do throws(JSONFault) { try read(output.span.extracting(first: count)) } catch { throw .malformed }
    }

    private mutating func read(_ bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONMemberReader(bytes, limits: Self.limits)
        while let member = try reader.next() {
            switch try reader.name(member) {
            case "alg": algorithm = try text(member, bytes)
            case "enc": encryption = try text(member, bytes)
            case "typ": _ = try text(member, bytes)
            case "kid":
                let text = try text(member, bytes)
                keyID = KeyID(text).map { .some($0) } ?? .impossible
            case "crit", "b64", "zip": isUnsupported = true
            default: continue
            }
        }
    }

    private func text(_ member: JSONMemberReader.Member, _ bytes: Span<UInt8>) throws(JSONFault) -> String {
        guard case .string(let isEscaped) = member.kind else { throw .notJSON }
        guard isEscaped else {
            return String(copying: bytes.extracting(member.value.lowerBound + 1..<member.value.upperBound - 1))
        }
        return try JSONMemberReader.text(bytes, member.value)
    }
}

/// The parts of a compact serialisation, as places in its characters.
struct JOSEParts {
    private var ends: [6 of Int] = .init(repeating: 0)
    /// The number of parts; 6 for more than 5.
    private(set) var count = 0

    init(_ text: Span<UInt8>) {
        var start = 0
        while count < 6 {
            let end = text.firstIndex(of: UInt8(ascii: "."), from: start) ?? text.count
            ends[count] = end
            count += 1
            guard end < text.count else { return }
            start = end + 1
        }
    }

    /// Returns the place of a part.
    subscript(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1] + 1)..<ends[index] }
}
