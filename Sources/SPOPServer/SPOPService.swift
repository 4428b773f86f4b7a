// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer

/// A service that answers the notifications of a listener.
package protocol SPOPService: Sendable {
    /// The answers of the service.
    associatedtype Answer: SPOPAnswer

    /// Answers the messages of a notification, on the event loop of its connection.
    func reply(to messages: consuming SPOPMessages, on connection: HTTPConnection) -> Reply<Answer>
}

/// An answer to a notification.
package protocol SPOPAnswer: Sendable {
    /// Sets the variables that carry the answer.
    func write(into actions: inout SPOPActions)
}

/// The end of a connection by a DISCONNECT frame.
package struct SPOPEnd: Hashable, Sendable {
    /// True if the agent ended it, false for HAProxy.
    package let isByAgent: Bool
    /// The code of the frame: one of ``SPOPStatus``, or any number of HAProxy's.
    package let status: UInt64

    package init(isByAgent: Bool, status: UInt64) {
        self.isByAgent = isByAgent
        self.status = status
    }
}
