/* Builds the modules of a server and hands them to each other. Everything that can be wrong with
 * the command is found before a file is touched. */
#include "server/cli/service.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/http/record.h"

enum {
    RING_BYTES = 64 * 1024 * 1024,
    TRACE_FILE_BYTES = 64 * 1024 * 1024,
    TRACE_MEMORY_BYTES = 8 * 1024 * 1024,
    TRACE_SHARED_BYTES = QN_TRACE_HEADER_BYTES + TRACE_MEMORY_BYTES,
    CONTENT_BUDGET = 256 * 1024 * 1024,
    UNDER_WAY_MAX = 256 * 1024 * 1024
};

/* Streams that no request uses: their boot is 0. */
enum { HANDLE_KEY_STREAM = 1 };

/* ---- engine and journal ---- */

static bool read_content(void *state, int64_t content_id, struct qn_arena *arena,
                         struct qn_str *ret_content, struct qn_error *err)
{
    struct qn_service *service = state;

    return qn_journal_read_content(service->journal, content_id, arena, ret_content, err);
}

static struct qn_engine *new_engine(struct qn_service *service, bool has_source)
{
    const struct qn_settings *settings = &service->settings;
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
        .boot = (uint32_t)service->identity.boot,
    };

    memcpy(options.handle_key, service->identity.handle_key, sizeof(options.handle_key));
    if (has_source) {
        options.source = (struct qn_content_source){.state = service, .read = read_content};
    }
    return qn_engine_new(&options);
}

/* The first instant of this run: the clock's, but not before the last of the store or of the life
 * before. */
static void set_first_instant(struct qn_service *service)
{
    int64_t now_ms = service->clock.now_ms(service->clock.state);
    int64_t last_ms = service->identity.last_instant_ms;

    if (service->legacy != NULL && service->legacy->now_ms > last_ms) {
        last_ms = service->legacy->now_ms;
    }
    service->first_ms = now_ms;
    if (last_ms > now_ms) {
        service->first_ms = last_ms;
        if (service->settings.clock_is_virtual) {
            qn_clock_advance(&service->clock, service->first_ms - now_ms);
        }
    }
}

static void take_identity(void *state, const struct qn_journal_identity *identity)
{
    struct qn_service *service = state;

    service->identity = *identity;
    set_first_instant(service);
    service->engine = new_engine(service, true);
}

static void take_row(void *state, const struct qn_row *row)
{
    struct qn_service *service = state;

    qn_engine_restore(service->engine, row, service->first_ms);
}

static bool open_store(struct qn_service *service, struct qn_error *err)
{
    const struct qn_journal_options options = {
        .path = service->settings.db,
        .sync = service->settings.sync,
        .ring_bytes = RING_BYTES,
        .seed = service->settings.seed,
        .snapshots = service->legacy == NULL ? NULL : &service->legacy->snapshots,
    };
    const struct qn_journal_load load = {
        .state = service, .identity = take_identity, .row = take_row};

    if (!qn_journal_open(&options, &load, &service->journal, err)) {
        return false;
    }
    qn_engine_restored(service->engine, service->first_ms);
    return true;
}

/* What a store would give. No life draws what another has drawn, and none knows the handles of
 * another: their messages are gone. */
static void make_identity(struct qn_service *service)
{
    struct qn_random random;
    uint64_t life = service->legacy == NULL ? 1 : service->legacy->life;

    qn_random_init(&random, service->settings.seed, 0, HANDLE_KEY_STREAM + life - 1);
    service->identity = (struct qn_journal_identity){.boot = life};
    qn_random_uuid(&random, service->identity.handle_key);
    set_first_instant(service);
}

/* ---- chaos ---- */

/* At the start, or when the server runs. */
static struct qn_failpoint_reach reach_of(const struct qn_settings *settings, bool at_start)
{
    return (struct qn_failpoint_reach){
        .has_journal = settings->db != NULL,
        .is_synced = settings->db != NULL && settings->sync == QN_SYNC_FULL,
        .has_starts = at_start || settings->is_supervised,
    };
}

/* Those of the life before, or else those that the options ask for. */
static bool add_rules(struct qn_service *service, bool is_rehearsal, struct qn_error *err)
{
    struct qn_str saved = QN_STR_NONE;

    if (!is_rehearsal && service->legacy != NULL) {
        saved = qn_legacy_rules(service->legacy);
    }
    if (!qn_str_is_none(saved)) {
        return qn_plan_restore(service->plan, saved, err);
    }
    return qn_rules_add(service->plan, &service->options, err) &&
           qn_failpoints_add_rules(service->plan, service->failpoints, service->failpoint_count,
                                   err);
}

