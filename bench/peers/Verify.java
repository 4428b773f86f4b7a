// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.Base64;

/**
 * Verifies one media token repeatedly in the steps of a Java verifier: Base64, envelope, signature by JCE, fields, time,
 * resource. Prints verifications a second after a warm-up.
 *
 * Usage: java Verify.java CERTIFICATE TOKEN-FILE EPOCH-MILLISECONDS SECONDS
 */
final class Verify {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss Z");

    public static void main(String[] arguments) throws Exception {
        byte[] pem = Files.readAllBytes(Path.of(arguments[0]));
        X509Certificate certificate =
            (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(pem));
        String token = Files.readString(Path.of(arguments[1])).trim();
        long now = Long.parseLong(arguments[2]);
        double seconds = Double.parseDouble(arguments[3]);
        measure(certificate, token, now, seconds);
        System.out.printf("%.0f%n", measure(certificate, token, now, seconds));
    }

    private static double measure(X509Certificate certificate, String token, long now, double seconds) throws Exception {
        long start = System.nanoTime();
        long count = 0;
        while (System.nanoTime() - start < seconds * 1e9) {
            for (int i = 0; i < 100; i++) {
                if (!isValid(certificate, token, now)) throw new IllegalStateException("the token does not verify");
            }
            count += 100;
        }
        return count / ((System.nanoTime() - start) / 1e9);
    }

    private static boolean isValid(X509Certificate certificate, String serialized, long now) throws Exception {
        String token = new String(Base64.getDecoder().decode(serialized), StandardCharsets.UTF_8);
        int end = token.indexOf("<signatureInfo>", 1);
        byte[] signature = Base64.getDecoder().decode(token.substring("<signatureInfo>".length(), end));
        String body = token.substring(end + "<signatureInfo>".length());
        Signature verifier = Signature.getInstance("SHA256withRSA");
        verifier.initVerify(certificate.getPublicKey());
        verifier.update(body.getBytes(StandardCharsets.UTF_8));
        if (!verifier.verify(signature)) return false;
        long issued = TIME.parse(field(body, "issueTime"), Instant::from).toEpochMilli();
        long life = Long.parseLong(field(body, "ttl"));
        return field(body, "requestorID").equals("REF30") && field(body, "resourceID").equals("TNT")
            && issued <= now + 60_000 && now <= issued + life;
    }

    private static String field(String body, String name) {
        int start = body.indexOf("<" + name + ">") + name.length() + 2;
        return body.substring(start, body.indexOf("</" + name + ">", start));
    }
}
