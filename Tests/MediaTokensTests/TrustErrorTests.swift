// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `Bad key files` {
    /// Loads `content` from a file and compares the error with `code`.
    private static func expect(
        _ code: TrustError.Code,
        from content: [UInt8],
        minimumKeySize: MinimumRSAKeySize = .standard,
        comment: Comment? = nil
    ) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("bad.pem", contents: content)
        let error = try #require(
            #expect(throws: TrustError.self, comment) {
                _ = try TrustStore([.file(path)], minimumKeySize: minimumKeySize, at: Sample.time)
            }
        )
        #expect(error.code == code, "\(error)")
        #expect(error.source == path)
        #expect(error.description.hasPrefix("\(path): "))
        #expect(error.description.hasSuffix("[\(code.rawValue)]"))
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: TrustError.Code
        let text: @Sendable (TestSigner) throws -> String

        init(_ name: String, code: TrustError.Code, text: @escaping @Sendable (TestSigner) throws -> String) {
            testDescription = name
            self.code = code
            self.text = text
        }
    }

    @Test(
        arguments: [
            Fault("empty", code: .noKey) { _ in "" },
            Fault("white space", code: .noKey) { _ in " \n\n" },
            Fault("words", code: .noKey) { _ in "not a key\n" },
            Fault("binary", code: .noKey) { _ in "\u{1}\u{2}\u{0}" },
            Fault("a private key", code: .privateKeyPresent) { $0.keys.signerKey },
            Fault("a private key behind its certificate", code: .privateKeyPresent) {
                $0.keys.signerCertificate + $0.keys.signerKey
            },
            Fault("a certificate without end", code: .malformedPEM) { String($0.keys.signerCertificate.dropLast(30)) },
            Fault("a certificate that is cut", code: .malformedPEM) {
                let lines = $0.keys.signerCertificate.split(separator: "\n")
                return (lines.prefix(5) + lines.suffix(1)).joined(separator: "\n") + "\n"
            },
            Fault("a certificate with a bad character", code: .malformedPEM) {
                $0.keys.signerCertificate.replacing("MII", with: "M!I")
            },
            Fault("a key with the label of a certificate", code: .malformedPEM) {
                try $0.publicKey().replacing("PUBLIC KEY", with: "CERTIFICATE")
            },
            Fault("a certificate with the label of a key", code: .malformedPEM) {
                $0.keys.signerCertificate.replacing("CERTIFICATE", with: "PUBLIC KEY")
            },
            Fault("a key with the label of the older form", code: .malformedPEM) {
                try $0.publicKey().replacing("PUBLIC KEY", with: "RSA PUBLIC KEY")
            },
            Fault("a good key before a damaged one", code: .malformedPEM) {
                try $0.publicKey() + "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
            },
            Fault("a request for a certificate", code: .unsupportedKey) { _ in
                "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"
            },
        ]
    )
    func `are refused with their name and the reason`(fault: Fault) throws {
        try Self.expect(fault.code, from: [UInt8](try fault.text(try TestSigner.main.get()).utf8))
    }

    @Test func `are refused when they cannot be read`() throws {
        let folder = try TemporaryFolder()
        let large = try folder.write("large.pem", contents: [UInt8](repeating: 0x20, count: (1 << 20) + 1))
        for path in [folder.path, "\(folder.path)/missing.pem", large, ""] {
            let error = try #require(
                #expect(throws: TrustError.self) { _ = try TrustStore(files: [path], at: Sample.time) }
            )
            #expect(error.code == .fileUnreadable && error.source == path)
            #expect(path.isEmpty || error.description.hasPrefix("\(path): "))
            let signing = try #require(#expect(throws: TrustError.self) { _ = try SigningKey(file: path) })
            #expect(signing.code == .fileUnreadable && signing.source == path)
        }
    }

    @Test func `may be as large as 1 MiB`() throws {
        let key = [UInt8](try TestSigner.main.get().publicKey().utf8)
        let folder = try TemporaryFolder()
        let path = try folder.write("large.pem", contents: key + [UInt8](repeating: 0xA, count: (1 << 20) - key.count))
        #expect(try TrustStore(files: [path], at: Sample.time).keys.count == 1)
    }

    @Test func `with a character changed are never taken for the same key`() throws {
        let text = [UInt8](try TestSigner.main.get().publicKey().utf8)
        let key = try #require(try PEM.blocks(text).first)
        var random = SplitMix64(seed: 5)
        for _ in 0..<300 {
            var copy = text
            copy[Int.random(in: 27..<copy.count - 26, using: &random)] = random.pick([UInt8]("ABCxyz019+/=\n-".utf8))
            guard copy != text,
                let store = try? TrustStore(
                    [.pem(String(decoding: copy, as: UTF8.self), name: "k")],
                    at: Sample.time
                )
            else { continue }
            // A damaged file that still has a key has another key, or the same bytes in other lines.
            let block = try #require(try PEM.blocks(copy).first)
            #expect(store.keys.count == 1 && (store.groups.first?.key.der == key.der) == (block.der == key.der))
        }
    }

    @Suite(.enabled(if: OpenSSLCommand.isInstalled, "openssl is not installed: run scripts/setup test"))
    struct `of the openssl command` {
        @Test(arguments: [
            ("RSA -pkeyopt rsa_keygen_bits:2048 -pkeyopt rsa_keygen_pubexp:3", TrustError.Code.weakExponent),
            ("RSA -pkeyopt rsa_keygen_bits:2048 -pkeyopt rsa_keygen_pubexp:257", .weakExponent),
            ("RSA -pkeyopt rsa_keygen_bits:1024", .keyTooSmall), ("RSA -pkeyopt rsa_keygen_bits:2047", .keyTooSmall),
            ("RSA-PSS -pkeyopt rsa_keygen_bits:2048", .unsupportedKey),
            ("EC -pkeyopt ec_paramgen_curve:P-256", .unsupportedKey), ("ED25519", .unsupportedKey),
        ])
        func `are refused for what they are`(algorithm: String, code: TrustError.Code) throws {
            let openssl = try OpenSSLCommand()
            try openssl("genpkey -algorithm \(algorithm) -out key.pem")
            try openssl("pkey -in key.pem -pubout -out public.pem")
            try `Bad key files`.expect(code, from: try openssl.folder.bytes("public.pem"))
            try `Bad key files`.expect(.privateKeyPresent, from: try openssl.folder.bytes("key.pem"))
        }

        @Test(
            arguments: [
                ("01", .weakExponent), ("02", .weakExponent), ("010000", .weakExponent),
                ("010002", .weakExponent), ("010001", nil), ("010003", nil),
            ] as [(String, TrustError.Code?)]
        )
        func `are refused with an even or small exponent`(exponent: String, code: TrustError.Code?) throws {
            let openssl = try OpenSSLCommand()
            let modulus = "0x00C" + String(repeating: "3", count: 510) + "1"
            try openssl.folder.write(
                "key.cnf",
                contents: "asn1=SEQUENCE:key\n[key]\nn=INTEGER:\(modulus)\ne=INTEGER:0x\(exponent)\n"
            )
            try openssl("asn1parse -genconf key.cnf -noout -out key.der")
            let der = Base64.encode(try openssl.folder.bytes("key.der"))
            let pem = "-----BEGIN RSA PUBLIC KEY-----\n\(der.lines(of: 64))-----END RSA PUBLIC KEY-----\n"
            if let code {
                try `Bad key files`.expect(code, from: [UInt8](pem.utf8))
            } else {
                #expect(try TrustStore([.pem(pem, name: "k")], at: Sample.time).keys.first?.bits == 2048)
            }
        }

        @Test func `are refused for signing when encrypted or not RSA`() throws {
            let openssl = try OpenSSLCommand()
            try openssl.folder.write("key.pem", contents: try TestSigner.main.get().keys.signerKey)
            try openssl("pkey -in key.pem -aes256 -passout pass:x -out encrypted.pem")
            try openssl("rsa -in key.pem -aes256 -passout pass:x -traditional -out old.pem")
            try openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ec.pem")
            for name in ["encrypted.pem", "old.pem", "ec.pem"] {
                let path = "\(openssl.folder.path)/\(name)"
                let error = try #require(#expect(throws: TrustError.self) { _ = try SigningKey(file: path) })
                #expect(error.code == .unsupportedKey, "\(error)")
                #expect(error.description.hasPrefix("\(path): "))
                #expect(error.description.contains(name == "ec.pem" ? "RSA" : "encrypted"))
                try `Bad key files`.expect(.privateKeyPresent, from: try openssl.folder.bytes(name))
            }
        }

        @Test func `may have a chain with a link between`() throws {
            let openssl = try OpenSSLCommand()
            try openssl.folder.write("ca.cnf", contents: Self.configuration)
            try openssl.folder.write("index.txt", contents: "")
            for name in ["root", "link", "leaf"] {
                try openssl("req -new -newkey rsa:2048 -nodes -keyout \(name).key -subj /CN=\(name) -out \(name).csr")
                let issuer = name == "root" ? "-selfsign" : "-cert \(name == "link" ? "root" : "link").pem"
                let key = name == "leaf" ? "link" : "root"
                try openssl(
                    """
                    ca -config ca.cnf -batch -notext -outdir . -startdate 20300101000000Z \
                    -enddate 20320101000000Z -extensions \(name == "leaf" ? "leaf" : "authority") \(issuer) \
                    -keyfile \(key).key -in \(name).csr -out \(name).pem
                    """
                )
            }
            let texts = try ["root", "link", "leaf"].map { try openssl.folder.text("\($0).pem") }
            func load(_ text: String, anchor: Int) throws -> [String] {
                let anchors = [TrustSource.pem(texts[anchor], name: "anchor")]
                return try TrustStore([.pem(text, name: "s")], anchors: anchors, at: Sample.time).keys.map(\.name)
            }
            #expect(try load(texts[2] + texts[1], anchor: 0) == ["s"])
            #expect(try load(texts[1] + texts[2], anchor: 0) == ["s"])
            #expect(try load(texts[2], anchor: 1) == ["s"])
            let error = #expect(throws: TrustError.self) { _ = try load(texts[2], anchor: 0) }
            #expect(error?.code == .untrustedChain)
        }

        private static let configuration = """
            [ca]
            default_ca = any
            [any]
            database = index.txt
            rand_serial = yes
            default_md = sha256
            policy = any_policy
            unique_subject = no
            [any_policy]
            commonName = supplied
            [authority]
            basicConstraints = critical,CA:TRUE
            keyUsage = critical,keyCertSign
            subjectKeyIdentifier = hash
            [leaf]
            basicConstraints = critical,CA:FALSE
            keyUsage = critical,digitalSignature

            """
    }
}

extension String {
    /// Returns this ASCII text in lines of `width` characters, each with a line end.
    fileprivate func lines(of width: Int) -> String {
        var (rest, lines) = (self[...], "")
        while !rest.isEmpty {
            lines += rest.prefix(width) + "\n"
            rest = rest.dropFirst(width)
        }
        return lines
    }
}
