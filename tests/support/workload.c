/* Entries like those of a busy server. */
#include "tests/support/journal_fixture.h"

enum { QUEUES = 4, START_MS = 1000 };

struct qn_row queue_row(uint32_t number, uint32_t generation)
{
    struct qn_row row;
    memset(&row, 0, sizeof(row));
    row.kind = QN_ROW_QUEUE_PUT;
    row.queue.number = number;
    row.queue.generation = generation;
    row.queue.account = QN_STR("000000000000");
    row.queue.region = QN_STR("us-east-1");
    row.queue.name = QN_STR("orders");
    row.queue.settings = QN_STR("{}");
    return row;
}

struct qn_row message_row(uint32_t queue, int64_t sequence, const char *content)
{
    struct qn_row row;
    memset(&row, 0, sizeof(row));
    row.kind = QN_ROW_MESSAGE_INSERT;
    row.message.key = QN_MESSAGE_KEY(queue, sequence);
    row.message.content_id = row.message.key;
    memcpy(row.message.id, &row.message.key, sizeof(row.message.key));
    row.message.enqueued_at_ms = START_MS + sequence;
    row.message.first_received_at_ms = -1;
    row.content = qn_str_from_cstr(content);
    row.message.content_size = (uint32_t)row.content.len;
    return row;
}

void workload_init(struct workload *workload, uint64_t seed)
{
    *workload = (struct workload){.next_sequence = 1, .next_queue = 1};
    qn_random_init(&workload->random, seed, 1, 1);
    qn_buf_init(&workload->entry, SIZE_MAX);
}

void workload_done(struct workload *workload)
{
    qn_buf_done(&workload->entry);
    row_set_done(&workload->expected);
}

static uint64_t below(struct workload *workload, uint64_t bound)
{
    return qn_random_below(&workload->random, bound);
}

static void add(struct workload *workload, const struct qn_row *row)
{
    qn_entry_append(&workload->entry, row);
}

/* A message of the reference at random; false when there is none. */
static bool pick_message(struct workload *workload, struct qn_row *ret_row)
{
    size_t count = workload->expected.count;
    for (int i = 0; i < 20 && count > 0; i++) {
        if (row_set_at(&workload->expected, below(workload, count), ret_row) &&
            ret_row->kind == QN_ROW_MESSAGE_PUT) {
            return true;
        }
    }
    return false;
}

static void add_send(struct workload *workload, size_t slot)
{
    static char text[3000];
    memset(text, 'a' + (int)below(workload, 26), sizeof(text) - 1);
    text[below(workload, 20) == 0 ? sizeof(text) - 1 : 1 + below(workload, 300)] = '\0';
    struct qn_row row = message_row(workload->numbers[slot], workload->next_sequence++, text);
    row.message.generation = workload->generations[slot];
    row.message.group_id = below(workload, 2) == 0 ? QN_STR_NONE : QN_STR("group");
    add(workload, &row);
}

static void add_queue(struct workload *workload, size_t slot)
{
    struct qn_row row = queue_row(workload->numbers[slot], workload->generations[slot]);
    row.queue.next_sequence = workload->next_sequence;
    add(workload, &row);
}

static void add_receive(struct workload *workload, struct qn_row row)
{
    row.kind = QN_ROW_MESSAGE_PUT;
    row.message.receive_count++;
    row.message.receive_number++;
    row.message.hidden_until_ms += (int64_t)below(workload, 30000);
    add(workload, &row);
}

static void add_move(struct workload *workload, struct qn_row row, size_t slot)
{
    row.kind = QN_ROW_MESSAGE_MOVE;
    row.key = row.message.key;
    row.message.key = QN_MESSAGE_KEY(workload->numbers[slot], workload->next_sequence++);
    row.message.generation = workload->generations[slot];
    row.message.source_arn = QN_STR("arn:aws:sqs:us-east-1:000000000000:orders");
    add(workload, &row);
}

static void add_delete(struct workload *workload, struct qn_row row)
{
    row.kind = QN_ROW_MESSAGE_DELETE;
    row.key = row.message.key;
    row.content_id = row.message.content_id;
    add(workload, &row);
}

/* Deduplication, attempts, tasks and names, each put far more often than dropped. */
static void add_other(struct workload *workload, size_t slot)
{
    int64_t sequence = workload->next_sequence++;
    struct qn_row row;
    memset(&row, 0, sizeof(row));
    row.key = QN_MESSAGE_KEY(workload->numbers[slot], sequence - 400 > 0 ? sequence - 400 : 0);
    switch (below(workload, 8)) {
    case 0:
        row.kind = QN_ROW_DEDUPLICATION_TRIM;
        break;
    case 1:
        row.kind = QN_ROW_ATTEMPT_TRIM;
        break;
    case 2:
    case 3:
        row.kind = QN_ROW_DEDUPLICATION_PUT;
        row.deduplication.key = QN_MESSAGE_KEY(workload->numbers[slot], sequence);
        row.deduplication.generation = workload->generations[slot];
        row.deduplication.id = QN_STR("once");
        break;
    case 4:
        row.kind = QN_ROW_ATTEMPT_PUT;
        row.attempt.key = QN_MESSAGE_KEY(workload->numbers[slot], sequence);
        row.attempt.generation = workload->generations[slot];
        row.attempt.id = QN_STR("again");
        row.attempt.messages = QN_STR("");
        break;
    case 5:
        row.kind = below(workload, 3) == 0 ? QN_ROW_TASK_DROP : QN_ROW_TASK_PUT;
        row.task.id[0] = (uint8_t)below(workload, 20);
        row.task.started_at_ms = START_MS + row.task.id[0];
        row.task.task = QN_STR("running");
        break;
    default: {
        static const char *const names[] = {"a", "b", "c", "d", "e"};
        row.kind = below(workload, 3) == 0 ? QN_ROW_NAME_DROP : QN_ROW_NAME_PUT;
        row.name.name = qn_str_from_cstr(names[below(workload, 5)]);
        row.name.deleted_at_ms = row.kind == QN_ROW_NAME_PUT ? sequence : 0;
        break;
    }
    }
    add(workload, &row);
}

/* Once in a while a queue is purged, or dropped and another made in its place. */
static void add_queue_change(struct workload *workload, size_t slot)
{
    if (below(workload, 3) == 0) {
        struct qn_row row;
        memset(&row, 0, sizeof(row));
        row.kind = QN_ROW_QUEUE_DROP;
        row.queue_number = workload->numbers[slot];
        add(workload, &row);
        workload->numbers[slot] = workload->next_queue++;
        workload->generations[slot] = 0;
    } else {
        workload->generations[slot]++;
    }
    add_queue(workload, slot);
}

struct qn_str workload_next(struct workload *workload)
{
    size_t slot = below(workload, QUEUES);
    uint64_t what = below(workload, 1000);
    struct qn_row row;

    qn_buf_clear(&workload->entry);
    if (workload->numbers[slot] == 0) {
        workload->numbers[slot] = workload->next_queue++;
        add_queue(workload, slot);
    } else if (what < 3) {
        add_queue_change(workload, slot);
    } else if (what < 100) {
        add_other(workload, slot);
    } else if (what < 450 || !pick_message(workload, &row)) {
        for (uint64_t i = 0; i < 1 + below(workload, 3); i++) {
            add_send(workload, slot);
        }
    } else if (what < 650) {
        add_receive(workload, row);
    } else if (what < 700) {
        add_move(workload, row, slot);
    } else {
        add_delete(workload, row);
    }
    row_set_apply(&workload->expected, qn_buf_str(&workload->entry));
    return qn_buf_str(&workload->entry);
}
