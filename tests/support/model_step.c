/* Steps of a random test: how they are drawn, and how they are shown. */
#include "tests/support/model_step.h"

static const char *const names[REFERENCE_QUEUES] = {
    "s", "sd", "f.fifo", "fd.fifo", "delaying", "content.fifo", "groups.fifo", "tenants",
};

const char *model_queue_name(int queue)
{
    return names[queue];
}

bool model_queue_is_fifo(int queue)
{
    return queue == MODEL_FIFO || queue == MODEL_FIFO_DEAD || queue == MODEL_BY_CONTENT ||
           queue == MODEL_BY_GROUP;
}

static int below(struct model_draw *draw, int bound)
{
    return (int)qn_random_below(&draw->random, (uint64_t)bound);
}

static bool one_in(struct model_draw *draw, int many)
{
    return below(draw, many) == 0;
}

/* Each seed likes some queues better. */
void model_draw_init(struct model_draw *draw, unsigned seed)
{
    *draw = (struct model_draw){.latest_poll = -1, .latest_move = -1, .gone = -1};
    qn_random_init(&draw->random, seed, 1, 2);
    for (int i = 0; i < REFERENCE_QUEUES; i++) {
        draw->weights[i] = 1 + below(draw, 4) * below(draw, 4);
    }
    /* Slices serve those that wait in between, and what they get is then not foreseen. */
    draw->polls = seed % 5 != 2;
}

static int draw_queue(struct model_draw *draw)
{
    int sum = 0;

    for (int i = 0; i < REFERENCE_QUEUES; i++) {
        sum += draw->weights[i];
    }
    int at = below(draw, sum);
    int queue = 0;
    while (at >= draw->weights[queue]) {
        at -= draw->weights[queue++];
    }
    return queue;
}

static struct model_entry draw_message(struct model_draw *draw, int queue)
{
    struct model_entry entry = {.delay_s = -1, .group = -1, .deduplication = -1, .content = -1};

    if (queue == MODEL_TENANTS) {
        entry.group = below(draw, REFERENCE_GROUPS + 1) - 1;
    }
    if (!model_queue_is_fifo(queue)) {
        entry.delay_s = one_in(draw, 3) ? below(draw, 20) : -1;
        return entry;
    }
    entry.group = below(draw, REFERENCE_GROUPS);
    entry.deduplication = below(draw, REFERENCE_IDS);
    if (queue == MODEL_BY_CONTENT && !one_in(draw, 4)) {
        entry.deduplication = -1;
        entry.content = below(draw, REFERENCE_IDS);
    }
    return entry;
}

static struct model_entry draw_handle(struct model_draw *draw)
{
    struct model_entry entry = {.from = -1};

    if (draw->recent_count > 0) {
        int back = below(draw, one_in(draw, 3) ? draw->recent_count : 1 + draw->recent_count / 4);
        entry.from = draw->recent[draw->recent_count - 1 - back];
    }
    entry.place = one_in(draw, 2) ? 0 : below(draw, QN_RECEIVE_MAX);
    entry.visibility_s = one_in(draw, 10)  ? 43200 - below(draw, 30)
                         : one_in(draw, 4) ? 0
                                           : below(draw, 12);
    return entry;
}

static void note_receive(struct model_draw *draw, int number)
{
    if (draw->recent_count == MODEL_RECENT) {
        for (int i = 1; i < MODEL_RECENT; i++) {
            draw->recent[i - 1] = draw->recent[i];
        }
        draw->recent_count--;
    }
    draw->recent[draw->recent_count++] = number;
}

static void draw_receive(struct model_draw *draw, struct model_step *step)
{
    step->action = MODEL_RECEIVE;
    step->max = 1 + below(draw, 10);
    step->visibility_s = one_in(draw, 2) ? below(draw, 8) : -1;
    step->attempt = -1;
    if (draw->polls && step->queue != MODEL_TENANTS && one_in(draw, 4)) {
        step->action = MODEL_POLL;
        step->wait_s = 1 + below(draw, 20);
        draw->latest_poll = step->number;
    } else if (model_queue_is_fifo(step->queue) && one_in(draw, 4)) {
        step->attempt = below(draw, REFERENCE_IDS);
    }
    note_receive(draw, step->number);
}

