// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Hummingbird
internal import NIOCore

/// The context of a request: the router's storage and the connection's channel.
struct SandboxContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
