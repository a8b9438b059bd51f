/* The pass: events in, scene and detectors kept, findings out. */
#include "chaos/assumptions/pass.h"

#include <stdarg.h>
#include <stdio.h>

static const struct qn_assumption_info infos[QN_ASSUMPTION_COUNT] = {
#define QN_ASSUMPTION(symbol, name, title, promise, source, fix)                                   \
    {(name), (title), (promise), (source), (fix)},
#include "chaos/assumptions/assumptions.def"
#undef QN_ASSUMPTION
};

static const struct qn_detector *const detectors[QN_ASSUMPTION_COUNT] = {
#define QN_ASSUMPTION(symbol, name, title, promise, source, fix) &qn_detect_##symbol,
#include "chaos/assumptions/assumptions.def"
#undef QN_ASSUMPTION
};

const struct qn_assumption_info *qn_assumption_info(enum qn_assumption assumption)
{
    return &infos[assumption];
}

struct qn_assumptions *qn_assumptions_new(void)
{
    struct qn_assumptions *self = qn_memory_new(sizeof(*self));

    qn_scene_init(&self->scene);
    self->scene.harness = QN_STR(QN_ASSUMPTIONS_HARNESS);
    for (size_t i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        qn_memo_init(&self->memos[i], detectors[i]->entry_size, QN_DETECTOR_ENTRIES_MAX, NULL);
    }
    return self;
}

void qn_assumptions_free(struct qn_assumptions *self)
{
    if (self == NULL) {
        return;
    }
    for (size_t i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        qn_memo_done(&self->memos[i]);
    }
    qn_scene_done(&self->scene);
    qn_memory_free(self);
}

static struct qn_view view_of(struct qn_assumptions *self, size_t i, struct qn_finding *findings)
{
    return (struct qn_view){
        .scene = &self->scene, .memo = &self->memos[i], .finding = &findings[i]};
}

/* What was seen so far no longer goes together with what follows. */
static void forget(struct qn_assumptions *self)
{
    for (size_t i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        qn_memo_clear(&self->memos[i]);
    }
    qn_scene_forget(&self->scene);
    self->from = (struct qn_sight){0};
}

void qn_assumptions_gap(struct qn_assumptions *self, uint64_t count)
{
    self->missed += count;
    forget(self);
}

/* ---- events ---- */

/* A call without its parameters: nobody was to read the trace when it came. */
static bool is_thin(const struct qn_seen_call *call)
{
    return call->ok && !call->has_params && call->action_name.len > 0;
}

static void answer(struct qn_assumptions *self, const struct qn_event *event)
{
    struct qn_seen_call *call = qn_scene_call(&self->scene, event->request);

    if (call == NULL) {
        return;
    }
    qn_scene_answer(&self->scene, call, event);
    if (is_thin(call)) {
        self->undetailed++;
        forget(self);
        return;
    }
    for (size_t i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        struct qn_view view = view_of(self, i, self->findings);
        if (detectors[i]->at_call != NULL) {
            detectors[i]->at_call(&view, call);
        }
    }
    qn_scene_apply_call(&self->scene, call);
    qn_scene_end(&self->scene, call);
}

static void happen(struct qn_assumptions *self, const struct qn_event *event)
{
    struct qn_seen_call *call = qn_scene_call(&self->scene, event->request);

    for (size_t i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        struct qn_view view = view_of(self, i, self->findings);
        if (detectors[i]->at_event != NULL) {
            detectors[i]->at_event(&view, event, call);
        }
    }
    qn_scene_apply_event(&self->scene, event, call);
}

/* Instants of a file can be any numbers, and are reckoned with. */
static int64_t sane(int64_t instant_ms)
{
    const int64_t latest_ms = INT64_C(1) << 52;

    if (instant_ms < 0) {
        return 0;
    }
    return instant_ms < latest_ms ? instant_ms : latest_ms;
}

