// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The types of lower floors that stand in signatures of this module: a file that imports it has them.
@_exported public import EdgeTokens
@_exported public import RequestTargets
