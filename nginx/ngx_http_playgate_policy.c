// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

#include <sys/un.h>

/// The largest set of keys to trust, in bytes: the library's limit.
#define PG_TRUST_LIMIT 65536

/// The time between two looks at a policy's file, in milliseconds.
#define PG_INTERVAL 1000

/// The size of an entry of a worker's memory of answers, in bytes, and their number, if the configuration does not say.
#define PG_CACHE_ENTRY 2048
#define PG_CACHE_ENTRIES 16384

typedef struct {
    char *bytes;
    size_t length;
    struct stat facts;
} policy_file;

// MARK: Files

/// Frees a document, which has keys in it.
static void forget_file(policy_file *file) {
    if (file->bytes == NULL) return;
    explicit_bzero(file->bytes, file->length);
    ngx_free(file->bytes);
    file->bytes = NULL;
}

static ngx_err_t read_whole(int descriptor, policy_file *file) {
    size_t done = 0;
    while (done < file->length) {
        ssize_t count = read(descriptor, file->bytes + done, file->length - done);
        if (count < 0 && ngx_errno == NGX_EINTR) continue;
        if (count < 0) return ngx_errno;
        // The file has become shorter: somebody writes it in place.
        if (count == 0) return NGX_EINVAL;
        done += (size_t) count;
    }
    return 0;
}

/// Reads a file. Returns 0, or the system's error.
static ngx_err_t read_file(const char *path, policy_file *file, ngx_log_t *log) {
    ngx_memzero(file, sizeof(*file));
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return ngx_errno;
    ngx_err_t error = 0;
    if (fstat(descriptor, &file->facts) != 0) error = ngx_errno;
    else if (!S_ISREG(file->facts.st_mode) || file->facts.st_size > PLAYGATE_POLICY_LIMIT) error = NGX_EINVAL;
    if (error == 0) {
        file->length = (size_t) file->facts.st_size;
        file->bytes = ngx_alloc(file->length + 1, log);
        error = file->bytes == NULL ? NGX_ENOMEM : read_whole(descriptor, file);
    }
    close(descriptor);
    if (error != 0) forget_file(file);
    return error;
}

static void note_stamp(pg_policy *policy, const struct stat *facts) {
    policy->inode = facts->st_ino;
    policy->changed = facts->st_mtim;
    policy->size = facts->st_size;
}

static int is_noted(const pg_policy *policy, const struct stat *facts) {
    return policy->inode == facts->st_ino && policy->size == facts->st_size && policy->changed.tv_sec == facts->st_mtim.tv_sec
        && policy->changed.tv_nsec == facts->st_mtim.tv_nsec;
}

// MARK: Configuration

static void release_policy(void *data) {
    pg_policy *policy = data;
    if (policy->timer.timer_set) ngx_del_timer(&policy->timer);
    pg_stop_poll(policy);
    playgate_memo_free(policy->memo);
    playgate_engine_release(policy->engine);
    playgate_policy_release(policy->policy);
    policy->memo = NULL;
    policy->engine = NULL;
    policy->policy = NULL;
}

/// Parses a document, whose signature is checked if there are keys to trust.
static int32_t parse(const pg_policy *policy, const char *bytes, size_t length, playgate_policy **fresh, playgate_error *error) {
    if (policy->trust.len == 0) return playgate_policy_open(bytes, length, pg_now(), fresh, error);
    return playgate_policy_open_signed(bytes, length, (char *) policy->trust.data, policy->trust.len, pg_now(), fresh, error);
}

/// Writes what is wrong with a document, and where.
static void describe(const playgate_error *error, u_char message[320]) {
    u_char *end = ngx_snprintf(message, 319, "%s", error->message);
    if (error->line > 0) end = ngx_snprintf(end, (size_t) (message + 319 - end), " in line %uD, column %uD", error->line, error->column);
    *end = '\0';
}

static ngx_int_t open_policy(ngx_conf_t *cf, pg_policy *policy) {
    policy_file file;
    playgate_error error;
    u_char message[320];
    ngx_err_t failure = read_file((char *) policy->path.data, &file, cf->log);
    if (failure != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, failure, "the policy \"%V\" cannot be read", &policy->path);
        return NGX_ERROR;
    }
    ngx_memzero(&error, sizeof(error));
    int32_t result = parse(policy, file.bytes, file.length, &policy->policy, &error);
    note_stamp(policy, &file.facts);
    forget_file(&file);
    if (result == PLAYGATE_OK) return NGX_OK;
    describe(&error, message);
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the policy \"%V\" is invalid: %s", &policy->path, message);
    return NGX_ERROR;
}

static ngx_int_t is_service(ngx_str_t path) { return path.len > 5 && ngx_strncmp(path.data, "unix:", 5) == 0; }

static pg_policy *known_policy(pg_main_conf *main, ngx_str_t path) {
    pg_policy **policies = main->policies.elts;
    for (ngx_uint_t place = 0; place < main->policies.nelts; place++)
        if (pg_same(policies[place]->path, path)) return policies[place];
    return NULL;
}