static void draw_use(struct model_draw *draw, struct model_step *step)
{
    bool deletes = !one_in(draw, 3);
    bool is_batch = one_in(draw, 4);

    step->queue = one_in(draw, 20) ? step->queue : -1; /* mostly where the handle is from */
    step->action = deletes ? (is_batch ? MODEL_DELETE_BATCH : MODEL_DELETE)
                           : (is_batch ? MODEL_CHANGE_BATCH : MODEL_CHANGE);
    step->entry_count = is_batch ? 1 + below(draw, MODEL_ENTRIES) : 1;
    for (int i = 0; i < step->entry_count; i++) {
        step->entries[i] = draw_handle(draw);
        if (i > 0 && !one_in(draw, 4)) { /* several of one receive */
            step->entries[i].from = step->entries[0].from;
        }
    }
}

static void draw_set(struct model_draw *draw, struct model_step *step)
{
    switch (below(draw, 5)) {
    case 0:
        step->action = MODEL_SET_VISIBILITY;
        step->value = below(draw, 30);
        break;
    case 1:
        step->action = MODEL_SET_DELAY;
        step->value = one_in(draw, 2) ? 0 : below(draw, 30);
        break;
    case 2:
        step->action = MODEL_SET_RETENTION;
        step->value = 60 + below(draw, 600);
        break;
    case 3:
        step->action = MODEL_SET_CONTENT_BASED;
        step->queue = MODEL_BY_CONTENT;
        step->value = one_in(draw, 3) ? 0 : 1;
        break;
    default:
        step->action = MODEL_SET_REDRIVE;
        step->queue = one_in(draw, 2) ? MODEL_STANDARD : MODEL_FIFO;
        step->value = one_in(draw, 6) ? 0 : 1 + below(draw, 4);
        break;
    }
}

static void draw_move(struct model_draw *draw, struct model_step *step)
{
    static const int to_fifo[] = {MODEL_FIFO, MODEL_BY_CONTENT, MODEL_BY_GROUP};
    static const int to_standard[] = {MODEL_STANDARD, MODEL_DELAYING, MODEL_STANDARD};

    step->queue = one_in(draw, 2) ? MODEL_STANDARD_DEAD : MODEL_FIFO_DEAD;
    if (draw->latest_move >= 0 && one_in(draw, 4)) {
        step->action = MODEL_CANCEL_MOVE;
        step->from = draw->latest_move;
    } else if (one_in(draw, 4)) {
        step->action = MODEL_LIST_MOVES;
    } else {
        static const int rates[] = {0, 0, 1, 2, 7, 100};
        int target = below(draw, 3);
        step->action = MODEL_MOVE;
        step->target = one_in(draw, 2)                  ? -1
                       : step->queue == MODEL_FIFO_DEAD ? to_fifo[target]
                                                        : to_standard[target];
        step->value = rates[below(draw, 6)];
        draw->latest_move = step->number;
    }
}

static void draw_rare(struct model_draw *draw, struct model_step *step)
{
    switch (below(draw, 8)) {
    case 0:
        step->action = MODEL_PURGE;
        break;
    case 1:
        step->action = MODEL_DELETE_QUEUE;
        draw->gone = step->queue;
        break;
    case 2:
    case 3:
        step->action = MODEL_POLL_GOES;
        step->from = draw->latest_poll;
        break;
    default:
        step->action = MODEL_RESTART;
        break;
    }
}

static void draw_advance(struct model_draw *draw, struct model_step *step)
{
    static const int spans_ms[] = {1, 500, 1000, 3000, 10000, 31000, 70000, 301000, 43200000};

    step->action = MODEL_ADVANCE;
    step->span_ms = spans_ms[below(draw, one_in(draw, 4) ? (one_in(draw, 10) ? 9 : 8) : 6)];
    step->leaps = one_in(draw, 2);
}

struct model_step model_draw_step(struct model_draw *draw, int number)
{
    struct model_step step = {.number = number, .queue = draw_queue(draw), .from = -1};
    int kind = below(draw, 100);