static bool make_plan(struct qn_service *service, bool is_rehearsal, struct qn_error *err)
{
    for (size_t i = 0; i < QN_ACTION_COUNT; i++) {
        service->action_names[i] = qn_action_at(i)->name;
    }
    service->plan = qn_plan_new(&(struct qn_plan_options){
        .seed = service->settings.seed,
        .counters = qn_trace_header(service->trace)->rule_counters,
        .start_ms = service->first_ms,
        .clock_is_virtual = service->settings.clock_is_virtual,
        .actions = service->action_names,
        .action_count = QN_ACTION_COUNT,
        .failpoints = reach_of(&service->settings, false),
        .can_restore = service->settings.is_supervised && service->settings.db != NULL,
    });
    return add_rules(service, is_rehearsal, err);
}

/* ---- putting it together ---- */

static bool make_loop(struct qn_service *service, bool is_rehearsal, struct qn_error *err)
{
    const struct qn_settings *settings = &service->settings;
    const struct qn_loop_parts parts = {
        .engine = service->engine,
        .journal = service->journal,
        .trace = service->trace,
        .plan = service->plan,
        .clock = &service->clock,
        .listeners = &service->listeners,
        .legacy = is_rehearsal ? NULL : service->legacy,
    };
    const struct qn_loop_options options = {
        .seed = settings->seed,
        .boot = service->identity.boot,
        .boot_lsn = service->identity.lsn,
        .first_ms = service->first_ms,
        .account = settings->account,
        .region = settings->region,
        .public_url = settings->public_url,
        .client_timeout_s = settings->client_timeout_s,
        .under_way_max = UNDER_WAY_MAX,
        .fault_header = settings->fault_header,
        .trace_is_wanted = settings->trace != NULL ||
                           (service->legacy != NULL && service->legacy->trace_is_wanted),
        .watches_assumptions = settings->watches_assumptions,
        .shown = service->shown,
        .failpoints = reach_of(settings, false),
    };

    return qn_loop_new(&parts, &options, &service->loop, err);
}

static bool make_queues(struct qn_service *service, bool is_rehearsal, struct qn_error *err)
{
    const struct qn_queue_list_place place = {
        .loop = service->loop,
        .engine = service->engine,
        .settings = &service->settings,
        .is_rehearsal = is_rehearsal,
    };

    return qn_queue_list_create(&service->queues, &place, err);
}

static void take_apart(struct qn_service *service)
{
    qn_loop_free(service->loop);
    qn_plan_free(service->plan);
    qn_journal_close(service->journal);
    qn_engine_free(service->engine);
    qn_trace_close(service->trace);
    qn_record_close(service->record);
    service->loop = NULL;
    service->plan = NULL;
    service->journal = NULL;
    service->engine = NULL;
    service->trace = NULL;
    service->record = NULL;
}

/* Rules and queues are tried out on a server in memory: what it refuses is a mistake in the
 * command, and nothing has changed on disk. */
static bool rehearse(struct qn_service *service, struct qn_error *err)
{
    bool ok;

    service->engine = new_engine(service, false);
    ok = qn_trace_open(NULL, 0, &service->trace, err) && make_plan(service, true, err) &&
         make_loop(service, true, err) && make_queues(service, true, err);
    take_apart(service);
    return ok;
}

static bool open_listeners(struct qn_service *service, struct qn_listeners *listeners,
                           struct qn_error *err)
{
    const struct qn_given *given = &service->options.given[QN_SERVE_BIND];

    if (given->count == 0) {
        return qn_listeners_add_loopback(listeners, service->settings.port, err);
    }
    for (size_t i = 0; i < given->count; i++) {
        if (!qn_listeners_add(listeners, qn_str_from_cstr(given->texts[i]), service->settings.port,
                              err)) {
            return false;
        }
    }
    return true;
}

static bool open_record(struct qn_service *service, struct qn_error *err)
{
    const char *path = service->settings.record;

    return path == NULL || qn_record_open(path, &service->record, err);
}

static bool open_engine(struct qn_service *service, struct qn_error *err)
{
    if (service->settings.db != NULL) {
        return open_store(service, err);
    }
    service->engine = new_engine(service, false);
    return true;
}

static bool open_trace(struct qn_service *service, struct qn_error *err)
{
    const char *path = service->settings.trace;

    if (service->trace_memory != NULL) {
        service->trace = qn_trace_adopt(service->trace_memory, TRACE_SHARED_BYTES);
        return true;
    }
    return qn_trace_open(path, path == NULL ? TRACE_MEMORY_BYTES : TRACE_FILE_BYTES,
                         &service->trace, err);
}

