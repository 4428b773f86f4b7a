// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// System functions for the load generator.

#define _GNU_SOURCE
#include "CLimits.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

void limits_use_last_core(void) {
#ifdef __linux__
    cpu_set_t cores, last;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
    CPU_ZERO(&last);
    for (int core = CPU_SETSIZE - 1; core >= 0; core--) {
        if (!CPU_ISSET(core, &cores)) continue;
        CPU_SET(core, &last);
        sched_setaffinity(0, sizeof last, &last);
        return;
    }
#endif
}

int limits_connect(uint16_t port) {
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

ptrdiff_t limits_answer_size(const uint8_t *bytes, size_t count) {
    const char *text = (const char *)bytes;
    const char *end = memmem(text, count, "\r\n\r\n", 4);
    if (!end) return count > 65536 ? -1 : 0;
    if (memcmp(text, "HTTP/1.1 ", 9) != 0) return -1;
    size_t header = (size_t)(end - text) + 4;
    static const char name[] = "\r\ncontent-length:";
    for (const char *line = text; line < end; line++) {
        line = memchr(line, '\r', (size_t)(end - line));
        if (!line) break;
        if (strncasecmp(line, name, sizeof name - 1) == 0)
            return (ptrdiff_t)(header + strtoul(line + sizeof name - 1, NULL, 10));
    }
    return (ptrdiff_t)header;
}

int limits_contains(const uint8_t *bytes, size_t count, const char *text) {
    return memmem(bytes, count, text, strlen(text)) != NULL;
}
