// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "envoy_abi.h"

// Hooks that Envoy demands of every module: bodies and trailers pass, and nothing is started that would call the others.

int envoy_dynamic_module_on_http_filter_request_body(void *host, const void *filter, bool is_last) {
    (void)host, (void)filter, (void)is_last;
    return ENVOY_GO_ON;
}

int envoy_dynamic_module_on_http_filter_request_trailers(void *host, const void *filter) {
    (void)host, (void)filter;
    return ENVOY_GO_ON;
}

int envoy_dynamic_module_on_http_filter_response_body(void *host, const void *filter, bool is_last) {
    (void)host, (void)filter, (void)is_last;
    return ENVOY_GO_ON;
}

int envoy_dynamic_module_on_http_filter_response_trailers(void *host, const void *filter) {
    (void)host, (void)filter;
    return ENVOY_GO_ON;
}

void envoy_dynamic_module_on_http_filter_stream_complete(void *host, const void *filter) { (void)host, (void)filter; }

void envoy_dynamic_module_on_http_filter_http_stream_headers(void *host, const void *filter, uint64_t stream, envoy_field *fields,
                                                             size_t count, bool is_last) {
    (void)host, (void)filter, (void)stream, (void)fields, (void)count, (void)is_last;
}

void envoy_dynamic_module_on_http_filter_http_stream_data(void *host, const void *filter, uint64_t stream, const envoy_text *body,
                                                          size_t pieces, bool is_last) {
    (void)host, (void)filter, (void)stream, (void)body, (void)pieces, (void)is_last;
}

void envoy_dynamic_module_on_http_filter_http_stream_trailers(void *host, const void *filter, uint64_t stream, envoy_field *fields,
                                                              size_t count) {
    (void)host, (void)filter, (void)stream, (void)fields, (void)count;
}

void envoy_dynamic_module_on_http_filter_http_stream_complete(void *host, const void *filter, uint64_t stream) {
    (void)host, (void)filter, (void)stream;
}

void envoy_dynamic_module_on_http_filter_http_stream_reset(void *host, const void *filter, uint64_t stream, int reason) {
    (void)host, (void)filter, (void)stream, (void)reason;
}

void envoy_dynamic_module_on_http_filter_scheduled(void *host, const void *filter, uint64_t event) {
    (void)host, (void)filter, (void)event;
}

void envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark(void *host, const void *filter) {
    (void)host, (void)filter;
}

void envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark(void *host, const void *filter) {
    (void)host, (void)filter;
}
