/* The engine of a test: its life, its clock, and requests. */
#include "tests/support/fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/base/map.h"
#include "server/wire/wire.h"

enum { CALL_ARENA_MAX = 1 << 26 };

static void stop(const char *what, const char *detail)
{
    (void)fprintf(stderr, "fixture: %s: %s\n", what, detail);
    abort();
}

/* ---- the store ---- */

static bool read_rows(void *state, int64_t content_id, struct qn_arena *arena,
                      struct qn_str *ret_content, struct qn_error *err)
{
    const struct fixture *f = state;
    size_t from = 0;
    size_t to = f->rows.count;
    struct qn_row row;

    if (f->is_unreadable) {
        return qn_fail(err, QN_ERR_INTERNAL, "A disk was pulled out.");
    }
    /* Contents stand behind all other rows, by their ids. */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        (void)row_set_at(&f->rows, middle, &row);
        if (row.kind != QN_ROW_MESSAGE_INSERT || row.message.content_id < content_id) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    if (!row_set_at(&f->rows, from, &row) || row.kind != QN_ROW_MESSAGE_INSERT ||
        row.message.content_id != content_id) {
        return qn_fail(err, QN_ERR_INTERNAL, "There is no content %lld.", (long long)content_id);
    }
    *ret_content = qn_arena_copy(arena, row.content);
    return true;
}

static bool read_file(void *state, int64_t content_id, struct qn_arena *arena,
                      struct qn_str *ret_content, struct qn_error *err)
{
    const struct fixture *f = state;

    return qn_journal_read_content(f->file->journal, content_id, arena, ret_content, err);
}

static void keep(struct fixture *f, struct qn_str entry)
{
    uint64_t written = 0;

    if (!f->has_store || entry.len == 0) {
        return;
    }
    if (f->file != NULL) {
        f->lsn = journal_fixture_append(f->file, entry, f->now_ms);
        written = qn_journal_written_lsn(f->file->journal);
    } else {
        row_set_apply(&f->rows, entry);
        written = ++f->lsn;
    }
    qn_engine_entry_appended(f->engine, f->lsn);
    if (f->evicts) {
        qn_engine_evict(f->engine, written);
    }
}

static void restore(struct fixture *f, const struct row_set *rows)
{
    struct qn_row row;

    for (size_t i = 0; row_set_at(rows, i, &row); i++) {
        if (row.kind != QN_ROW_MESSAGE_INSERT) {
            qn_engine_restore(f->engine, &row, f->now_ms);
        }
    }
    qn_engine_restored(f->engine, f->now_ms);
}

static void start(struct fixture *f)
{
    if (f->file != NULL) {
        if (!journal_fixture_open(f->file)) {
            stop("the database cannot be opened", f->file->err.message);
        }
        f->options.boot = (uint32_t)f->file->identity.boot;
        memcpy(f->options.handle_key, f->file->identity.handle_key, 16);
        f->options.source = (struct qn_content_source){f, read_file};
    } else {
        f->options.boot++;
        memcpy(f->options.handle_key, "a key of a test.", 16);
        f->options.source = (struct qn_content_source){f, f->has_store ? read_rows : NULL};
    }
    f->options.content_budget = f->evicts ? 0 : SIZE_MAX;
    f->engine = qn_engine_new(&f->options);
    if (f->has_store) {
        restore(f, f->file != NULL ? &f->file->loaded : &f->rows);
    }
    f->sequence = 0;
}

static void drop_polls(struct fixture *f)
{
    while (f->polls != NULL) {
        struct fixture_poll *poll = f->polls;
        f->polls = poll->next;
        qn_engine_unpark(f->engine, &poll->waiter);
        qn_arena_done(&poll->request.arena);
        json_decref(poll->answer);
        qn_memory_free(poll);
    }
}

void fixture_open(struct fixture *f)
{
    *f = (struct fixture){
        .options = {.limits = {QN_IN_FLIGHT_MAX, QN_MESSAGE_SIZE_MAX, QN_RETENTION_MIN_S,
                               QN_BATCH_ENTRIES_MAX},
                    .account = QN_STR("000000000000"),
                    .region = QN_STR("us-east-1"),
                    .memory_max = SIZE_MAX},
        .caller = {.account = QN_STR("000000000000"),
                   .region = QN_STR("us-east-1"),
                   .access_key_id = QN_STR("test"),
                   .url_base = QN_STR("http://localhost:9324")},
        .now_ms = FIXTURE_START_MS,
        .seed = 42,
        .slice = 1000,
        .has_store = true,
    };
    qn_arena_init(&f->arena, SIZE_MAX);
    qn_arena_init(&f->request.arena, CALL_ARENA_MAX);
    qn_buf_init(&f->events.encoded, SIZE_MAX);
    start(f);
}

static void end(struct fixture *f)
{
    drop_polls(f);
    qn_engine_free(f->engine);
    f->engine = NULL;
    if (f->file != NULL) {
        journal_fixture_close(f->file);
    }
}

