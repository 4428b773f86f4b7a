// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
internal import Platform

/// A reader and writer of PEM text (RFC 7468). Text outside the blocks is ignored.
package enum PEM {
    package struct Block {
        /// The text after `BEGIN`, such as `CERTIFICATE`.
        package let label: String
        package let der: [UInt8]
        /// True if the block has headers, which only keys in an old encrypted form have.
        package let isEncrypted: Bool
    }

    /// Reads every block of `text`.
    package static func blocks(_ text: [UInt8]) throws(OpenSSLError) -> [Block] {
        guard text.count <= Int32.max, let source = unsafe makeSource(text) else { throw .drained() }
        defer { unsafe BIO_free(source) }
        var blocks: [Block] = []
        while true {
            var label: UnsafeMutablePointer<CChar>?
            var header: UnsafeMutablePointer<CChar>?
            var bytes: UnsafeMutablePointer<UInt8>?
            var count = 0
            guard unsafe PEM_read_bio(source, &label, &header, &bytes, &count) == 1 else {
                // A missing start line marks the end of the text. Any other error is a fault in a block.
                let last = ERR_peek_last_error()
                let isAtEnd = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE
                let error = OpenSSLError.drained()
                if isAtEnd { return blocks }
                throw error
            }
            defer {
                unsafe CRYPTO_free(label, nil, 0)
                unsafe CRYPTO_free(header, nil, 0)
                unsafe CRYPTO_clear_free(bytes, count, nil, 0)
            }
            guard let label = unsafe label, let bytes = unsafe bytes else { throw .drained() }
            blocks.append(
                Block(
                    label: unsafe String(cString: label),
                    der: unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: count)),
                    isEncrypted: unsafe header.map { unsafe $0.pointee != 0 } ?? false
                )
            )
        }
    }

    /// Returns the text that `write` writes. `write` returns 1 on success.
    @unsafe
    package static func text(_ write: (OpaquePointer) -> Int32) throws(OpenSSLError) -> String {
        guard let target = unsafe BIO_new(BIO_s_mem()) else { throw .drained() }
        defer { unsafe BIO_free(target) }
        guard unsafe write(target) == 1 else { throw .drained() }
        var text = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(target))
        guard unsafe BIO_read(target, &text, Int32(text.count)) == Int32(text.count) else { throw .drained() }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns a BIO over a copy of `text`.
    @unsafe
    private static func makeSource(_ text: [UInt8]) -> OpaquePointer? {
        guard let source = unsafe BIO_new(BIO_s_mem()) else { return nil }
        guard unsafe text.isEmpty || BIO_write(source, text, Int32(text.count)) == Int32(text.count) else {
            unsafe BIO_free(source)
            return nil
        }
        return unsafe source
    }
}
