// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
package import Platform

/// The owner of a certificate (`X509`).
@safe
package final class Certificate {
    package let certificate: OpaquePointer  // <X509>

    @unsafe
    package init(takingOwnershipOf certificate: OpaquePointer) { unsafe self.certificate = certificate }

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
        unsafe self.init(takingOwnershipOf: certificate)
    }

    /// Returns the RSA public key of the certificate.
    package func publicKey(minimumBits: Int) throws(KeyFault) -> RSAPublicKey {
        guard let key = unsafe X509_get_pubkey(certificate) else { throw .unreadable(.drained()) }
        return try unsafe RSAPublicKey(takingOwnershipOf: key, minimumBits: minimumBits)
    }

    /// The period in which the certificate is valid, both ends included, or `nil` if it cannot be read.
    package var validity: ClosedRange<Timestamp>? {
        guard let start = unsafe Self.time(X509_get0_notBefore(certificate)),
            let end = unsafe Self.time(X509_get0_notAfter(certificate)), start <= end
        else { return nil }
        return start...end
    }

    /// True if the certificate may sign certificates (basic constraints, or self-signed of version 1).
    package var isAuthority: Bool { unsafe X509_check_ca(certificate) > 0 }

    /// Checks that a chain of certificates, valid at `now`, leads from this one to one of `anchors`.
    ///
    /// Returns `nil` if it does, and otherwise OpenSSL's explanation.
    package func refusalOfChain(anchors: [Certificate], intermediates: [Certificate], at now: Timestamp) -> String? {
        guard let store = unsafe X509_STORE_new() else { return OpenSSLError.drained().text }
        defer { unsafe X509_STORE_free(store) }
        for anchor in anchors {
            guard unsafe X509_STORE_add_cert(store, anchor.certificate) == 1 else { return OpenSSLError.drained().text }
        }
        guard let chain = unsafe copenssl_x509_stack_new() else { return OpenSSLError.drained().text }
        defer { unsafe copenssl_x509_stack_free(chain) }  // The certificates stay with their owners.
        for intermediate in intermediates {
            guard unsafe copenssl_x509_stack_push(chain, intermediate.certificate) > 0 else {
                return OpenSSLError.drained().text
            }
        }
        guard let context = unsafe X509_STORE_CTX_new() else { return OpenSSLError.drained().text }
        defer { unsafe X509_STORE_CTX_free(context) }
        guard unsafe X509_STORE_CTX_init(context, store, certificate, chain) == 1 else {
            return OpenSSLError.drained().text
        }
        let parameters = unsafe X509_STORE_CTX_get0_param(context)
        unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(now.millisecondsSince1970 / 1000))
        // The operator named the anchors, so an anchor is trusted whether self-signed or not.
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        let result = unsafe X509_verify_cert(context)
        OpenSSLError.forget()
        if result == 1 { return nil }
        return unsafe String(cString: X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context))))
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
