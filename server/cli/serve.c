/* `quern serve`: builds the modules and hands them to each other. Everything that can be wrong with
 * the command is found before a file is touched. */
#include <signal.h>
#include <unistd.h>

#include "server/actions/actions.h"
#include "server/base/log.h"
#include "server/cli/cli.h"
#include "server/cli/queue_list.h"

enum {
    RING_BYTES = 64 * 1024 * 1024,
    TRACE_FILE_BYTES = 64 * 1024 * 1024,
    TRACE_MEMORY_BYTES = 8 * 1024 * 1024,
    CONTENT_BUDGET = 256 * 1024 * 1024,
    UNDER_WAY_MAX = 256 * 1024 * 1024
};

/* Streams that no request uses: their boot is 0. */
enum { HANDLE_KEY_STREAM = 1 };

/* The server's modules. */
struct server {
    struct qn_settings settings;
    struct qn_options options;
    struct qn_queue_list queues;
    struct qn_listeners listeners;
    struct qn_clock clock;
    struct qn_engine *engine;
    struct qn_journal *journal;
    struct qn_trace *trace;
    struct qn_plan *plan;
    struct qn_loop *loop;
    json_t *shown;
    struct qn_journal_identity identity;
    int64_t first_ms;
    const char *action_names[QN_ACTION_COUNT];
};

/* ---- engine and journal ---- */

static bool read_content(void *state, int64_t content_id, struct qn_arena *arena,
                         struct qn_str *ret_content, struct qn_error *err)
{
    struct server *server = state;

    return qn_journal_read_content(server->journal, content_id, arena, ret_content, err);
}

static struct qn_engine *new_engine(struct server *server, bool has_source)
{
    const struct qn_settings *settings = &server->settings;
    struct qn_engine_options options = {
        .limits = settings->limits,
        .aws_waits = settings->aws_waits,
        .stale_delete = settings->stale_delete,
        .one_region = settings->one_region,
        .auto_create = settings->auto_create,
        .account = settings->account,
        .region = settings->region,
        .memory_max = settings->memory_max,
        .content_budget = CONTENT_BUDGET,
        .boot = (uint32_t)server->identity.boot,
    };

    memcpy(options.handle_key, server->identity.handle_key, sizeof(options.handle_key));
    if (has_source) {
        options.source = (struct qn_content_source){.state = server, .read = read_content};
    }
    return qn_engine_new(&options);
}

/* The first instant of this run: the clock's, but not before the store's last. */
static void set_first_instant(struct server *server)
{
    int64_t now_ms = server->clock.now_ms(server->clock.state);

    server->first_ms = now_ms;
    if (server->identity.last_instant_ms > now_ms) {
        server->first_ms = server->identity.last_instant_ms;
        if (server->settings.clock_is_virtual) {
            qn_clock_advance(&server->clock, server->first_ms - now_ms);
        }
    }
}

static void take_identity(void *state, const struct qn_journal_identity *identity)
{
    struct server *server = state;

    server->identity = *identity;
    set_first_instant(server);
    server->engine = new_engine(server, true);
}

static void take_row(void *state, const struct qn_row *row)
{
    struct server *server = state;

    qn_engine_restore(server->engine, row, server->first_ms);
}

static bool open_store(struct server *server, struct qn_error *err)
{
    const struct qn_journal_options options = {
        .path = server->settings.db,
        .sync = server->settings.sync,
        .ring_bytes = RING_BYTES,
        .seed = server->settings.seed,
    };
    const struct qn_journal_load load = {
        .state = server, .identity = take_identity, .row = take_row};

    if (!qn_journal_open(&options, &load, &server->journal, err)) {
        return false;
    }
    qn_engine_restored(server->engine, server->first_ms);
    return true;
}

/* What a store would give. */
static void make_identity(struct server *server)
{
    struct qn_random random;

    qn_random_init(&random, server->settings.seed, 0, HANDLE_KEY_STREAM);
    server->identity = (struct qn_journal_identity){.boot = 1};
    qn_random_uuid(&random, server->identity.handle_key);
    set_first_instant(server);
}

