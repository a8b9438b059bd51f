/* Each detector on small traces: NAME.jsonl and NAME-VARIANT.jsonl show the assumption and no
 * other, NAME-short.jsonl and NAME-short-VARIANT.jsonl fall just short of it and show nothing at
 * all. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>

#include "chaos/assumptions/detect.h"

#define FOLDER "tests/chaos/assumptions/"

static struct qn_assumptions *self;

static void start(void)
{
    self = qn_assumptions_new();
}

static void stop(void)
{
    qn_assumptions_free(self);
}

TestSuite(assumptions, .init = start, .fini = stop);

static bool read_trace(const char *file, struct qn_assumptions *pass)
{
    char path[300];
    char block[4096];
    size_t len;
    struct qn_buf text;
    struct qn_error err;

    (void)snprintf(path, sizeof(path), "%s%s", FOLDER, file);
    FILE *opened = fopen(path, "re");
    if (opened == NULL) {
        return false;
    }
    qn_buf_init(&text, 1024 * 1024);
    while ((len = fread(block, 1, sizeof(block), opened)) > 0) {
        qn_buf_append(&text, block, len);
    }
    (void)fclose(opened);
    cr_expect(qn_assumptions_read(pass, qn_buf_str(&text), &err), "%s: %s", file, err.message);
    qn_buf_done(&text);
    return true;
}

/* "NAME", "NAME-short" ...: whose trace it is, by the longest name that fits. */
static int owner_of(struct qn_str stem, bool *ret_is_short)
{
    int owner = -1;
    size_t longest = 0;

    for (int i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        struct qn_str name = qn_str_from_cstr(qn_assumption_info((enum qn_assumption)i)->name);
        bool fits =
            qn_str_starts_with(stem, name) && (stem.len == name.len || stem.ptr[name.len] == '-');
        if (fits && name.len > longest) {
            owner = i;
            longest = name.len;
        }
    }
    struct qn_str rest = qn_str_from(stem, longest);
    *ret_is_short =
        qn_str_equal(rest, QN_STR("-short")) || qn_str_starts_with(rest, QN_STR("-short-"));
    return owner;
}

static void check_trace(const char *file)
{
    struct qn_str stem = qn_str_first(qn_str_from_cstr(file), strlen(file) - strlen(".jsonl"));
    bool is_short;
    int owner = owner_of(stem, &is_short);
    struct qn_assumptions *pass = qn_assumptions_new();

    cr_assert_geq(owner, 0, "%s belongs to no detector", file);
    cr_assert(read_trace(file, pass), "%s", file);
    for (int i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        uint64_t count = qn_assumptions_count_of(pass, (enum qn_assumption)i);
        bool is_shown = i == owner && !is_short;
        cr_expect_eq(count > 0, is_shown, "%s: %s was found %llu times", file,
                     qn_assumption_info((enum qn_assumption)i)->name, (unsigned long long)count);
    }
    qn_assumptions_free(pass);
}

Test(assumptions, every_trace_shows_what_its_name_says)
{
    DIR *folder = opendir(FOLDER);
    size_t count = 0;

    cr_assert_not_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (qn_str_ends_with(qn_str_from_cstr(entry->d_name), QN_STR(".jsonl"))) {
            check_trace(entry->d_name);
            count++;
        }
    }
    (void)closedir(folder);
    cr_expect_geq(count, 2 * (size_t)QN_ASSUMPTION_COUNT);
}

Test(assumptions, every_detector_has_a_trace_that_shows_it_and_one_just_short_of_it)
{
    for (int i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        const char *name = qn_assumption_info((enum qn_assumption)i)->name;
        char file[200];
        struct qn_assumptions *pass = qn_assumptions_new();
        (void)snprintf(file, sizeof(file), "%s.jsonl", name);
        cr_expect(read_trace(file, pass), "%s is missing", file);
        (void)snprintf(file, sizeof(file), "%s-short.jsonl", name);
        cr_expect(read_trace(file, pass), "%s is missing", file);
        qn_assumptions_free(pass);
    }
}