void qn_assumptions_observe(struct qn_assumptions *self, const struct qn_event *given, uint64_t seq,
                            int64_t wall_ms)
{
    struct qn_event copy = *given;
    const struct qn_event *event = &copy;

    copy.virtual_ms = sane(copy.virtual_ms);
    if (copy.deadline_ms != QN_EVENT_NO_INT || copy.kind == QN_EVENT_LEASE_GRANT ||
        copy.kind == QN_EVENT_LEASE_EXTEND) {
        /* A lease without an end is never over. */
        copy.deadline_ms = sane(copy.deadline_ms == QN_EVENT_NO_INT ? INT64_MAX : copy.deadline_ms);
    }
    self->scene.now = qn_sight_of(event, seq, sane(wall_ms));
    self->events++;
    if (event->kind == QN_EVENT_BOOT) {
        forget(self); /* connections are numbered anew, and what was not kept did not happen */
    } else if (event->kind == QN_EVENT_API_IN) {
        (void)qn_scene_begin(&self->scene, event);
    } else if (event->kind == QN_EVENT_API_OUT) {
        answer(self, event);
    } else if (event->kind == QN_EVENT_FAULT) {
        self->scene.last_fault = seq;
    } else if (event->kind == QN_EVENT_QUEUE_CREATE || qn_event_is_state(event->kind)) {
        happen(self, event);
    }
    if (self->from.seq == 0) {
        self->from = self->scene.now;
    }
    self->until = self->scene.now;
}

/* ---- findings ---- */

static void copy_text(char *room, size_t size, struct qn_str text)
{
    size_t len = text.len < size - 1 ? text.len : size - 1;

    if (len > 0) {
        memcpy(room, text.ptr, len);
    }
    room[len] = '\0';
}

void qn_found(struct qn_view *view, const struct qn_seen_call *call, struct qn_str queue,
              const struct qn_sight *const *sights, size_t count, const char *format, ...)
{
    struct qn_finding *finding = view->finding;
    va_list args;

    if (call != NULL && call->is_ours) {
        return;
    }
    finding->last = *sights[count - 1];
    if (finding->count++ == 0) {
        finding->first = finding->last;
    }
    if (finding->example_count == QN_EXAMPLES_MAX) {
        return;
    }
    struct qn_example *example = &finding->examples[finding->example_count++];
    copy_text(example->queue, sizeof(example->queue), queue);
    va_start(args, format);
    (void)vsnprintf(example->text, sizeof(example->text), format, args);
    va_end(args);
    for (size_t i = 0; i < count && i < QN_EXAMPLE_SIGHTS_MAX; i++) {
        example->sights[example->sight_count++] = *sights[i];
    }
}

struct qn_str qn_pair_key(struct qn_pair_key *room, int64_t conn, struct qn_str key)
{
    int len = snprintf(room->text, sizeof(room->text), "%lld %.*s", (long long)conn,
                       QN_STR_ARG(qn_str_first(key, sizeof(room->text) - 24)));

    return qn_str(room->text, (size_t)len);
}

struct qn_finding *qn_assumptions_decide(const struct qn_assumptions *self)
{
    struct qn_finding *findings = qn_memory_new_array(QN_ASSUMPTION_COUNT, sizeof(*findings));

    memcpy(findings, self->findings, QN_ASSUMPTION_COUNT * sizeof(*findings));
    for (size_t i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        struct qn_view view = {.scene = &self->scene,
                               .memo = (struct qn_memo *)(uintptr_t)&self->memos[i],
                               .finding = &findings[i]};
        if (detectors[i]->at_end != NULL) {
            detectors[i]->at_end(&view);
        }
    }
    return findings;
}

uint64_t qn_assumptions_count_of(const struct qn_assumptions *self, enum qn_assumption assumption)
{
    struct qn_finding *findings = qn_assumptions_decide(self);
    uint64_t count = findings[assumption].count;

    qn_memory_free(findings);
    return count;
}

size_t qn_assumptions_count(const struct qn_assumptions *self)
{
    struct qn_finding *findings = qn_assumptions_decide(self);
    size_t count = 0;

    for (size_t i = 0; i < QN_ASSUMPTION_COUNT; i++) {
        count += findings[i].count > 0;
    }
    qn_memory_free(findings);
    return count;
}
