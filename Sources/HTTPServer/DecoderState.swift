// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOHTTP1

/// The state of NIO's decoder between requests, as far as the reported parts determine it.
struct DecoderState {
    /// True if the end of a request was the last part, after which the decoder can read another request.
    private(set) var isAtEnd = false
    /// True after a request that is the last one for the decoder: it refuses or ignores all bytes after it.
    private var isClosed = false

    /// Notes a part that the decoder has reported.
    mutating func note(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head):
            isAtEnd = false
            if !head.isKeepAlive { isClosed = true }
        case .body: isAtEnd = false
        case .end(let trailers): isAtEnd = trailers == nil && !isClosed
        }
    }

    /// Notes that more bytes are passed to the decoder.
    mutating func noteBytes() { isAtEnd = false }
}
