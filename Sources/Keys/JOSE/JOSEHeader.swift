// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The statements of a JOSE header (RFC 7515 §4, RFC 7516 §4) that are looked at. Keys that a header holds or refers to
/// (`jwk`, `jku`, `x5u`, `x5c`) are never used.
struct JOSEHeader {
    /// The algorithm.
    private(set) var algorithm = Algorithm.none
    /// The name of the algorithm that encrypts the content of a JWE; `nil` if the header has none.
    private(set) var encryption: String?
    /// The key identifier.
    private(set) var keyID = Identifier.none
    /// The type (`typ`).
    private(set) var type = TokenType.none
    /// True if the header has `crit`, `b64` or `zip`, none of which is supported.
    private(set) var isUnsupported = false

    /// An algorithm of a header.
    enum Algorithm {
        case none
        case known(KeyAlgorithm)
        /// The name of any other, such as one that encrypts a key.
        case other(String)

        /// The name; `nil` if there is none.
        var name: String? {
            switch self {
            case .none: nil
            case .known(let algorithm): algorithm.rawValue
            case .other(let name): name
            }
        }
    }

    /// A type of a header.
    enum TokenType {
        case none
        /// The range in the decoded header.
        case range(Range<Int>)
        /// A type that is written with escapes, which no issuer does.
        case escaped
    }

    /// A key identifier of a header.
    enum Identifier {
        case none
        /// The range in the decoded header.
        case range(Range<Int>)
        /// An identifier that is written with escapes.
        case unescaped(KeyID)
        /// An identifier that no key can have.
        case impossible
    }

    /// The largest header, in characters.
    static let maximumSize = 1024
    private static let limits = JSONLimits(depth: 6, members: 32, elements: 32)

    /// The members that are looked at.
    private enum Name: String, CaseIterable {
        case algorithm = "alg"
        case keyID = "kid"
        case type = "typ"
        case encryption = "enc"
        case critical = "crit"
        case payloadForm = "b64"
        case compression = "zip"

        static let all = allCases
        static let names = JSONNames(allCases.map(\.rawValue))
    }

    /// Decodes a header into `output`, which needs room for all of it. Returns its size.
    static func decode(_ text: Span<UInt8>, into output: inout MutableSpan<UInt8>) throws(JOSERefusal) -> Int {
        guard text.count <= maximumSize else { throw .tooLarge }
        guard let count = Base64.decodeURLSafe(text, into: &output), count > 0 else { throw .malformed }
        return count
    }

    /// Reads a decoded header.
    init(decoded bytes: Span<UInt8>) throws(JOSERefusal) {
        do throws(JSONFault) { try read(bytes) } catch { throw .malformed }
    }

    private mutating func read(_ bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONMemberReader(bytes, limits: Self.limits)
        while let member = try reader.next() {
            guard let index = try reader.index(of: member, in: Name.names) else { continue }
            switch Name.all[index] {
            case .algorithm:
                if let known = KeyAlgorithm.named(by: member, in: bytes) {
                    algorithm = .known(known)
                } else {
                    algorithm = .other(try text(of: member, in: bytes))
                }
            case .encryption: encryption = try text(of: member, in: bytes)
            case .type:
                guard case .string(let isEscaped) = member.kind else { throw .notJSON }
                type = isEscaped ? .escaped : .range(member.value.lowerBound + 1..<member.value.upperBound - 1)
            case .keyID: keyID = try identifier(of: member, in: bytes)
            case .critical, .payloadForm, .compression: isUnsupported = true
            }
        }
    }

    /// Returns the algorithm of a signature or code.
    func signatureAlgorithm() throws(JOSERefusal) -> KeyAlgorithm {
        switch algorithm {
        case .none: throw .malformed
        case .known(let algorithm): return algorithm
        case .other(let name):
            guard let algorithm = KeyAlgorithm(name: name) else { throw .algorithmRefused }
            return algorithm
        }
    }

    private func identifier(
        of member: JSONMemberReader.Member,
        in bytes: Span<UInt8>
    ) throws(JSONFault) -> Identifier {
        guard case .string(let isEscaped) = member.kind else { throw .notJSON }
        guard isEscaped else {
            let range = member.value.lowerBound + 1..<member.value.upperBound - 1
            return 1...KeyID.maximumSize ~= range.count ? .range(range) : .impossible
        }
        return KeyID(try JSONMemberReader.utf8(in: bytes, at: member.value)).map { .unescaped($0) } ?? .impossible
    }

    private func text(of member: JSONMemberReader.Member, in bytes: Span<UInt8>) throws(JSONFault) -> String {
        guard case .string = member.kind else { throw .notJSON }
        return try JSONMemberReader.text(in: bytes, at: member.value)
    }
}

extension JOSEHeader {
    /// Reads a header as it is encoded, with the copy of its key identifier.
    static func read(_ text: Span<UInt8>) throws(JOSERefusal) -> (header: JOSEHeader, keyID: KeyID?) {
        var buffer: [1056 of UInt8] = .init(repeating: 0)
        var output = buffer.mutableSpan
        let count = try decode(text, into: &output)
        let bytes = output.span.extracting(first: count)
        let header = try JOSEHeader(decoded: bytes)
        switch header.keyID {
        case .none, .impossible: return (header, nil)
        case .range(let range): return (header, KeyID([UInt8](copying: bytes.extracting(range))))
        case .unescaped(let id): return (header, id)
        }
    }
}

extension KeyAlgorithm {
    private static let all = allCases
    private static let names = all.map { [UInt8]($0.rawValue.utf8) }

    /// Returns the algorithm that a member names; `nil` if it is not one of those that are known, or written with escapes.
    fileprivate static func named(by member: JSONMemberReader.Member, in bytes: Span<UInt8>) -> KeyAlgorithm? {
        guard case .string(isEscaped: false) = member.kind else { return nil }
        let name = bytes.extracting(member.value.lowerBound + 1..<member.value.upperBound - 1)
        for index in names.indices {
            let known = names[index]
            if known.span.hasSameBytes(as: name) { return all[index] }
        }
        return nil
    }
}

/// The parts of a compact serialisation, as ranges of its characters.
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

    /// Returns the range of a part.
    subscript(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1] + 1)..<ends[index] }
}
