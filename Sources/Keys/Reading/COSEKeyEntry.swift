// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography

/// A COSE_Key as it stands in a set (RFC 9052 §7, RFC 9053 §7, RFC 8230 §4).
struct COSEKeyEntry {
    enum Value {
        case integer(Int64)
        case bytes([UInt8])
        case bool(Bool)
        case integers([Int64])
        case other
    }

    /// The values of integer labels.
    var values: [Int64: Value] = [:]

    /// Labels of every key (RFC 9052 §7.1).
    private enum Label {
        static let type: Int64 = 1
        static let id: Int64 = 2
        static let algorithm: Int64 = 3
        static let operations: Int64 = 4
    }

    /// True if there is a private number, or the key is symmetric.
    var hasSecret: Bool {
        switch values[Label.type] {
        case .integer(4)?: true
        case .integer(3)?: (-12 ... -3).contains { values[$0] != nil }
        // AKP: its public key is -1.
        case .integer(7)?: (-8 ... -2).contains { values[$0] != nil }
        default: values[-4] != nil
        }
    }

    func record() throws(EntryFault) -> KeyRecord {
        let material = try numbers().entryMaterial()
        return KeyRecord(id: try id(), material: material, algorithm: try algorithm(), operations: try operations())
    }

    private func id() throws(EntryFault) -> KeyID? {
        switch values[Label.id] {
        case nil: return nil
        case .bytes(let bytes)?:
            guard let id = KeyID(bytes) else { throw EntryFault("its identifier has not 1 to 64 bytes") }
            return id
        default: throw EntryFault("its identifier is not a byte string")
        }
    }

    private func algorithm() throws(EntryFault) -> KeyAlgorithm? {
        switch values[Label.algorithm] {
        case nil: return nil
        case .integer(let number)?:
            guard let algorithm = KeyAlgorithm(coseIdentifier: number) else {
                throw EntryFault("its algorithm \(number) is not supported")
            }
            return algorithm
        default: throw EntryFault("its algorithm is not an integer")
        }
    }

    private func operations() throws(EntryFault) -> KeyOperations {
        switch values[Label.operations] {
        case nil: return [.verify, .sign]
        case .integers(let numbers)?:
            var operations: KeyOperations = []
            // RFC 9052 §7.1: 1 sign, 2 verify, 9 MAC create, 10 MAC verify.
            if numbers.contains(where: { $0 == 1 || $0 == 9 }) { operations.insert(.sign) }
            if numbers.contains(where: { $0 == 2 || $0 == 10 }) { operations.insert(.verify) }
            return operations
        default: throw EntryFault("its operations are not a list")
        }
    }

    private func numbers() throws(EntryFault) -> KeyNumbers {
        switch values[Label.type] {
        case .integer(1)?:
            guard case .integer(6)? = values[-1] else { throw EntryFault("its curve is not supported") }
            return .ed25519(x: try bytes(of: -2, named: "x"), d: try optionalBytes(of: -4, named: "d"))
        case .integer(2)?:
            let curve: EllipticCurve
            switch values[-1] {
            case .integer(1)?: curve = .p256
            case .integer(2)?: curve = .p384
            case .integer(3)?: curve = .p521
            default: throw EntryFault("its curve is not supported")
            }
            let y: KeyNumbers.Ordinate
            if case .bool(let isOdd)? = values[-3] {
                y = .isOdd(isOdd)
            } else {
                y = .coordinate(try bytes(of: -3, named: "y"))
            }
            return .ellipticCurve(
                curve,
                x: try bytes(of: -2, named: "x"),
                y: y,
                d: try optionalBytes(of: -4, named: "d")
            )
        case .integer(3)?:
            guard values[-9] == nil, values[-10] == nil else { throw EntryFault("it has more than two primes") }
            var others: [[UInt8]]?
            if values[-3] != nil {
                others = []
                for label: Int64 in [-3, -4, -5, -6, -7, -8] { others?.append(try bytes(of: label, named: "\(label)")) }
            }
            return .rsa(modulus: try bytes(of: -1, named: "n"), exponent: try bytes(of: -2, named: "e"), others: others)
        case .integer(4)?: return .secret(try bytes(of: -1, named: "k"))
        case nil: throw EntryFault("it has no type")
        default: throw EntryFault("its type is not supported")
        }
    }

    private func bytes(of label: Int64, named name: String) throws(EntryFault) -> [UInt8] {
        guard let bytes = try optionalBytes(of: label, named: name) else { throw EntryFault("it has no \"\(name)\"") }
        return bytes
    }

    private func optionalBytes(of label: Int64, named name: String) throws(EntryFault) -> [UInt8]? {
        switch values[label] {
        case nil: return nil
        case .bytes(let bytes)? where !bytes.isEmpty: return bytes
        default: throw EntryFault("its \"\(name)\" is not a byte string")
        }
    }
}
