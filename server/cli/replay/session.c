/* Reading a recording: where its lines stand, and which answer belongs to which request. */
#include "server/cli/replay/session.h"

#include <unistd.h>

#include "server/cli/lines.h"
#include "server/cli/replay/check.h"

enum { FIRST_CAP = 256 };

/* A number of the recording and what it stands for here. */
struct known {
    struct qn_map_node node;
    int64_t number;
    uint32_t index;
};

/* What is known while lines are read. Numbers begin anew with each start of the server. */
struct reading {
    struct qn_session *session;
    struct qn_lines lines;
    struct qn_map open;        /* requests without an answer, by n */
    struct qn_map connections; /* by conn */
    int64_t last_n;
    int64_t base_ms; /* when the start was, since the beginning */
    int64_t last_ms;
    struct qn_error *err;
};

static bool same_number(const struct qn_map_node *node, const void *key)
{
    return ((const struct known *)(const void *)node)->number == *(const int64_t *)key;
}

static uint64_t hash_of(int64_t number)
{
    return qn_str_hash(qn_str((const char *)&number, sizeof(number)));
}

static struct known *find(const struct qn_map *map, int64_t number)
{
    return (struct known *)(void *)qn_map_find(map, hash_of(number), &number);
}

static void add(struct qn_map *map, int64_t number, uint32_t index)
{
    struct known *known = qn_memory_new(sizeof(*known));

    known->number = number;
    known->index = index;
    qn_map_insert(map, &known->node, hash_of(number));
}

static void free_known(void *state, struct qn_map_node *node)
{
    (void)state;
    qn_memory_free(node);
}

static void forget_all(struct qn_map *map)
{
    qn_map_each(map, free_known, NULL);
    qn_map_done(map);
    qn_map_init(map, same_number);
}

/* Room for one more behind `count` items. */
static void *grow(void *array, size_t count, size_t size)
{
    bool is_full = count == 0 || (count >= FIRST_CAP && (count & (count - 1)) == 0);

    return is_full ? qn_memory_resize(array, count == 0 ? FIRST_CAP : 2 * count, size) : array;
}

static struct qn_session_item *add_item(struct reading *r, const json_t *line, size_t len,
                                        enum qn_session_kind kind)
{
    struct qn_session *session = r->session;
    int64_t at_ms = r->base_ms + json_integer_value(json_object_get(line, "at"));
    struct qn_session_item *item;

    r->last_ms = at_ms > r->last_ms ? at_ms : r->last_ms;
    session->items = grow(session->items, session->item_count, sizeof(*session->items));
    item = &session->items[session->item_count++];
    *item = (struct qn_session_item){
        .kind = kind,
        .request = QN_SESSION_NONE,
        .at_ms = r->last_ms,
        .vt_ms = json_integer_value(json_object_get(line, "vt")),
        .offset = r->lines.offset,
        .line = r->lines.number,
        .len = (uint32_t)len,
    };
    return item;
}

/* ---- references ---- */

static bool same_reference(const struct qn_map_node *node, const void *key)
{
    return ((const struct qn_reference *)(const void *)node)->hash == *(const uint64_t *)key;
}

struct qn_reference *qn_session_reference(const struct qn_session *session, struct qn_str text)
{
    uint64_t hash = qn_str_hash(text);

    return (struct qn_reference *)(void *)qn_map_find(&session->references, hash, &hash);
}

