#include "server/model/entry.h"

#include <criterion/criterion.h>

static struct qn_buf entry;

static void init(void)
{
    qn_buf_init(&entry, 1 << 20);
}

static void done(void)
{
    qn_buf_done(&entry);
}

TestSuite(entry, .init = init, .fini = done);

/* A row with every byte of its numbers in use. */
static struct qn_row full_row(enum qn_row_kind kind)
{
    struct qn_row row;
    memset(&row, 0, sizeof(row));
    row.kind = kind;
    row.key = INT64_C(0x1122334455667788);
    row.content_id = -2;
    row.queue_number = 0xfffffffe;
    row.content = QN_STR("the content");
    switch (kind) {
    case QN_ROW_QUEUE_PUT:
        row.queue = (struct qn_queue_row){0xfffffffd,  0xfffffffc,  QN_STR("1"), QN_STR(""),
                                          QN_STR("n"), QN_STR_NONE, INT64_MAX};
        break;
    case QN_ROW_MESSAGE_INSERT:
    case QN_ROW_MESSAGE_PUT:
    case QN_ROW_MESSAGE_MOVE:
        row.message = (struct qn_message_row){
            .key = INT64_MIN,
            .content_id = INT64_MAX,
            .generation = UINT32_MAX,
            .state = 255,
            .id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
            .enqueued_at_ms = 1,
            .hidden_until_ms = 2,
            .first_received_at_ms = -1,
            .received_at_ms = 4,
            .arrived_at_ms = 5,
            .receive_count = 6,
            .total_count = 7,
            .receive_number = 8,
            .service_stamp = 9,
            .content_size = 10,
            .group_id = QN_STR("group"),
            .source_arn = QN_STR_NONE,
        };
        break;
    case QN_ROW_DEDUPLICATION_PUT:
        row.deduplication =
            (struct qn_deduplication_row){1, 2, 3, QN_STR("id"), {[0] = 4, [15] = 5}, 6};
        break;
    case QN_ROW_ATTEMPT_PUT:
        row.attempt = (struct qn_attempt_row){1, 2, 3, QN_STR("id"), QN_STR("messages")};
        break;
    case QN_ROW_TASK_PUT:
    case QN_ROW_TASK_DROP:
        row.task = (struct qn_task_row){{[0] = 1, [15] = 2}, 3, QN_STR("task")};
        break;
    case QN_ROW_NAME_PUT:
    case QN_ROW_NAME_DROP:
        row.name = (struct qn_name_row){QN_STR("name"), 7};
        break;
    default:
        break;
    }
    return row;
}

Test(entry, each_kind_of_row_reads_as_it_was_written)
{
    for (int kind = QN_ROW_QUEUE_PUT; kind <= QN_ROW_NAME_DROP; kind++) {
        struct qn_row row = full_row((enum qn_row_kind)kind);
        struct qn_row back;
        struct qn_reader reader;
        struct qn_buf again;

        qn_buf_clear(&entry);
        qn_entry_append(&entry, &row);
        qn_reader_init(&reader, qn_buf_str(&entry));
        cr_assert(qn_entry_next(&reader, &back), "kind %d", kind);
        cr_expect_eq(back.kind, row.kind);
        cr_expect_not(qn_entry_next(&reader, &back));
        cr_expect_not(reader.failed, "the end is no damage");

        qn_buf_init(&again, 1 << 20);
        qn_entry_append(&again, &back);
        cr_expect(qn_str_equal(qn_buf_str(&entry), qn_buf_str(&again)), "kind %d", kind);
        qn_buf_done(&again);
    }
}

Test(entry, the_fields_of_a_message_come_back)
{
    struct qn_row row = full_row(QN_ROW_MESSAGE_INSERT);
    struct qn_row back;
    struct qn_reader reader;
    qn_entry_append(&entry, &row);
    qn_reader_init(&reader, qn_buf_str(&entry));
    cr_assert(qn_entry_next(&reader, &back));
    cr_expect_eq(back.message.key, INT64_MIN);
    cr_expect_eq(back.message.content_id, INT64_MAX);
    cr_expect_eq(back.message.generation, UINT32_MAX);
    cr_expect_eq(back.message.state, 255);
    cr_expect_arr_eq(back.message.id, row.message.id, 16);
    cr_expect_eq(back.message.enqueued_at_ms, 1);
    cr_expect_eq(back.message.hidden_until_ms, 2);
    cr_expect_eq(back.message.first_received_at_ms, -1);
    cr_expect_eq(back.message.received_at_ms, 4);
    cr_expect_eq(back.message.arrived_at_ms, 5);
    cr_expect_eq(back.message.receive_count, 6);
    cr_expect_eq(back.message.total_count, 7);
    cr_expect_eq(back.message.receive_number, 8);
    cr_expect_eq(back.message.service_stamp, 9);
    cr_expect_eq(back.message.content_size, 10);
    cr_expect(qn_str_equal(back.message.group_id, QN_STR("group")));
    cr_expect(qn_str_is_none(back.message.source_arn));
    cr_expect(qn_str_equal(back.content, QN_STR("the content")));
}

Test(entry, an_empty_text_is_not_an_absent_one)
{
    struct qn_row row = full_row(QN_ROW_QUEUE_PUT);
    struct qn_row back;
    struct qn_reader reader;
    qn_entry_append(&entry, &row);
    qn_reader_init(&reader, qn_buf_str(&entry));
    cr_assert(qn_entry_next(&reader, &back));
    cr_expect_not(qn_str_is_none(back.queue.region));
    cr_expect_eq(back.queue.region.len, 0);
    cr_expect(qn_str_is_none(back.queue.settings));
}

Test(entry, rows_follow_each_other)
{
    struct qn_row back;
    struct qn_reader reader;
    int count = 0;
    for (int kind = QN_ROW_QUEUE_PUT; kind <= QN_ROW_NAME_DROP; kind++) {
        struct qn_row row = full_row((enum qn_row_kind)kind);
        qn_entry_append(&entry, &row);
    }
    qn_reader_init(&reader, qn_buf_str(&entry));
    while (qn_entry_next(&reader, &back)) {
        count++;
        cr_expect_eq((int)back.kind, count);
    }
    cr_expect_eq(count, QN_ROW_NAME_DROP);
    cr_expect_not(reader.failed);
}

Test(entry, a_row_cut_anywhere_is_damage)
{
    for (int kind = QN_ROW_QUEUE_PUT; kind <= QN_ROW_NAME_DROP; kind++) {
        struct qn_row row = full_row((enum qn_row_kind)kind);
        qn_buf_clear(&entry);
        qn_entry_append(&entry, &row);
        for (size_t len = 1; len < entry.len; len++) {
            struct qn_row back = {.kind = QN_ROW_NAME_DROP, .key = 5};
            struct qn_reader reader;
            qn_reader_init(&reader, qn_str(entry.ptr, len));
            cr_expect_not(qn_entry_next(&reader, &back), "kind %d cut at %zu", kind, len);
            cr_expect(reader.failed);
            cr_expect_eq(back.key, 5, "untouched");
        }
    }
}

Test(entry, an_unknown_kind_is_damage)
{
    for (int kind = 0; kind < 256; kind++) {
        struct qn_row back;
        struct qn_reader reader;
        char bytes[400] = {(char)kind};
        qn_reader_init(&reader, qn_str(bytes, sizeof(bytes)));
        bool is_known = kind >= QN_ROW_QUEUE_PUT && kind <= QN_ROW_NAME_DROP;
        cr_expect_eq(qn_entry_next(&reader, &back), is_known, "kind %d", kind);
    }
}
