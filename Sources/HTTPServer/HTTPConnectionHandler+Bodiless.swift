// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore
internal import NIOHTTP1

// Requests whose heads are read without NIO's decoder. They are treated as the parts of the same request from the decoder:
// its head, and its end.

extension HTTPConnectionHandler {
    /// True if a request that arrives now is processed at once: none is received, pending or queued, and the client reads its
    /// answers.
    var isReady: Bool {
        !isOver && !isPending && !isReceiving && !isWorking && waiting.isEmpty && context?.channel.isWritable ?? false
    }

    /// Receives a whole request without a body, while ``isReady``.
    func receive(_ method: HTTPMethod, target: Substring, fields: HTTPFields) {
        guard let context, let connection, let bodiless else { return }
        isWorking = true
        (isReceiving, isAnswered, isClientsLast) = (true, true, false)
        if !isArriving { beginArriving() }
        connection.slot?.noteUse()
        prepareOutput(isHead: method == .HEAD)
        let request = BodilessRequest(method: method, target: target, fields: fields, connection: connection)
        finishAnswer(bodiless.respond(to: request, into: &output), isHead: method == .HEAD, in: context)
        isWorking = false
        accept(.end(nil), in: context)
    }
}