    if (draw->gone >= 0 && one_in(draw, 6)) {
        step.action = MODEL_CREATE_QUEUE;
        step.queue = draw->gone;
        draw->gone = -1;
    } else if (kind < 34 && draw->stored < REFERENCE_MESSAGES / 2) {
        step.action = one_in(draw, 4) ? MODEL_SEND_BATCH : MODEL_SEND;
        step.entry_count = step.action == MODEL_SEND ? 1 : 1 + below(draw, MODEL_ENTRIES);
        for (int i = 0; i < step.entry_count; i++) {
            step.entries[i] = draw_message(draw, step.queue);
        }
    } else if (kind < 60) {
        draw_receive(draw, &step);
    } else if (kind < 78) {
        draw_use(draw, &step);
    } else if (kind < 88) {
        draw_advance(draw, &step);
    } else if (kind < 92) {
        draw_set(draw, &step);
    } else if (kind < 96) {
        draw_move(draw, &step);
    } else {
        draw_rare(draw, &step);
    }
    return step;
}

/* ---- shown ---- */

static void print_entry(FILE *out, const struct model_step *step, const struct model_entry *entry)
{
    switch (step->action) {
    case MODEL_SEND:
    case MODEL_SEND_BATCH:
        (void)fprintf(out, " (");
        if (entry->group >= 0) {
            (void)fprintf(out, "group g%d ", entry->group);
        }
        if (entry->deduplication >= 0) {
            (void)fprintf(out, "id d%d ", entry->deduplication);
        }
        if (entry->content >= 0) {
            (void)fprintf(out, "body c%d ", entry->content);
        }
        if (entry->delay_s >= 0) {
            (void)fprintf(out, "delay %d s ", entry->delay_s);
        }
        (void)fprintf(out, ")");
        break;
    default:
        (void)fprintf(out, " the %d. of step %d", entry->place + 1, entry->from);
        if (step->action == MODEL_CHANGE || step->action == MODEL_CHANGE_BATCH) {
            (void)fprintf(out, " for %d s", entry->visibility_s);
        }
        break;
    }
}

void model_print_step(FILE *out, const struct model_step *step)
{
    static const char *const words[] = {
        "send to",         "send a batch to", "receive from",     "poll",
        "end the poll of", "delete",          "delete a batch:",  "change",
        "change a batch:", "advance",         "visibility of",    "delay of",
        "retention of",    "redrive of",      "content-based of", "purge",
        "delete queue",    "create queue",    "move from",        "cancel the move of",
        "list moves of",   "restart",
    };

    (void)fprintf(out, "  step %d: %s", step->number, words[step->action]);
    if (step->action == MODEL_POLL_GOES || step->action == MODEL_CANCEL_MOVE) {
        (void)fprintf(out, " step %d", step->from);
    } else if (step->action == MODEL_ADVANCE) {
        (void)fprintf(out, " by %d ms%s", step->span_ms, step->leaps ? " in one leap" : "");
    } else if (step->action != MODEL_RESTART && step->queue >= 0) {
        (void)fprintf(out, " %s", names[step->queue]);
    }
    if (step->action == MODEL_RECEIVE || step->action == MODEL_POLL) {
        (void)fprintf(out, " max %d", step->max);
        if (step->visibility_s >= 0) {
            (void)fprintf(out, " visibility %d s", step->visibility_s);
        }
        if (step->attempt >= 0) {
            (void)fprintf(out, " attempt r%d", step->attempt);
        }
        if (step->action == MODEL_POLL) {
            (void)fprintf(out, " waiting %d s", step->wait_s);
        }
    } else if (step->action >= MODEL_SET_VISIBILITY && step->action <= MODEL_SET_CONTENT_BASED) {
        (void)fprintf(out, " = %d", step->value);
    } else if (step->action == MODEL_MOVE) {
        (void)fprintf(out, " to %s", step->target < 0 ? "their sources" : names[step->target]);
        if (step->value > 0) {
            (void)fprintf(out, " at %d a second", step->value);
        }
    }
    for (int i = 0; i < step->entry_count; i++) {
        print_entry(out, step, &step->entries[i]);
    }
    (void)fprintf(out, "\n");
}