/* ---- chaos ---- */

static bool make_plan(struct server *server, struct qn_error *err)
{
    for (size_t i = 0; i < QN_ACTION_COUNT; i++) {
        server->action_names[i] = qn_action_at(i)->name;
    }
    server->plan = qn_plan_new(&(struct qn_plan_options){
        .seed = server->settings.seed,
        .counters = qn_trace_header(server->trace)->rule_counters,
        .start_ms = server->first_ms,
        .actions = server->action_names,
        .action_count = QN_ACTION_COUNT,
    });
    return qn_rules_add(server->plan, &server->options, err);
}

/* ---- putting it together ---- */

static bool make_loop(struct server *server, struct qn_error *err)
{
    const struct qn_settings *settings = &server->settings;
    const struct qn_loop_parts parts = {
        .engine = server->engine,
        .journal = server->journal,
        .trace = server->trace,
        .plan = server->plan,
        .clock = &server->clock,
        .listeners = &server->listeners,
    };
    const struct qn_loop_options options = {
        .seed = settings->seed,
        .boot = server->identity.boot,
        .boot_lsn = server->identity.lsn,
        .first_ms = server->first_ms,
        .account = settings->account,
        .region = settings->region,
        .public_url = settings->public_url,
        .client_timeout_s = settings->client_timeout_s,
        .under_way_max = UNDER_WAY_MAX,
        .trace_is_wanted = settings->trace != NULL,
        .shown = server->shown,
    };

    return qn_loop_new(&parts, &options, &server->loop, err);
}

static bool make_queues(struct server *server, bool is_rehearsal, struct qn_error *err)
{
    const struct qn_queue_list_place place = {
        .loop = server->loop,
        .engine = server->engine,
        .settings = &server->settings,
        .is_rehearsal = is_rehearsal,
    };

    return qn_queue_list_create(&server->queues, &place, err);
}

static void take_apart(struct server *server)
{
    qn_loop_free(server->loop);
    qn_plan_free(server->plan);
    qn_journal_close(server->journal);
    qn_engine_free(server->engine);
    qn_trace_close(server->trace);
    server->loop = NULL;
    server->plan = NULL;
    server->journal = NULL;
    server->engine = NULL;
    server->trace = NULL;
}

/* Rules and queues are tried out on a server in memory: what it refuses is a mistake in the
 * command, and nothing has changed on disk. */
static bool rehearse(struct server *server, struct qn_error *err)
{
    bool ok;

    make_identity(server);
    server->engine = new_engine(server, false);
    ok = qn_trace_open(NULL, 0, &server->trace, err) && make_plan(server, err) &&
         make_loop(server, err) && make_queues(server, true, err);
    take_apart(server);
    return ok;
}

static bool open_listeners(struct server *server, struct qn_error *err)
{
    const struct qn_given *given = &server->options.given[QN_SERVE_BIND];

    if (given->count == 0) {
        return qn_listeners_add_loopback(&server->listeners, server->settings.port, err);
    }
    for (size_t i = 0; i < given->count; i++) {
        if (!qn_listeners_add(&server->listeners, qn_str_from_cstr(given->texts[i]),
                              server->settings.port, err)) {
            return false;
        }
    }
    return true;
}

/* The trace file is the first thing made; a start that fails behind it takes it back. */
static bool open_files(struct server *server, struct qn_error *err)
{
    const char *trace = server->settings.trace;
    bool trace_was_there = trace == NULL || access(trace, F_OK) == 0;

    if (!qn_trace_open(trace, trace == NULL ? TRACE_MEMORY_BYTES : TRACE_FILE_BYTES, &server->trace,
                       err)) {
        return false;
    }
    if (server->settings.db == NULL) {
        server->engine = new_engine(server, false);
        return true;
    }
    if (open_store(server, err)) {
        return true;
    }
    if (!trace_was_there) {
        (void)unlink(trace);
    }
    return false;
}

