// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Hummingbird
internal import NIOCore

/// What belongs to a request while it is answered.
struct SandboxContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