void fixture_close(struct fixture *f)
{
    end(f);
    if (f->file != NULL) {
        journal_fixture_done(f->file);
        qn_memory_free(f->file);
    }
    row_set_done(&f->rows);
    json_decref(f->answer);
    qn_buf_done(&f->events.encoded);
    qn_arena_done(&f->request.arena);
    qn_arena_done(&f->arena);
}

void fixture_restart(struct fixture *f)
{
    end(f);
    start(f);
}

void fixture_use_file(struct fixture *f)
{
    end(f);
    f->file = qn_memory_new(sizeof(*f->file));
    journal_fixture_init(f->file);
    start(f);
}

void fixture_use_no_store(struct fixture *f)
{
    end(f);
    f->has_store = false;
    start(f);
}

/* ---- time ---- */

void fixture_begin(struct fixture *f, struct qn_tx *tx, struct qn_arena *arena,
                   struct qn_random *random, struct qn_buf *entry)
{
    qn_random_init(random, f->seed, f->options.boot, ++f->sequence);
    qn_buf_init(entry, SIZE_MAX);
    *tx = (struct qn_tx){
        .engine = f->engine,
        .now_ms = f->now_ms,
        .random = random,
        .arena = arena,
        .caller = &f->caller,
        .entry = f->has_store ? entry : NULL,
        .events = &f->events,
    };
}

void fixture_commit(struct fixture *f, struct qn_buf *entry)
{
    keep(f, qn_buf_str(entry));
    qn_buf_done(entry);
}

struct qn_tx *fixture_change_begin(struct fixture *f, struct fixture_change *change)
{
    qn_arena_init(&change->arena, SIZE_MAX);
    fixture_begin(f, &change->tx, &change->arena, &change->random, &change->entry);
    return &change->tx;
}

void fixture_change_end(struct fixture *f, struct fixture_change *change)
{
    fixture_commit(f, &change->entry);
    qn_arena_done(&change->arena);
}

static json_t *render(const struct qn_action *action, const void *output)
{
    struct qn_buf text;
    json_error_t problem;

    qn_buf_init(&text, SIZE_MAX);
    qn_wire_write_json(&text, action->output, output);
    json_t *answer =
        text.len == 0 ? json_object() : json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, &problem);
    if (answer == NULL) {
        stop("an answer is not JSON", problem.text);
    }
    qn_buf_done(&text);
    return answer;
}

static void run_poll(struct fixture *f, struct fixture_poll *poll)
{
    const struct qn_action *action = qn_action_at(QN_ACTION_receive_message);
    void *output = qn_arena_alloc(&poll->request.arena, action->output->size);
    struct qn_random random;
    struct qn_buf entry;
    struct qn_tx tx;
    struct qn_error err = {.code = QN_ERR_NONE};

    if (poll->waiter.queue_is_gone) {
        poll->is_answered = true;
        poll->code = QN_ERR_QUEUE_DOES_NOT_EXIST;
        qn_engine_unpark(f->engine, &poll->waiter);
        return;
    }
    fixture_begin(f, &tx, &poll->request.arena, &random, &entry);
    tx.caller = &poll->request.caller;
    tx.wait_is_over = poll->waiter.is_over;
    bool ok = action->check(&tx, poll->request.input, &err) &&
              action->execute(&tx, poll->request.input, output, &err);
    fixture_commit(f, &entry);
    if (ok && tx.park.queue != NULL) {
        if (poll->waiter.queue != NULL) {
            qn_engine_waiter_stays(f->engine, &poll->waiter);
        } else {
            qn_engine_park(f->engine, &poll->waiter, tx.park.queue, tx.park.deadline_ms);
        }
        return;
    }
    qn_engine_unpark(f->engine, &poll->waiter);
    poll->is_answered = true;
    poll->answered_at_ms = f->now_ms;
    poll->code = ok ? QN_ERR_NONE : err.code;
    if (ok) {
        poll->answer = render(action, output);
        poll->bodies = fixture_note_messages(f, poll->answer);
    }
}

void fixture_serve_waiters(struct fixture *f)
{
    struct qn_waiter *waiter;

    while ((waiter = qn_engine_next_waiter(f->engine)) != NULL) {
        run_poll(f, QN_CONTAINER(waiter, struct fixture_poll, waiter));
    }
}

void fixture_settle(struct fixture *f)
{
    enum qn_settle_result result;

    do {
        struct qn_random random;
        struct qn_buf entry;
        struct qn_tx tx;
        int budget = f->slice;
        fixture_begin(f, &tx, &f->request.arena, &random, &entry);
        tx.caller = NULL;
        result = qn_engine_settle(&tx, &budget);
        fixture_commit(f, &entry);
        qn_arena_reset(&f->request.arena);
        fixture_serve_waiters(f);
    } while (result != QN_SETTLED);
}

void fixture_leap_ms(struct fixture *f, int64_t by_ms)
{
    fixture_settle(f);
    f->now_ms += by_ms;
    fixture_settle(f);
}

