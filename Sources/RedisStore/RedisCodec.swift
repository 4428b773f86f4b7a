// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import CHiredis
    internal import Encodings
    internal import NIOCore

    /// A reply of Redis.
    package enum RedisReply: Hashable, Sendable {
        case null
        case integer(Int64)
        case text([UInt8])
        case error(String)
        case array([RedisReply])
    }

    /// A command in wire format: an array of bulk strings.
    struct RedisCommand: Sendable {
        private let first: RedisWords
        private let others: RedisWords

        /// Creates a command from its words.
        init(_ words: [String]) { self.init(first: RedisWords(words), others: RedisWords()) }

        /// Creates a command from its words.
        init(_ words: String...) { self.init(words) }

        /// Creates a command from its first words and the others.
        init(first: RedisWords, others: RedisWords) {
            self.first = first
            self.others = others
        }

        func write(into buffer: inout ByteBuffer) {
            var count: [UInt8] = []
            count.append("*", count: first.count + others.count)
            buffer.writeBytes(count)
            buffer.writeBytes(first.bytes)
            buffer.writeBytes(others.bytes)
        }
    }

    /// Words of a command in wire format: bulk strings (RESP 2), which are counted and need no escapes.
    ///
    /// All are in one buffer, because a string for each costs more than the word.
    struct RedisWords: Sendable {
        private(set) var bytes: [UInt8] = []
        private(set) var count = 0

        /// - Parameter capacity: The number of bytes to make room for.
        init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

        init(_ words: [String]) { for word in words { append(word) } }

        mutating func append(_ word: String) {
            begin(word.utf8.count)
            bytes.append(copying: word)
            bytes.append("\r\n")
        }

        mutating func append(_ number: Int64) { append(String(number)) }

        /// Appends the word that two texts, bytes in lower-case hexadecimal and another text make together.
        mutating func append(
            _ first: String,
            then second: String,
            hexadecimal octets: [UInt8],
            suffix last: String = ""
        ) {
            begin(first.utf8.count + second.utf8.count + 2 * octets.count + last.utf8.count)
            bytes.append(copying: first)
            bytes.append(copying: second)
            bytes.append(hexadecimal: octets)
            bytes.append(copying: last)
            bytes.append("\r\n")
        }

        private mutating func begin(_ size: Int) {
            count += 1
            bytes.append("$", count: size)
        }

        /// Returns the bytes of a word; `nil` if there are not so many words.
        ///
        /// - Parameter index: The number of the word, from 0.
        func word(_ index: Int) -> ArraySlice<UInt8>? {
            var rest = bytes[...]
            for number in 0..<count {
                var size = 0
                while let byte = rest.popFirst(), byte != UInt8(ascii: "\n") {
                    if let digit = byte.hexadecimalDigit { size = 10 * size + Int(digit) }
                }
                if number == index { return rest.prefix(size) }
                rest = rest.dropFirst(size + 2)
            }
            return nil
        }
    }

    extension [UInt8] {
        fileprivate mutating func append(_ sign: Unicode.Scalar, count: Int) {
            append(UInt8(ascii: sign))
            append(decimal: Int64(count))
            append("\r\n")
        }
    }

    /// The owner of a hiredis reply reader. Each connection has one.
    @safe
    final class RedisReplyReader {
        private let reader: UnsafeMutablePointer<redisReader>

        /// An error for bytes that are not a reply. The connection can no longer be used.
        struct Malformed: Error {
            package let reason: String
        }

        /// Creates a reader; `nil` if memory is exhausted.
        init?() {
            guard let reader = unsafe redisReaderCreate() else { return nil }
            unsafe self.reader = reader
        }

        deinit { unsafe redisReaderFree(reader) }

        /// Appends received bytes.
        func feed(_ bytes: UnsafeRawBufferPointer) throws(Malformed) {
            guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
            guard unsafe redisReaderFeed(reader, start, bytes.count) == REDIS_OK else { throw failure }
        }

        /// Returns the next complete reply; `nil` if more bytes are needed.
        func next() throws(Malformed) -> RedisReply? {
            var object: UnsafeMutableRawPointer?
            guard unsafe redisReaderGetReply(reader, &object) == REDIS_OK else { throw failure }
            guard let object = unsafe object else { return nil }
            defer { unsafe freeReplyObject(object) }
            return unsafe Self.reply(object.assumingMemoryBound(to: redisReply.self).pointee)
        }

        /// Converts a reply. The recursion is bounded: hiredis limits nested replies to seven levels.
        private static func reply(_ reply: redisReply) -> RedisReply {
            switch unsafe reply.type {
            case REDIS_REPLY_INTEGER: return unsafe .integer(reply.integer)
            case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: return unsafe .text(text(reply))
            case REDIS_REPLY_ERROR: return unsafe .error(String(decoding: text(reply), as: UTF8.self))
            case REDIS_REPLY_ARRAY:
                var elements: [RedisReply] = []
                for index in 0..<(unsafe reply.elements) {
                    guard let element = unsafe reply.element?[index] else { continue }
                    unsafe elements.append(self.reply(element.pointee))
                }
                return .array(elements)
            default: return .null
            }
        }

        private static func text(_ reply: redisReply) -> [UInt8] {
            guard let start = unsafe reply.str else { return [] }
            return unsafe UnsafeBufferPointer(start: start, count: reply.len).map { UInt8(bitPattern: $0) }
        }

        private var failure: Malformed {
            let text = unsafe withUnsafeBytes(of: reader.pointee.errstr) { text in
                unsafe String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
            }
            return Malformed(reason: text)
        }
    }
#endif