static pg_policy *new_policy(ngx_conf_t *cf, pg_main_conf *main, ngx_str_t path, ngx_str_t trust) {
    pg_policy *policy = ngx_pcalloc(cf->pool, sizeof(*policy)), **place = ngx_array_push(&main->policies);
    ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (policy == NULL || place == NULL || cleanup == NULL) return NULL;
    *place = policy;
    policy->path = path;
    policy->trust = trust;
    cleanup->handler = release_policy;
    cleanup->data = policy;
    // A service is asked by the workers alone.
    if (is_service(path)) return policy;
    return open_policy(cf, policy) == NGX_OK ? policy : NULL;
}

/// Reads a file that is named behind a prefix.
static char *read_named(ngx_conf_t *cf, ngx_str_t word, size_t prefix, policy_file *file) {
    ngx_str_t path = {word.len - prefix, word.data + prefix};
    if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) return NGX_CONF_ERROR;
    ngx_err_t failure = read_file((char *) path.data, file, cf->log);
    if (failure == 0) return NGX_CONF_OK;
    ngx_conf_log_error(NGX_LOG_EMERG, cf, failure, "the key \"%V\" cannot be read", &path);
    return NGX_CONF_ERROR;
}

/// Reads the key for the service from its file.
static char *read_key(ngx_conf_t *cf, pg_policy *policy, ngx_str_t word) {
    policy_file file;
    char *result = read_named(cf, word, 4, &file);
    if (result != NGX_CONF_OK) return result;
    while (file.length > 0 && (u_char) file.bytes[file.length - 1] <= ' ') file.length--;
    ngx_int_t is_key = file.length > 0 && file.length <= 512;
    for (size_t place = 0; place < file.length; place++) is_key = is_key && file.bytes[place] > ' ' && file.bytes[place] <= '~';
    ngx_str_t key = {file.length, (u_char *) file.bytes};
    if (is_key) policy->key.data = ngx_pstrdup(cf->pool, &key);
    policy->key.len = policy->key.data == NULL ? 0 : key.len;
    forget_file(&file);
    return policy->key.len > 0 ? NGX_CONF_OK : "has a key that is none";
}

/// Reads the keys to trust, which the library checks together with a policy.
static char *read_trust(ngx_conf_t *cf, ngx_str_t word, ngx_str_t *trust) {
    policy_file file;
    char *result = read_named(cf, word, 6, &file);
    if (result != NGX_CONF_OK) return result;
    ngx_str_t keys = {file.length, (u_char *) file.bytes};
    if (keys.len > 0 && keys.len <= PG_TRUST_LIMIT) trust->data = ngx_pstrdup(cf->pool, &keys);
    trust->len = trust->data == NULL ? 0 : keys.len;
    forget_file(&file);
    return trust->len > 0 ? NGX_CONF_OK : "has keys to trust that are none";
}

static ngx_int_t has_prefix(ngx_str_t word, const char *prefix, size_t length) {
    return word.len > length && ngx_strncmp(word.data, prefix, length) == 0;
}

/// Finds or makes the policy of a file, or of a service.
static char *take_policy(ngx_conf_t *cf, pg_loc_conf *conf, ngx_str_t path, ngx_str_t trust) {
    pg_main_conf *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_playgate_module);
    conf->policy = known_policy(main, path);
    if (conf->policy != NULL) return pg_same(conf->policy->trust, trust) ? NGX_CONF_OK : "names the policy with other keys to trust";
    conf->policy = new_policy(cf, main, path, trust);
    return conf->policy != NULL ? NGX_CONF_OK : NGX_CONF_ERROR;
}

char *pg_set_policy(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pg_loc_conf *conf = data;
    if (conf->policy != NGX_CONF_UNSET_PTR) return "is duplicate";
    ngx_str_t *words = cf->args->elts, path = words[1], option = cf->args->nelts > 2 ? words[2] : (ngx_str_t) ngx_null_string;
    ngx_str_t trust = ngx_null_string;
    ngx_int_t is_key = has_prefix(option, "key=", 4), is_trust = has_prefix(option, "trust=", 6);
    if (path.len == 0) return "is empty";
    if (option.data != NULL && !is_key && !is_trust) return "may be followed by key=FILE or trust=FILE";
    if (is_service(path) && path.len - 5 >= sizeof(((struct sockaddr_un *) NULL)->sun_path)) return "has too long a path";
    if (!is_service(path) && is_key) return "has a key, which is for unix:PATH";
    if (is_service(path) && is_trust) return "has keys to trust, which are for a FILE";
    if (!is_service(path) && ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) return NGX_CONF_ERROR;
    char *result = is_trust ? read_trust(cf, option, &trust) : NGX_CONF_OK;
    if (result == NGX_CONF_OK) result = take_policy(cf, conf, path, trust);
    return result == NGX_CONF_OK && is_key ? read_key(cf, conf->policy, option) : result;
}

// MARK: Workers

static pg_main_conf *main_conf(void) { return ngx_http_cycle_get_module_main_conf(ngx_cycle, ngx_http_playgate_module); }

