// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension Substring {
    /// This text with percent-encoding undone once; nil where that is malformed.
    var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next(), let low = rest.next(),
                let high = Character(Unicode.Scalar(high)).hexDigitValue,
                let low = Character(Unicode.Scalar(low)).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high * 16 + low))
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