Test(assumptions, the_table_is_whole)
{
    for (int i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        const struct qn_assumption_info *info = qn_assumption_info((enum qn_assumption)i);
        cr_expect_gt(strlen(info->title), 0);
        cr_expect_eq(info->promise[strlen(info->promise) - 1], '.', "%s", info->name);
        cr_expect_eq(info->fix[strlen(info->fix) - 1], '.', "%s", info->name);
        cr_expect_eq(strncmp(info->source, "https://docs.aws.amazon.com/", 28), 0, "%s",
                     info->name);
        for (int j = 0; j < i; j++) {
            cr_expect_str_neq(info->name, qn_assumption_info((enum qn_assumption)j)->name);
        }
    }
}

/* ---- what the pass itself does ---- */

static uint64_t seq;

static struct qn_event event_of(enum qn_event_kind kind, const char *request, int64_t at_ms)
{
    struct qn_event event;

    qn_event_init(&event, kind);
    event.virtual_ms = at_ms;
    event.request = qn_str_from_cstr(request);
    event.account = QN_STR("000000000000");
    event.queue = QN_STR("q");
    event.instance = QN_STR("AKIDEXAMPLE");
    event.region = QN_STR("us-east-1");
    event.connection = 1;
    return event;
}

/* A call that goes well; wall time may be another. */
static void call(const char *request, const char *action, enum qn_event_kind inside, int64_t at_ms,
                 int64_t wall_ms)
{
    struct qn_event event = event_of(QN_EVENT_API_IN, request, at_ms);

    event.action = qn_str_from_cstr(action);
    event.parameters = QN_STR("{\"QueueUrl\":\"http://h/000000000000/q\"}");
    qn_assumptions_observe(self, &event, ++seq, wall_ms);
    event.kind = inside;
    qn_assumptions_observe(self, &event, ++seq, wall_ms);
    event.kind = QN_EVENT_API_OUT;
    event.parameters = QN_STR_NONE;
    event.code = QN_STR("OK");
    qn_assumptions_observe(self, &event, ++seq, wall_ms);
}

static void delete_and_create(int64_t virtual_ms, int64_t wall_ms)
{
    call("r-1", "DeleteQueue", QN_EVENT_MSG_PURGE, 0, 0);
    call("r-2", "CreateQueue", QN_EVENT_QUEUE_CREATE, virtual_ms, wall_ms);
}

Test(assumptions, whichever_clock_says_that_the_client_waited_counts)
{
    delete_and_create(60000, 0);
    delete_and_create(0, 60000);
    cr_expect_eq(qn_assumptions_count(self), 0);
    delete_and_create(59999, 59999);
    cr_expect_eq(qn_assumptions_count(self), 1);
}

Test(assumptions, what_was_found_stays_and_the_rest_is_forgotten_where_events_are_missing)
{
    delete_and_create(1, 1);
    call("r-3", "DeleteQueue", QN_EVENT_MSG_PURGE, 2, 2);
    qn_assumptions_gap(self, 7);
    call("r-4", "CreateQueue", QN_EVENT_QUEUE_CREATE, 3, 3);
    cr_expect_eq(qn_assumptions_count_of(self, QN_ASSUMPTION_name_reused), 1);

    json_t *report = qn_assumptions_report(self);
    cr_expect_eq(json_integer_value(json_object_get(report, "missed")), 7);
    json_decref(report);
}

Test(assumptions, a_start_of_the_server_is_a_new_beginning)
{
    struct qn_event boot = event_of(QN_EVENT_BOOT, NULL, 1);
    call("r-1", "DeleteQueue", QN_EVENT_MSG_PURGE, 0, 0);
    qn_assumptions_observe(self, &boot, ++seq, 1);
    call("r-2", "CreateQueue", QN_EVENT_QUEUE_CREATE, 2, 2);
    cr_expect_eq(qn_assumptions_count(self), 0);
}

Test(assumptions, a_call_without_its_parameters_says_that_nobody_looked)
{
    struct qn_event thin = event_of(QN_EVENT_API_IN, "r-2", 1);
    call("r-1", "DeleteQueue", QN_EVENT_MSG_PURGE, 0, 0);
    thin.action = QN_STR("SendMessage");
    qn_assumptions_observe(self, &thin, ++seq, 1);
    thin.kind = QN_EVENT_API_OUT;
    thin.code = QN_STR("OK");
    qn_assumptions_observe(self, &thin, ++seq, 1);
    call("r-3", "CreateQueue", QN_EVENT_QUEUE_CREATE, 2, 2);
    cr_expect_eq(qn_assumptions_count(self), 0);

    json_t *report = qn_assumptions_report(self);
    cr_expect_eq(json_integer_value(json_object_get(report, "undetailed")), 1);
    json_decref(report);
}