void pg_complain(pg_policy *policy, ngx_err_t failure, const char *message) {
    if (policy->logged == failure && failure != 0) return;
    policy->logged = failure;
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, failure, "playgate: the policy \"%V\" stays as it was: %s", &policy->path, message);
    pg_count_event(main_conf(), PG_LOAD_FAILED);
}

/// Creates engine and memory of answers. Without an engine every request is refused, or asked.
static int32_t create_engine(pg_policy *policy, playgate_policy *fresh, playgate_error *error) {
    pg_main_conf *conf = main_conf();
    int32_t result = playgate_engine_create(fresh, &policy->engine, error);
    if (result != PLAYGATE_OK) return result;
    size_t entries = conf->cache_entries == NGX_CONF_UNSET_SIZE ? PG_CACHE_ENTRIES : conf->cache_entries;
    size_t size = conf->cache_entry_size == 0 ? PG_CACHE_ENTRY : conf->cache_entry_size;
    if (entries > 0) policy->memo = playgate_memo_create(entries, size, pg_memo_counters(conf));
    return PLAYGATE_OK;
}

ngx_int_t pg_use_document(pg_policy *policy, const char *bytes, size_t length) {
    playgate_policy *fresh = NULL;
    playgate_error error;
    ngx_memzero(&error, sizeof(error));
    int32_t result = parse(policy, bytes, length, &fresh, &error);
    if (result == PLAYGATE_OK) policy->good_for = playgate_policy_good_for(fresh);
    if (result == PLAYGATE_OK && policy->engine != NULL) result = playgate_engine_replace(policy->engine, fresh, &error);
    else if (result == PLAYGATE_OK) result = create_engine(policy, fresh, &error);
    playgate_policy_release(fresh);
    if (result == PLAYGATE_OK) {
        policy->logged = policy->is_refused = 0;
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "playgate: the policy \"%V\" was read", &policy->path);
        pg_count_event(main_conf(), PG_LOADED);
        return NGX_OK;
    }
    u_char message[320];
    describe(&error, message);
    // A service sends it again and again.
    if (!policy->is_refused || !is_service(policy->path)) pg_complain(policy, 0, (char *) message);
    policy->is_refused = 1;
    return result == PLAYGATE_E_INTERNAL ? NGX_ERROR : NGX_DECLINED;
}

/// Reads a policy again if its file is another one.
static void look_at_file(pg_policy *policy) {
    policy_file file;
    struct stat facts;
    if (stat((char *) policy->path.data, &facts) != 0) {
        pg_complain(policy, ngx_errno, "its file cannot be found");
        return;
    }
    if (is_noted(policy, &facts)) return;
    ngx_err_t failure = read_file((char *) policy->path.data, &file, ngx_cycle->log);
    if (failure != 0) {
        pg_complain(policy, failure, "its file cannot be read");
        return;
    }
    note_stamp(policy, &file.facts);
    // A failure that is no fault of the file may be over at the next look.
    if (pg_use_document(policy, file.bytes, file.length) == NGX_ERROR) policy->inode = 0;
    forget_file(&file);
}

static void look_again(ngx_event_t *timer) {
    pg_policy *policy = timer->data;
    look_at_file(policy);
    ngx_add_timer(timer, PG_INTERVAL);
}

static void start_timer(pg_policy *policy) {
    policy->timer.handler = look_again;
    policy->timer.data = policy;
    policy->timer.log = ngx_cycle->log;
    // A worker that only waits for its last connections need not wait for this.
    policy->timer.cancelable = 1;
    ngx_add_timer(&policy->timer, PG_INTERVAL);
}

static void start_policy(pg_policy *policy) {
    playgate_error error;
    if (is_service(policy->path)) {
        pg_start_poll(policy);
        return;
    }
    if (create_engine(policy, policy->policy, &error) != PLAYGATE_OK) {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0, "playgate: the policy \"%V\" cannot be used: %s", &policy->path, error.message);
        return;
    }
    // The policy of the master may be as old as its start.
    look_at_file(policy);
    start_timer(policy);
}

ngx_int_t pg_start_policies(ngx_cycle_t *cycle) {
    // Not in the processes that look after caches.
    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) return NGX_OK;
    if (ngx_http_cycle_get_module_main_conf(cycle, ngx_http_playgate_module) == NULL) return NGX_OK;
    pg_main_conf *conf = main_conf();
    if (conf->policies.nelts == 0) return NGX_OK;
    if (playgate_no_more_forks() != PLAYGATE_OK) {
        ngx_log_error(NGX_LOG_ALERT, cycle->log, 0, "playgate: this process cannot check requests");
        return NGX_OK;
    }
    pg_policy **policies = conf->policies.elts;
    for (ngx_uint_t place = 0; place < conf->policies.nelts; place++) start_policy(policies[place]);
    return NGX_OK;
}

void pg_stop_policies(ngx_cycle_t *cycle) {
    if (ngx_http_cycle_get_module_main_conf(cycle, ngx_http_playgate_module) == NULL) return;
    pg_main_conf *conf = main_conf();
    pg_policy **policies = conf->policies.elts;
    for (ngx_uint_t place = 0; place < conf->policies.nelts; place++) pg_stop_poll(policies[place]);
}

