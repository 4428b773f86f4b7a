// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Types of lower floors that stand in signatures of this module: whoever imports it has them.

@_exported public import Keys
@_exported public import MediaResources