Test(assumptions, refused_calls_show_nothing)
{
    struct qn_event refused = event_of(QN_EVENT_API_OUT, "r-1", 0);
    call("r-1", "DeleteQueue", QN_EVENT_MSG_PURGE, 0, 0);
    for (int i = 0; i < 2; i++) {
        refused.kind = QN_EVENT_API_IN;
        refused.action = QN_STR("PurgeQueue");
        refused.parameters = QN_STR("{}");
        refused.code = QN_STR_NONE;
        qn_assumptions_observe(self, &refused, ++seq, 1);
        refused.kind = QN_EVENT_API_OUT;
        refused.code = QN_STR("AWS.SimpleQueueService.PurgeQueueInProgress");
        qn_assumptions_observe(self, &refused, ++seq, 1);
    }
    cr_expect_eq(qn_assumptions_count(self), 0);
}

Test(assumptions, an_example_tells_the_requests_and_there_are_five_at_most)
{
    for (int i = 0; i < 8; i++) {
        delete_and_create(1, 1);
    }
    json_t *report = qn_assumptions_report(self);
    const json_t *found = json_array_get(json_object_get(report, "assumptions"), 0);
    const json_t *examples = json_object_get(found, "examples");
    const json_t *first = json_array_get(examples, 0);
    cr_expect_str_eq(json_string_value(json_object_get(found, "name")), "name-reused");
    cr_expect_eq(json_integer_value(json_object_get(found, "count")), 8);
    cr_expect_eq(json_array_size(examples), QN_EXAMPLES_MAX);
    cr_expect_str_eq(json_string_value(json_object_get(first, "queue")), "q");
    const json_t *requests = json_object_get(first, "requests");
    cr_expect_eq(json_array_size(requests), 2);
    cr_expect_str_eq(json_string_value(json_array_get(requests, 0)), "r-1");
    cr_expect_str_eq(json_string_value(json_array_get(requests, 1)), "r-2");
    const json_t *event = json_array_get(json_object_get(first, "events"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(event, "action")), "DeleteQueue");
    cr_expect_str_eq(json_string_value(json_object_get(event, "instance")), "AKIDEXAMPLE");
    json_decref(report);
}

Test(assumptions, asking_does_not_change_what_is_found_later)
{
    for (int i = 0; i < 3; i++) {
        json_decref(qn_assumptions_report(self));
        delete_and_create(1, 1);
    }
    cr_expect_eq(qn_assumptions_count_of(self, QN_ASSUMPTION_name_reused), 3);
}

Test(assumptions, however_long_it_runs_it_holds_a_limited_number_of_entries)
{
    char request[32];
    char text[64];
    struct qn_event event = event_of(QN_EVENT_API_IN, NULL, 0);

    for (int i = 0; i < QN_SCENE_MESSAGES_MAX + 100; i++) {
        (void)snprintf(request, sizeof(request), "r-%d", i);
        (void)snprintf(text, sizeof(text), "t-%d", i);
        event = event_of(QN_EVENT_API_IN, request, i);
        event.action = QN_STR("SendMessage");
        event.parameters = QN_STR("{}");
        event.queue = qn_str_from_cstr(text);
        event.message_id = QN_STR_NONE;
        qn_assumptions_observe(self, &event, ++seq, i); /* never answered */
        event.kind = QN_EVENT_MSG_SEND;
        event.message_id = qn_str_from_cstr(text);
        qn_assumptions_observe(self, &event, ++seq, i);
        event.kind = QN_EVENT_LEASE_GRANT;
        event.handle = qn_str_from_cstr(text);
        event.deadline_ms = i + 1000;
        qn_assumptions_observe(self, &event, ++seq, i);
    }
    json_t *report = qn_assumptions_report(self);
    json_int_t dropped = json_integer_value(json_object_get(report, "forgotten"));
    cr_expect_eq(dropped, 100 + (QN_SCENE_MESSAGES_MAX + 100 - QN_SCENE_CALLS_MAX) +
                              (QN_SCENE_MESSAGES_MAX + 100 - QN_SCENE_QUEUES_MAX) +
                              (QN_SCENE_MESSAGES_MAX + 100 - QN_DETECTOR_ENTRIES_MAX));
    json_decref(report);
}
