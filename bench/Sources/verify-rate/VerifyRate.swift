// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Foundation
import MediaResources
import MediaTokens

/// Verifies one token repeatedly and prints verifications a second, for comparison with libraries of other languages, which
/// also run in processes of their own.
///
/// Usage: `verify-rate playgate|openssl|openssl-naive CERTIFICATE TOKEN-FILE MESSAGE-FILE SIGNATURE-FILE SECONDS`
@main
enum VerifyRate {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 7, let limit = Double(arguments[6]) else { fatalError("see the usage in the source") }
        let read = { (path: String) in [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
        let certificate = String(decoding: try read(arguments[2]), as: UTF8.self)
        let (body, signature) = (try read(arguments[4]), try read(arguments[5]))
        let verify: (Int) -> Void
        if arguments[1] == "playgate" {
            let token = String(decoding: try read(arguments[3]), as: UTF8.self).filter { !$0.isNewline }
            let bytes = [UInt8](token.utf8)
            let trust = try TrustStore([.pem(certificate, name: "signer")], at: .now())
            let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
            let resource = try MediaResource("TNT")
            verify = { n in
                for _ in 0..<n { precondition(verifier.verify(bytes.span, for: resource, at: .now()).isValid) }
            }
        } else {
            guard let key = limits_rsa_new(certificate) else { fatalError("the key cannot be read") }
            let check = arguments[1] == "openssl" ? limits_rsa_reused : limits_rsa_naive
            verify = { n in precondition(check(key, body, body.count, signature, signature.count, Int32(n)) == n) }
        }
        verify(500)
        let start = limits_now()
        var count = 0
        while Double(limits_now() - start) < limit * 1e9 {
            verify(100)
            count += 100
        }
        print(Int(Double(count) / (Double(limits_now() - start) / 1e9)))
    }
}
