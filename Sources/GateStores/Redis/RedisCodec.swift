// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import CHiredis

    /// What Redis answered.
    enum RedisReply: Hashable, Sendable {
        case null
        case integer(Int64)
        case text([UInt8])
        case error(String)
        case array([RedisReply])
    }

    /// A command in the form that it has on the wire, written by hiredis.
    struct RedisCommand: Sendable {
        let bytes: [UInt8]

        /// Makes a command; nil where there is no memory for it.
        init?(_ words: [[UInt8]]) {
            // One buffer for all words: every pointer into it is good while it is open.
            var lengths: [Int] = []
            var joined: [CChar] = []
            for word in words {
                lengths.append(word.count)
                joined += word.map { CChar(bitPattern: $0) }
            }
            let bytes: [UInt8]? = unsafe joined.withUnsafeBufferPointer { joined in
                var starts: [UnsafePointer<CChar>?] = unsafe []
                var offset = 0
                for length in lengths {
                    unsafe starts.append(joined.baseAddress.map { unsafe $0 + offset })
                    offset += length
                }
                var formatted: UnsafeMutablePointer<CChar>?
                let count = unsafe redisFormatCommandArgv(&formatted, Int32(words.count), &starts, lengths)
                guard count > 0, let text = unsafe formatted else { return nil }
                defer { unsafe redisFreeCommand(text) }
                return unsafe UnsafeBufferPointer(start: text, count: Int(count)).map { UInt8(bitPattern: $0) }
            }
            guard let bytes else { return nil }
            self.bytes = bytes
        }

        /// Makes a command of texts.
        init?(_ words: String...) { self.init(words.map { [UInt8]($0.utf8) }) }
    }

    /// The owner of hiredis's reader of replies. One connection has one.
    @safe
    final class RedisReplyReader {
        private let reader: UnsafeMutablePointer<redisReader>

        /// What is read is no reply; the connection is of no use any more.
        struct Malformed: Error {
            let reason: String
        }

        /// Makes a reader; nil where there is no memory for it.
        init?() {
            guard let reader = unsafe redisReaderCreate() else { return nil }
            unsafe self.reader = reader
        }

        deinit { unsafe redisReaderFree(reader) }

        /// Takes what came in.
        func feed(_ bytes: UnsafeRawBufferPointer) throws(Malformed) {
            guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
            guard unsafe redisReaderFeed(reader, start, bytes.count) == REDIS_OK else { throw failure }
        }

        /// The next reply that is whole.
        func next() throws(Malformed) -> RedisReply? {
            var object: UnsafeMutableRawPointer?
            guard unsafe redisReaderGetReply(reader, &object) == REDIS_OK else { throw failure }
            guard let object = unsafe object else { return nil }
            defer { unsafe freeReplyObject(object) }
            return unsafe Self.reply(object.assumingMemoryBound(to: redisReply.self).pointee)
        }

        /// hiredis lets replies nest seven deep at most.
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
