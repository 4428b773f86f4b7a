// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_SIGNED_H
#define PLAYGATE_SIGNED_H

#include "playgate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Parses a policy that is signed, as `playgate export --sign` writes it: a JSON Web Signature in its compact serialisation, with
/// the type `playgate-policy+jws`, by a key pair. The signature is checked before the document is read. A document without one is
/// refused, and playgate_policy_open() refuses one with it.
///
/// Whoever can replace the document can still put back an older one: keep `goodFor` short, from `issued` on it limits its life.
///
/// bytes, length: The signature and what was signed, at most PLAYGATE_POLICY_LIMIT bytes, with nothing before or after.
/// trust, trust_length: A JWK Set of the public keys that may sign, each with a `kid`, as `playgate keys export` writes it. At most
/// 65,536 bytes.
/// now, policy, error: As for playgate_policy_open(). `error` names the line of what was signed.
/// Returns PLAYGATE_OK, _E_ARGUMENT (also if `trust` is no such set), _E_SIGNATURE, _E_POLICY, _E_VERSION or _E_INTERNAL.
int32_t playgate_policy_open_signed(const char *bytes, size_t length, const char *trust, size_t trust_length, int64_t now,
                                    playgate_policy **policy, playgate_error *error);

#ifdef __cplusplus
}
#endif

#endif
