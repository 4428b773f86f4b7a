// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A reader of COSE key sets (RFC 9052 §7).
enum COSEKeyReader {
    private static let limits = CBORLimits(depth: 4, items: 2048)

    /// Returns the entries of a set. Throws if it is none, or has keys that its source may not publish.
    static func entries(
        of bytes: [UInt8],
        from source: KeySetSource
    ) throws(KeySetError) -> [Result<KeyRecord, EntryFault>] {
        guard bytes.count <= KeySetReading.maximumSize else {
            throw KeySetError(.tooLarge, reason: "the key set has more than \(KeySetReading.maximumSize) bytes")
        }
        let entries: [COSEKeyEntry]
        do throws(CBORFault) { entries = try read(bytes.span) } catch {
            throw KeySetError(.malformed, reason: "the key set is not a strict CBOR array of maps")
        }
        if source == .published, entries.contains(where: \.hasSecret) {
            throw KeySetError(.privateKeyPresent, reason: "a published key set has a private or symmetric key")
        }
        return entries.map { entry in
            do throws(EntryFault) { return .success(try entry.record()) } catch { return .failure(error) }
        }
    }

    private static func read(_ bytes: Span<UInt8>) throws(CBORFault) -> [COSEKeyEntry] {
        var reader = CBORReader(bytes, limits: limits)
        var entries: [COSEKeyEntry] = []
        for _ in 0..<(try reader.readArray()) { entries.append(try entry(&reader)) }
        try reader.finish()
        return entries
    }

    private static func entry(_ reader: inout CBORReader) throws(CBORFault) -> COSEKeyEntry {
        var entry = COSEKeyEntry()
        for _ in 0..<(try reader.readMap()) {
            let label = try reader.next().integer
            let head = try reader.next()
            let value: COSEKeyEntry.Value
            switch head {
            case .bytes(let range): value = .bytes(reader[range])
            case .bool(let truth): value = .bool(truth)
            case .array(let count):
                var list: [Int64] = []
                for _ in 0..<count {
                    let element = try reader.next()
                    // An operation that is a text is none that is known here.
                    if let integer = element.integer { list.append(integer) }
                    try reader.skip(contentsOf: element)
                }
                value = .integers(list)
            default:
                value = head.integer.map { .integer($0) } ?? .other
                try reader.skip(contentsOf: head)
            }
            if let label { entry.values[label] = value }
        }
        return entry
    }
}