static bool listen_anywhere(struct qn_service *service, struct qn_error *err)
{
    if (service->legacy != NULL) {
        return qn_listeners_take(&service->listeners, &service->reserve, err);
    }
    return open_listeners(service, &service->listeners, err);
}

/* Trace and recording are made first; a start that fails behind them takes back what is new. */
static bool open_files(struct qn_service *service, struct qn_error *err)
{
    const char *trace = service->settings.trace;
    const char *record = service->settings.record;
    bool trace_was_there = trace == NULL || access(trace, F_OK) == 0;
    bool record_was_there = record == NULL || access(record, F_OK) == 0;

    if (open_trace(service, err) && open_record(service, err) && open_engine(service, err)) {
        return true;
    }
    if (!trace_was_there) {
        (void)unlink(trace);
    }
    if (!record_was_there) {
        (void)unlink(record);
    }
    return false;
}

static void read_failpoints(struct qn_service *service)
{
    const struct qn_given *given = &service->options.given[QN_SERVE_FAILPOINT];

    service->failpoints = qn_memory_new_array(given->count, sizeof(*service->failpoints));
    service->failpoint_count = given->count;
    for (size_t i = 0; i < given->count; i++) {
        service->failpoints[i] = qn_str_from_cstr(given->texts[i]);
    }
}

bool qn_service_read(struct qn_service *service, struct qn_error *err)
{
    struct qn_failpoint_reach reach;

    if (!qn_settings_read(&service->options, &service->settings, err) ||
        !qn_queue_list_read(&service->options, &service->queues, err)) {
        return false;
    }
    service->shown = qn_settings_show(&service->options, &service->settings);
    read_failpoints(service);
    reach = reach_of(&service->settings, true);
    return qn_failpoints_check(service->failpoints, service->failpoint_count, &reach, err);
}

bool qn_service_supervise(struct qn_service *service, struct qn_error *err)
{
    service->reserve.is_reserve = true;
    if (!open_listeners(service, &service->reserve, err) || !qn_legacy_new(&service->legacy, err)) {
        return false;
    }
    if (service->settings.trace == NULL) {
        service->trace_memory = mmap(NULL, TRACE_SHARED_BYTES, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (service->trace_memory == MAP_FAILED) {
            service->trace_memory = NULL;
            return qn_fail(err, QN_ERR_INTERNAL, "no memory for the trace: %s", strerror(errno));
        }
    }
    return true;
}

/* What a first life does, and no later one: mistakes in the command are found, and the options'
 * failpoints armed. */
static bool begin_first_life(struct qn_service *service, struct qn_error *err)
{
    qn_log_set_level(QN_LOG_WARN); /* the rehearsal has nothing to say */
    if (!rehearse(service, err) || !listen_anywhere(service, err)) {
        return false;
    }
    qn_log_set_level(service->settings.log_level);
    return qn_failpoints_arm(service->failpoints, service->failpoint_count, err);
}

bool qn_service_open(struct qn_service *service, struct qn_error *err)
{
    const struct qn_settings *settings = &service->settings;
    const struct qn_legacy *legacy = service->legacy;
    bool is_first = legacy == NULL || legacy->life == 1;

    service->clock = settings->clock_is_virtual ? qn_clock_virtual_new(settings->clock_start_ms)
                                                : qn_clock_system();
    make_identity(service);
    if (is_first ? !begin_first_life(service, err) : !listen_anywhere(service, err)) {
        return false;
    }
    if (!open_files(service, err) || !make_plan(service, false, err) ||
        !make_loop(service, false, err) || !make_queues(service, false, err)) {
        return false;
    }
    if (service->record != NULL) {
        qn_loop_record(service->loop, service->record);
    }
    if (settings->clock_is_virtual && !is_first) {
        qn_clock_set_rate(&service->clock, legacy->rate);
    }
    return true;
}

void qn_service_close(struct qn_service *service)
{
    take_apart(service);
    qn_listeners_close(&service->listeners);
    if (service->settings.clock_is_virtual) {
        qn_clock_virtual_free(&service->clock);
    }
}

void qn_service_done(struct qn_service *service)
{
    qn_queue_list_done(&service->queues);
    json_decref(service->shown);
    qn_memory_free(service->failpoints);
    qn_listeners_close(&service->reserve);
    if (service->trace_memory != NULL) {
        (void)munmap(service->trace_memory, TRACE_SHARED_BYTES);
    }
    qn_legacy_free(service->legacy);
    qn_options_done(&service->options);
}