static bool is_reference(const char *member)
{
    static const char *const names[] = {"QueueUrl", "ReceiptHandle", "TaskHandle", "NextToken",
                                        "MessageId"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(member, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

void qn_session_each_reference(const json_t *value,
                               void (*visit)(void *state, const char *member, struct qn_str text),
                               void *state)
{
    static const char *const lists[] = {"Entries", "Messages", "Results", "Successful", NULL};
    const char *member;
    json_t *item;

    json_object_foreach((json_t *)(uintptr_t)value, member, item)
    {
        if (json_is_string(item) && is_reference(member)) {
            visit(state, member, qn_str(json_string_value(item), json_string_length(item)));
        }
    }
    for (size_t i = 0; lists[i] != NULL; i++) {
        const json_t *list = json_object_get(value, lists[i]);
        for (size_t j = 0; j < json_array_size(list); j++) {
            qn_session_each_reference(json_array_get(list, j), visit, state);
        }
    }
}

struct giving {
    struct qn_session *session;
    uint32_t giver;
};

/* Requests do not name messages, but a later answer does, when it has the same one. */
static void give(void *state, const char *member, struct qn_str text)
{
    const struct giving *giving = state;
    struct qn_reference *reference = qn_session_reference(giving->session, text);

    if (reference != NULL) {
        reference->uses += strcmp(member, "MessageId") == 0;
    } else {
        reference = qn_memory_new(sizeof(*reference));
        reference->hash = qn_str_hash(text);
        reference->giver = giving->giver;
        qn_map_insert(&giving->session->references, &reference->node, reference->hash);
    }
}

static void use(void *state, const char *member, struct qn_str text)
{
    struct qn_reference *reference = qn_session_reference(state, text);

    (void)member;
    if (reference != NULL) {
        reference->uses++;
    }
}

struct unused {
    struct qn_reference **items;
    size_t count;
};

static void collect_unused(void *state, struct qn_map_node *node)
{
    struct unused *unused = state;
    struct qn_reference *reference = (void *)node;

    if (reference->uses == 0) {
        unused->items[unused->count++] = reference;
    }
}

static void drop_unused(struct qn_session *session)
{
    struct unused unused = {qn_memory_new_array(session->references.len, sizeof(*unused.items)), 0};

    qn_map_each(&session->references, collect_unused, &unused);
    for (size_t i = 0; i < unused.count; i++) {
        qn_map_remove(&session->references, &unused.items[i]->node);
        qn_memory_free(unused.items[i]);
    }
    qn_memory_free(unused.items);
}

/* ---- lines ---- */

static void take_start(struct reading *r, const json_t *line)
{
    if (r->session->starts++ == 0) {
        r->session->begin_vt_ms = json_integer_value(json_object_get(line, "vt"));
    }
    r->base_ms = r->last_ms; /* no pause between two starts */
    r->last_n = 0;
    forget_all(&r->open);
    forget_all(&r->connections);
}

static uint32_t connection_of(struct reading *r, int64_t number, uint32_t request)
{
    struct qn_session *session = r->session;
    const struct known *known = find(&r->connections, number);
    uint32_t index = known != NULL ? known->index : (uint32_t)session->connection_count;

    if (known == NULL) {
        session->connections =
            grow(session->connections, session->connection_count, sizeof(*session->connections));
        session->connections[session->connection_count++].first = request;
        add(&r->connections, number, index);
    } else {
        session->requests[session->connections[index].last].next = request;
    }
    session->connections[index].last = request;
    return index;
}

static bool take_request(struct reading *r, const json_t *line, size_t len)
{
    struct qn_session *session = r->session;
    int64_t n = json_integer_value(json_object_get(line, "n"));
    int64_t conn = json_integer_value(json_object_get(line, "conn"));
    uint32_t index = (uint32_t)session->request_count;

    if (n <= r->last_n) {
        return qn_lines_fail(&r->lines, r->err, "the request %lld comes behind the request %lld",
                             (long long)n, (long long)r->last_n);
    }
    r->last_n = n;
    session->requests = grow(session->requests, session->request_count, sizeof(*session->requests));
    session->requests[session->request_count++] = (struct qn_session_request){
        .n = n,
        .item = (uint32_t)session->item_count,
        .answer = QN_SESSION_NONE,
        .next = QN_SESSION_NONE,
    };
    session->requests[index].connection = connection_of(r, conn, index);
    add_item(r, line, len, QN_SESSION_REQUEST)->request = index;
    add(&r->open, n, index);
    qn_session_each_reference(json_object_get(line, "input"), use, session);
    return true;
}

static bool take_answer(struct reading *r, const json_t *line, size_t len)
{
    struct qn_session *session = r->session;
    int64_t n = json_integer_value(json_object_get(line, "n"));
    struct known *known = find(&r->open, n);
    uint32_t index;

    if (known == NULL) {
        return qn_lines_fail(&r->lines, r->err, "answers the request %lld, which %s", (long long)n,
                             n <= r->last_n ? "is answered already or was not recorded"
                                            : "is not there");
    }
    index = known->index;
    qn_map_remove(&r->open, &known->node);
    qn_memory_free(known);
    session->requests[index].answer = (uint32_t)session->item_count;
    add_item(r, line, len, QN_SESSION_ANSWER)->request = index;
    struct giving giving = {session, index};
    qn_session_each_reference(json_object_get(line, "output"), give, &giving);
    return true;
}

static bool take(struct reading *r, const json_t *line, size_t len)
{
    const char *kind = json_string_value(json_object_get(line, "kind"));

    if (r->session->starts == 0 && strcmp(kind, "start") != 0) {
        return qn_lines_fail(&r->lines, r->err, "a recording begins with a start");
    }
    if (strcmp(kind, "start") == 0) {
        take_start(r, line);
    } else if (strcmp(kind, "request") == 0) {
        return take_request(r, line, len);
    } else if (strcmp(kind, "answer") == 0) {
        return take_answer(r, line, len);
    } else if (strcmp(kind, "queue") == 0) {
        add_item(r, line, len, QN_SESSION_QUEUE);
    } else if (strcmp(kind, "clock") == 0 && json_object_get(line, "to") != NULL) {
        add_item(r, line, len, QN_SESSION_CLOCK);
    }
    return true; /* faults and rules are for people */
}

static bool take_text(struct reading *r, struct qn_str text)
{
    json_t *line = NULL;
    bool ok = qn_check_line(&r->lines, text, &line, r->err) && take(r, line, text.len);

    json_decref(line);
    return ok;
}

static bool read_all(struct reading *r, bool cut_ok)
{
    struct qn_str text;

    while (qn_lines_next(&r->lines, &text, r->err)) {
        if (qn_str_is_none(text)) {
            return r->session->starts > 0 ||
                   qn_fail(r->err, QN_ERR_INVALID_PARAMETER_VALUE, "%s is empty", r->lines.name);
        }
        if (r->lines.is_cut && r->session->starts > 0) {
            r->session->was_cut = true;
            return cut_ok || qn_lines_fail(&r->lines, r->err,
                                           "the line is cut off, as by a crash; with --cut-ok all "
                                           "but this line is replayed");
        }
        if (!take_text(r, text)) {
            return false;
        }
        if (r->session->item_count >= QN_SESSION_NONE) {
            return qn_lines_fail(&r->lines, r->err, "too many lines");
        }
    }
    return false;
}

bool qn_session_read(int fd, const char *name, bool cut_ok, struct qn_session *ret_session,
                     struct qn_error *err)
{
    struct qn_session session = {.fd = fd};
    struct reading r = {.session = &session, .err = err};
    bool ok;

    qn_map_init(&session.references, same_reference);
    qn_map_init(&r.open, same_number);
    qn_map_init(&r.connections, same_number);
    qn_lines_init(&r.lines, fd, name);
    ok = read_all(&r, cut_ok);
    qn_lines_done(&r.lines);
    forget_all(&r.open);
    forget_all(&r.connections);
    drop_unused(&session);
    if (ok) {
        *ret_session = session;
    } else {
        qn_session_done(&session);
    }
    return ok;
}

static void free_reference(void *state, struct qn_map_node *node)
{
    struct qn_reference *reference = (void *)node;

    (void)state;
    qn_memory_free(reference->replayed);
    qn_memory_free(reference);
}

void qn_session_done(struct qn_session *session)
{
    qn_map_each(&session->references, free_reference, NULL);
    qn_map_done(&session->references);
    qn_memory_free(session->items);
    qn_memory_free(session->requests);
    qn_memory_free(session->connections);
    *session = (struct qn_session){.fd = -1};
}

json_t *qn_session_load(const struct qn_session *session, uint32_t item)
{
    const struct qn_session_item *at = &session->items[item];
    char *text = qn_memory_new_raw(at->len);
    json_t *line = NULL;

    if (pread(session->fd, text, at->len, at->offset) == (ssize_t)at->len) {
        line = json_loadb(text, at->len, JSON_ALLOW_NUL, NULL);
    }
    qn_memory_free(text);
    return line;
}
