// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Checks a request by the C interface, as docs/how-to/embedding.md shows it. usage: check POLICY TARGET GRANT TIME
package main

// #cgo pkg-config: playgate
// #include <playgate.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"unsafe"
)

// slice copies a text into memory of C: what a request points to must not be Go's.
func slice(text string) C.playgate_slice {
	return C.playgate_slice{bytes: C.CString(text), length: C.size_t(len(text))}
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	now, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err != nil || C.playgate_abi() != C.PLAYGATE_ABI {
		log.Fatal("another library, or no time: ", err)
	}
	var policy *C.playgate_policy
	var engine *C.playgate_engine
	var fault C.playgate_error
	bytes := (*C.char)(unsafe.Pointer(&text[0]))
	if C.playgate_policy_open(bytes, C.size_t(len(text)), C.int64_t(now), &policy, &fault) != C.PLAYGATE_OK {
		log.Fatalf("line %d: %s", fault.line, C.GoString(&fault.message[0]))
	}
	if C.playgate_no_more_forks() != C.PLAYGATE_OK || C.playgate_engine_create(policy, &engine, &fault) != C.PLAYGATE_OK {
		log.Fatal("no engine")
	}
	grants := (*C.playgate_slice)(C.malloc(C.sizeof_playgate_slice))
	*grants = slice(os.Args[3])
	request := C.playgate_request{size: C.sizeof_playgate_request, now: C.int64_t(now), method: slice("GET"),
		target: slice(os.Args[2]), scheme: slice("https"), host: slice("cdn.example"), grants: grants, grant_count: 1}
	answer := C.playgate_answer{size: C.sizeof_playgate_answer, capacity: C.PLAYGATE_BUFFER_SIZE,
		buffer: (*C.char)(C.malloc(C.PLAYGATE_BUFFER_SIZE))}
	if C.playgate_check(engine, nil, &request, &answer) != C.PLAYGATE_OK {
		log.Fatal("no answer")
	}
	fmt.Println(answer.outcome, C.GoString(C.playgate_code_name(answer.code)), answer.good_until)
	C.playgate_engine_release(engine)
	C.playgate_policy_release(policy)
}
