// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography

// The functions under test with arrays: the macros of the tests take no spans.

extension MessageDigest {
    func digest(_ bytes: [UInt8]) -> [UInt8]? { digest(bytes.span) }

    func isDigest(_ digest: [UInt8], of bytes: [UInt8]) -> Bool { isDigest(digest.span, of: bytes.span) }
}

extension ConstantTime {
    static func equals(_ left: [UInt8], to right: [UInt8]) -> Bool { equals(left.span, to: right.span) }
}

extension HMACKey {
    func code(of message: [UInt8]) -> [UInt8]? { code(of: MessagePieces(message.span)) }

    func isValid(_ code: [UInt8], of message: [UInt8], length: Int? = nil) -> Bool {
        isValid(code.span, of: MessagePieces(message.span), length: length)
    }

    func isValid(_ code: [UInt8], inPieces pieces: [[UInt8]]) -> Bool {
        let (first, second, third, fourth) = (pieces[0], pieces[1], pieces[2], pieces[3])
        return isValid(
            code.span,
            of: MessagePieces(first: first.span, second: second.span, third: third.span, fourth: fourth.span)
        )
    }
}

extension SignatureVerifier {
    func isValid(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        isValid(signature.span, over: MessagePieces(message.span))
    }
}

extension SignatureMaker {
    func sign(_ message: [UInt8], prefersLowS: Bool = false) throws -> [UInt8] {
        try sign(MessagePieces(message.span), prefersLowS: prefersLowS)
    }
}
