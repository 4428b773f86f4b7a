// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Hummingbird
internal import NIOCore

/// What a responder knows of the connection that a request came by.
struct ListenerContext: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) { channel = source.channel }
}