void fixture_advance_ms(struct fixture *f, int64_t by_ms)
{
    int64_t target_ms = f->now_ms + by_ms;

    fixture_settle(f);
    while (f->now_ms < target_ms) {
        int64_t next_ms = qn_engine_next_event_ms(f->engine);
        if (next_ms <= f->now_ms) {
            stop("after settling something is still due", "next event in the past");
        }
        f->now_ms = next_ms < target_ms ? next_ms : target_ms;
        fixture_settle(f);
    }
}

void fixture_advance_s(struct fixture *f, int64_t by_s)
{
    fixture_advance_ms(f, by_s * 1000);
}

/* ---- requests ---- */

/* The members with ' for ", in braces. */
QN_PRINTF(2, 0)
static struct qn_str json_text(struct qn_arena *arena, const char *format, va_list args)
{
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    struct qn_str json;

    if (len < 0) {
        stop("no memory for", format);
    }
    for (int i = 0; i < len; i++) {
        if (text[i] == '\'') {
            text[i] = '"';
        }
    }
    json = qn_arena_format(arena, "{%.*s}", len, text);
    free(text);
    return json;
}

static QN_PRINTF(2, 3) struct qn_str json_of(struct qn_arena *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct qn_str json = json_text(arena, format, args);
    va_end(args);
    return json;
}

static void look(struct fixture *f, struct qn_tx *tx, const struct qn_action *action,
                 const void *input)
{
    f->facts = (struct qn_facts){.arena = tx->arena};
    if (f->looks && action->look != NULL) {
        action->look(tx, input, &f->facts);
    }
}

/* The request as it would come over AWS JSON. */
static bool decode(struct qn_request *request, const char *action, struct qn_str json,
                   struct qn_error *err)
{
    const struct qn_wire_defaults defaults = {QN_STR("000000000000"), QN_STR("us-east-1")};

    request->http = (struct qn_http_request){
        .method = QN_STR("POST"),
        .path = QN_STR("/"),
        .content_type = QN_STR("application/x-amz-json-1.0"),
        .target = qn_arena_format(&request->arena, "AmazonSQS.%s", action),
        .body = json,
    };
    return qn_wire_decode(request, &defaults, err);
}

/* A receive that would wait is answered empty, for nobody waits here; one that only has to go on
 * does so. */
static bool run(struct fixture *f)
{
    const struct qn_action *action = f->request.action;
    void *output = qn_arena_alloc(&f->request.arena, action->output->size);
    struct qn_random random;
    struct qn_buf entry;
    struct qn_tx tx;

    fixture_begin(f, &tx, &f->request.arena, &random, &entry);
    tx.verdict = f->verdict;
    bool ok = action->check(&tx, f->request.input, &f->err);
    if (ok) {
        look(f, &tx, action, f->request.input);
        tx.facts = f->looks ? &f->facts : NULL;
        ok = action->execute(&tx, f->request.input, output, &f->err);
    }
    if (!ok && entry.len > 0 && !f->options.auto_create) {
        stop("a request failed and changed something", action->name);
    }
    fixture_commit(f, &entry);
    if (ok && tx.park.queue != NULL && tx.park.deadline_ms <= f->now_ms) {
        return run(f);
    }
    if (ok) {
        f->err.code = QN_ERR_NONE;
        f->answer = render(action, output);
    }
    return ok;
}

static QN_PRINTF(3, 0) bool call(struct fixture *f, const char *name, const char *format,
                                 va_list args)
{
    if (!f->is_behind) {
        fixture_settle(f);
    }
    qn_arena_reset(&f->request.arena);
    json_decref(f->answer);
    f->answer = NULL;
    struct qn_str json = json_text(&f->request.arena, format, args);
    bool ok = decode(&f->request, name, json, &f->err) && run(f);
    fixture_serve_waiters(f);
    return ok;
}

bool fixture_call(struct fixture *f, const char *action, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    bool ok = call(f, action, format, args);
    va_end(args);
    return ok;
}

enum qn_error_code fixture_code(struct fixture *f, const char *action, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)call(f, action, format, args);
    va_end(args);
    return f->err.code;
}

void fixture_must(struct fixture *f, const char *action, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!call(f, action, format, args)) {
        stop(action, f->err.message);
    }
    va_end(args);
}

struct fixture_poll *fixture_poll(struct fixture *f, const char *queue, int max, int wait_s,
                                  const char *members)
{
    struct fixture_poll *poll = qn_memory_new(sizeof(*poll));

    fixture_settle(f);
    qn_arena_init(&poll->request.arena, SIZE_MAX);
    struct qn_str json = json_of(
        &poll->request.arena, "'QueueUrl':'%s','MaxNumberOfMessages':%d,'WaitTimeSeconds':%d%s%s",
        queue, max, wait_s, members[0] != '\0' ? "," : "", members);
    if (!decode(&poll->request, "ReceiveMessage", json, &f->err)) {
        stop("poll", f->err.message);
    }
    poll->request.caller = f->caller;
    poll->next = f->polls;
    f->polls = poll;
    run_poll(f, poll);
    fixture_serve_waiters(f);
    return poll;
}

void fixture_poll_cancel(struct fixture *f, struct fixture_poll *poll)
{
    qn_engine_unpark(f->engine, &poll->waiter);
}
