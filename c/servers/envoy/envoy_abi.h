// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef ENVOY_ABI_H
#define ENVOY_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The part of Envoy's binary interface for dynamic modules that this module uses: names and types as Envoy 1.40 exports and
/// calls them (interface v0.2.0; described in envoyproxy/envoy, source/extensions/dynamic_modules/abi/abi.h).
///
/// Functions `…_on_…` are the module's, and Envoy calls them; functions `…_callback_…` are Envoy's. A filter and its
/// configuration are `void *` on both sides: `host` is Envoy's object, `config` and `filter` are this module's.

/// Envoy compares it with its own, and logs a warning if they differ.
#define ENVOY_ABI_VERSION "v0.2.0"

/// Bytes, not terminated. Envoy's are good until the hook returns, or header fields are changed.
typedef struct envoy_text {
    const char *bytes;
    size_t length;
} envoy_text;

/// A header field.
typedef struct envoy_field {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
} envoy_field;

/// The header fields that a function means.
enum { ENVOY_REQUEST_FIELDS = 0, ENVOY_RESPONSE_FIELDS = 2 };

enum { ENVOY_LOG_INFO = 2, ENVOY_LOG_WARN = 3, ENVOY_LOG_ERROR = 4 };

/// What a hook for header fields, bodies and trailers returns. Only header fields can be held together with all that follows.
enum { ENVOY_GO_ON = 0, ENVOY_STOP = 1, ENVOY_HOLD_ALL = 4 };

/// The attribute `source.address`: the client's address and port, after Envoy has counted its trusted proxies.
enum { ENVOY_SOURCE_ADDRESS = 24 };

/// The results of a request to a cluster: at its start, and at its end.
enum { ENVOY_CALL_STARTED = 0 };
enum { ENVOY_CALL_ANSWERED = 0 };

// MARK: Functions of Envoy

uint32_t envoy_dynamic_module_callback_get_concurrency(void);
void envoy_dynamic_module_callback_log(int level, envoy_text message);
bool envoy_dynamic_module_callback_log_enabled(int level);

uint32_t envoy_dynamic_module_callback_http_filter_get_worker_index(void *host);
bool envoy_dynamic_module_callback_http_filter_get_attribute_string(void *host, int attribute, envoy_text *value);

size_t envoy_dynamic_module_callback_http_get_headers_size(void *host, int fields);
bool envoy_dynamic_module_callback_http_get_headers(void *host, int fields, envoy_field *all);
bool envoy_dynamic_module_callback_http_get_header(void *host, int fields, envoy_text name, envoy_text *value, size_t index,
                                                   size_t *count);
bool envoy_dynamic_module_callback_http_add_header(void *host, int fields, envoy_text name, envoy_text value);
/// Replaces all fields of a name by one, or, if the value's bytes are null, by none.
bool envoy_dynamic_module_callback_http_set_header(void *host, int fields, envoy_text name, envoy_text value);

void envoy_dynamic_module_callback_http_send_response(void *host, uint32_t status, envoy_field *fields, size_t count,
                                                      envoy_text body, envoy_text details);
void envoy_dynamic_module_callback_http_filter_continue_decoding(void *host);
/// Copies what it is given. `timeout` is in milliseconds.
int envoy_dynamic_module_callback_http_filter_http_callout(void *host, uint64_t *call, envoy_text cluster, envoy_field *fields,
                                                           size_t count, envoy_text body, uint64_t timeout);

// MARK: Functions of this module

#pragma GCC visibility push(default)

/// Called on the main thread when the module is loaded. Null: the module cannot be used.
const char *envoy_dynamic_module_on_program_init(void);
/// Called on the main thread. Null: the configuration is refused.
const void *envoy_dynamic_module_on_http_filter_config_new(void *host, envoy_text name, envoy_text settings);
/// Called on any thread, after the last filter was destroyed.
void envoy_dynamic_module_on_http_filter_config_destroy(const void *config);

/// All of a filter's hooks are called on the thread of its worker.
const void *envoy_dynamic_module_on_http_filter_new(const void *config, void *host);
int envoy_dynamic_module_on_http_filter_request_headers(void *host, const void *filter, bool is_last);
int envoy_dynamic_module_on_http_filter_request_body(void *host, const void *filter, bool is_last);
int envoy_dynamic_module_on_http_filter_request_trailers(void *host, const void *filter);
int envoy_dynamic_module_on_http_filter_response_headers(void *host, const void *filter, bool is_last);
int envoy_dynamic_module_on_http_filter_response_body(void *host, const void *filter, bool is_last);
int envoy_dynamic_module_on_http_filter_response_trailers(void *host, const void *filter);
void envoy_dynamic_module_on_http_filter_stream_complete(void *host, const void *filter);
/// Calls that are under way are cancelled: no hook follows.
void envoy_dynamic_module_on_http_filter_destroy(const void *filter);
void envoy_dynamic_module_on_http_filter_http_callout_done(void *host, const void *filter, uint64_t call, int result,
                                                           envoy_field *fields, size_t count, envoy_text *body, size_t pieces);

/// Hooks that Envoy demands of every module, for what this one never starts.
void envoy_dynamic_module_on_http_filter_http_stream_headers(void *host, const void *filter, uint64_t stream, envoy_field *fields,
                                                             size_t count, bool is_last);
void envoy_dynamic_module_on_http_filter_http_stream_data(void *host, const void *filter, uint64_t stream, const envoy_text *body,
                                                          size_t pieces, bool is_last);
void envoy_dynamic_module_on_http_filter_http_stream_trailers(void *host, const void *filter, uint64_t stream, envoy_field *fields,
                                                              size_t count);
void envoy_dynamic_module_on_http_filter_http_stream_complete(void *host, const void *filter, uint64_t stream);
void envoy_dynamic_module_on_http_filter_http_stream_reset(void *host, const void *filter, uint64_t stream, int reason);
void envoy_dynamic_module_on_http_filter_scheduled(void *host, const void *filter, uint64_t event);
void envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark(void *host, const void *filter);
void envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark(void *host, const void *filter);

#pragma GCC visibility pop

#endif
