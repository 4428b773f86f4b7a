// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import CHiredis

    /// A reply of Redis.
    enum RedisReply: Hashable, Sendable {
        case null
        case integer(Int64)
        case text([UInt8])
        case error(String)
        case array([RedisReply])
    }

    /// A command in wire format: an array of bulk strings (RESP 2), which are counted and need no escapes.
    struct RedisCommand: Sendable {
        let bytes: [UInt8]

        /// Creates a command from its words.
        init(_ words: [String]) {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(words.reduce(16) { $0 + $1.utf8.count + 12 })
            bytes.append("*", words.count)
            for word in words {
                bytes.append("$", word.utf8.count)
                bytes += word.utf8
                bytes += "\r\n".utf8
            }
            self.bytes = bytes
        }

        /// Creates a command from its words.
        init(_ words: String...) { self.init(words) }
    }

    extension [UInt8] {
        fileprivate mutating func append(_ sign: Unicode.Scalar, _ count: Int) {
            append(UInt8(ascii: sign))
            self += String(count).utf8
            self += "\r\n".utf8
        }
    }

    /// The owner of a hiredis reply reader. Each connection has one.
    @safe
    final class RedisReplyReader {
        private let reader: UnsafeMutablePointer<redisReader>

        /// An error for bytes that are not a reply. The connection can no longer be used.
        struct Malformed: Error {
            let reason: String
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
                for place in 0..<(unsafe reply.elements) {
                    guard let element = unsafe reply.element?[place] else { continue }
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
