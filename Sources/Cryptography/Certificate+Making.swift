// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
package import Platform

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