static bool prepare(struct server *server, struct qn_error *err)
{
    const struct qn_settings *settings = &server->settings;

    if (!qn_settings_read(&server->options, &server->settings, err) ||
        !qn_queue_list_read(&server->options, &server->queues, err)) {
        return false;
    }
    server->shown = qn_settings_show(&server->options, settings);
    server->clock = settings->clock_is_virtual ? qn_clock_virtual_new(settings->clock_start_ms)
                                               : qn_clock_system();
    qn_log_set_level(QN_LOG_WARN); /* the rehearsal has nothing to say */
    if (!rehearse(server, err) || !open_listeners(server, err)) {
        return false;
    }
    qn_log_set_level(settings->log_level);
    return qn_failpoints_arm(&server->options.given[QN_SERVE_FAILPOINT], err) &&
           open_files(server, err) && make_plan(server, err) && make_loop(server, err) &&
           make_queues(server, false, err);
}

static void announce(const struct server *server)
{
    const struct qn_settings *settings = &server->settings;
    const struct qn_listeners *listeners = &server->listeners;

    if (settings->db == NULL) {
        qn_log(QN_LOG_INFO, "serve",
               "listening on http://%s in memory, nothing outlives this process seed=%llu "
               "clock=%s",
               listeners->items[0].address, (unsigned long long)settings->seed,
               settings->clock_is_virtual ? "virtual" : "real");
    } else {
        qn_log(QN_LOG_INFO, "serve",
               "listening on http://%s db=%s sync=%s seed=%llu boot=%llu clock=%s",
               listeners->items[0].address, settings->db,
               settings->sync == QN_SYNC_FULL ? "full" : "normal",
               (unsigned long long)settings->seed, (unsigned long long)server->identity.boot,
               settings->clock_is_virtual ? "virtual" : "real");
    }
    for (size_t i = 1; i < listeners->count; i++) {
        qn_log(QN_LOG_INFO, "serve", "listening on http://%s", listeners->items[i].address);
    }
}

/* Before any thread is started: they inherit it. */
static void block_signals(int how)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    (void)sigprocmask(how, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error like a full disk */
}

static void print_help(bool as_markdown)
{
    if (!as_markdown) {
        (void)puts("usage: quern serve [OPTIONS]\n\n"
                   "Serves Amazon SQS. Each option is an environment variable too: QUERN_ and the "
                   "name in capitals\n(QUERN_PORT, QUERN_CLIENT_TIMEOUT); repeated values are "
                   "separated there by ';'.\n");
    }
    qn_options_print(qn_serve_options, QN_SERVE_OPTION_COUNT, as_markdown, "QUERN_", stdout);
}

int qn_serve_main(int argc, char **argv)
{
    struct server server = {0};
    struct qn_error err;
    int code = QN_EXIT_OK;

    if (!qn_options_parse(&server.options, qn_serve_options, QN_SERVE_OPTION_COUNT, argc, argv,
                          "QUERN_", &err)) {
        qn_log(QN_LOG_ERROR, "serve", "%s", err.message);
        return QN_EXIT_USAGE;
    }
    if (server.options.wants_help) {
        print_help(server.options.wants_markdown);
        qn_options_done(&server.options);
        return QN_EXIT_OK;
    }
    block_signals(SIG_BLOCK);
    if (prepare(&server, &err)) {
        announce(&server);
        qn_loop_run(server.loop);
        block_signals(SIG_UNBLOCK); /* a second signal ends the rest at once */
    } else {
        if (err.message[0] != '\0') {
            qn_log(QN_LOG_ERROR, "serve", "%s", err.message);
        }
        code = QN_EXIT_USAGE;
    }
    take_apart(&server);
    qn_listeners_close(&server.listeners);
    qn_queue_list_done(&server.queues);
    json_decref(server.shown);
    if (server.settings.clock_is_virtual) {
        qn_clock_virtual_free(&server.clock);
    }
    qn_options_done(&server.options);
    return code;
}
