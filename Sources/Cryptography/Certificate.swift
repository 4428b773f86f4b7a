// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
package import Platform

/// The owner of a certificate (`X509`).
@safe
package final class Certificate {
    package let certificate: OpaquePointer  // <X509>

    @unsafe
    package init(owning certificate: OpaquePointer) { unsafe self.certificate = certificate }

    deinit { unsafe X509_free(certificate) }

    /// Reads a certificate in DER. Returns `nil` for other input, and for trailing bytes.
    package convenience init?(der: [UInt8]) {
        let certificate: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            let read = unsafe d2i_X509(nil, &next, bytes.count)
            guard let read = unsafe read else { return nil }
            guard unsafe next == bytes.baseAddress?.advanced(by: bytes.count) else {
                unsafe X509_free(read)
                return nil
            }
            return unsafe read
        }
        guard let certificate = unsafe certificate else { return nil }
        unsafe self.init(owning: certificate)
    }

    /// Returns the RSA public key of the certificate.
    package func publicKey(minimumBits: Int) throws(KeyFault) -> RSAPublicKey {
        guard let key = unsafe X509_get_pubkey(certificate) else { throw .unreadable(.drained()) }
        return try unsafe RSAPublicKey(owning: key, minimumBits: minimumBits)
    }

    /// The period in which the certificate is valid, both ends included, or `nil` if it cannot be read.
    package var validity: ClosedRange<Timestamp>? { unsafe Self.validity(of: certificate) }

    /// True if the certificate may sign certificates (basic constraints, or self-signed of version 1).
    package var isAuthority: Bool { unsafe X509_check_ca(certificate) > 0 }

    /// Returns the period in which a chain from this certificate to one of `anchors` is valid, with both ends. `nil` if
    /// its certificates are never valid together.
    ///
    /// - Parameter now: The time at which the chain is valid if any chain is.
    /// - Throws: OpenSSL's explanation, if there is no chain at any time.
    package func chainValidity(
        anchors: [Certificate],
        intermediates: [Certificate],
        at now: Timestamp
    ) throws(CertificateChainFault) -> ClosedRange<Timestamp>? {
        do throws(CertificateChainFault) {
            return try chainValidity(to: anchors, through: intermediates, at: now)
        } catch  where error.isOfTime {
            // The chain of a key that waits for its time, or whose time is over.
            return try chainValidity(to: anchors, through: intermediates, at: nil)
        }
    }

    private func chainValidity(
        to anchors: [Certificate],
        through intermediates: [Certificate],
        at now: Timestamp?
    ) throws(CertificateChainFault) -> ClosedRange<Timestamp>? {
        guard let store = unsafe X509_STORE_new() else { throw .drained() }
        defer { unsafe X509_STORE_free(store) }
        for anchor in anchors {
            guard unsafe X509_STORE_add_cert(store, anchor.certificate) == 1 else { throw .drained() }
        }
        guard let chain = unsafe copenssl_x509_stack_new() else { throw .drained() }
        defer { unsafe copenssl_x509_stack_free(chain) }  // The certificates stay with their owners.
        for intermediate in intermediates {
            guard unsafe copenssl_x509_stack_push(chain, intermediate.certificate) > 0 else { throw .drained() }
        }
        guard let context = unsafe X509_STORE_CTX_new() else { throw .drained() }
        defer { unsafe X509_STORE_CTX_free(context) }
        guard unsafe X509_STORE_CTX_init(context, store, certificate, chain) == 1 else { throw .drained() }
        let parameters = unsafe X509_STORE_CTX_get0_param(context)
        // The operator named the anchors, so an anchor is trusted whether self-signed or not.
        var flags = UInt(X509_V_FLAG_PARTIAL_CHAIN)
        if let now {
            unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(now.millisecondsSince1970 / 1000))
        } else {
            flags |= UInt(X509_V_FLAG_NO_CHECK_TIME)
        }
        unsafe X509_VERIFY_PARAM_set_flags(parameters, flags)
        let result = unsafe X509_verify_cert(context)
        OpenSSLError.forget()
        guard result == 1 else { throw CertificateChainFault(code: unsafe X509_STORE_CTX_get_error(context)) }
        return unsafe Self.validity(ofChain: X509_STORE_CTX_get0_chain(context))
    }

    @unsafe
    private static func validity(ofChain chain: OpaquePointer?) -> ClosedRange<Timestamp>? {
        var whole = Timestamp(millisecondsSince1970: .min)...Timestamp(millisecondsSince1970: .max)
        for index in 0..<(unsafe copenssl_x509_stack_count(chain)) {
            guard let certificate = unsafe copenssl_x509_stack_element(chain, index),
                let own = unsafe validity(of: certificate), own.overlaps(whole)
            else { return nil }
            whole = whole.clamped(to: own)
        }
        return whole
    }

    @unsafe
    private static func validity(of certificate: OpaquePointer) -> ClosedRange<Timestamp>? {
        guard let start = unsafe time(X509_get0_notBefore(certificate)),
            let end = unsafe time(X509_get0_notAfter(certificate)), start <= end
        else { return nil }
        return start...end
    }

    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp? {
        guard let epoch = unsafe ASN1_TIME_set(nil, 0) else { return nil }
        defer { unsafe ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        return Timestamp(secondsSince1970: Int64(days) * 86_400 + Int64(seconds))
    }
}

