// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// hiredis as the reader of replies. Connections are NIO's.
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <hiredis/hiredis.h>
#include <hiredis/read.h>