/// A reason why no chain of certificates leads to an anchor.
package struct CertificateChainFault: Error {
    /// OpenSSL's explanation.
    package let text: String
    /// True if a certificate is not valid yet, or is no longer valid.
    let isOfTime: Bool

    fileprivate init(code: Int32) {
        text = unsafe String(cString: X509_verify_cert_error_string(Int(code)))
        isOfTime = code == X509_V_ERR_CERT_HAS_EXPIRED || code == X509_V_ERR_CERT_NOT_YET_VALID
    }

    private init(text: String) { (self.text, isOfTime) = (text, false) }

    fileprivate static func drained() -> Self { Self(text: OpenSSLError.drained().text) }
}

/// The content of a new certificate.
package struct CertificateRequest {
    package let commonName: String
    package let key: RSAPrivateKey
    package let isAuthority: Bool
    package let validity: ClosedRange<Timestamp>

    package init(commonName: String, key: RSAPrivateKey, isAuthority: Bool, validity: ClosedRange<Timestamp>) {
        self.commonName = commonName
        self.key = key
        self.isAuthority = isAuthority
        self.validity = validity
    }
}

extension Certificate {
    /// Creates and signs a certificate of version 3.
    ///
    /// - Parameters:
    ///   - request: The content of the certificate.
    ///   - issuer: The certificate of the issuer; `nil` for a self-signed one.
    ///   - issuerKey: The private key of the issuer.
    package convenience init(
        _ request: CertificateRequest,
        issuer: Certificate?,
        issuerKey: RSAPrivateKey
    ) throws(OpenSSLError) {
        guard let certificate = unsafe X509_new() else { throw .drained() }
        unsafe self.init(owning: certificate)
        let name = unsafe X509_get_subject_name(certificate)
        let serial = UInt64.random(in: 1...UInt64(Int64.max))
        guard unsafe X509_set_version(certificate, 2) == 1,  // Counted from zero: version 3.
            unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1,
            unsafe X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_FLAG, request.commonName, -1, -1, 0) == 1,
            unsafe X509_set_issuer_name(
                certificate,
                issuer.map { unsafe X509_get_subject_name($0.certificate) } ?? name
            ) == 1,
            unsafe ASN1_TIME_set(X509_getm_notBefore(certificate), request.validity.lowerBound.time) != nil,
            unsafe ASN1_TIME_set(X509_getm_notAfter(certificate), request.validity.upperBound.time) != nil,
            unsafe X509_set_pubkey(certificate, request.key.key) == 1
        else { throw .drained() }
        for (identifier, value) in extensions(request) {
            try add(extension: identifier, value, issuer: issuer ?? self)
        }
        guard unsafe X509_sign(certificate, issuerKey.key, EVP_sha256()) > 0 else { throw .drained() }
    }

    /// Returns the certificate in PEM.
    package func pem() throws(OpenSSLError) -> String {
        try unsafe PEM.text { unsafe PEM_write_bio_X509($0, certificate) }
    }

    private func extensions(_ request: CertificateRequest) -> [(Int32, String)] {
        [
            (NID_basic_constraints, request.isAuthority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE"),
            (NID_key_usage, request.isAuthority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"),
            (NID_subject_key_identifier, "hash"),
            (NID_authority_key_identifier, "keyid:always"),
        ]
    }

    private func add(extension identifier: Int32, _ value: String, issuer: Certificate) throws(OpenSSLError) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer.certificate, certificate, nil, nil, 0)
        guard let added = unsafe X509V3_EXT_conf_nid(nil, &context, identifier, value) else { throw .drained() }
        defer { unsafe X509_EXTENSION_free(added) }
        guard unsafe X509_add_ext(certificate, added, -1) == 1 else { throw .drained() }
    }
}

extension Timestamp {
    fileprivate var time: time_t { time_t(millisecondsSince1970 / 1000) }
}
