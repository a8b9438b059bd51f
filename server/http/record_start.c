/* The lines of a recording that are written seldom: how the server was started, the queues that
 * were there, the rules when they change. */
#include "server/http/record.h"

#include "server/http/internal.h"

static int append_piece(const char *text, size_t len, void *state)
{
    qn_buf_append(state, text, len);
    return 0;
}

static void append_document(struct qn_loop *loop, json_t *document_take)
{
    struct qn_buf *buf = qn_record_lines(loop->record);

    (void)json_dump_callback(document_take, append_piece, buf, JSON_COMPACT);
    qn_buf_append_char(buf, '\n');
    json_decref(document_take);
    qn_record_flush_much(loop->record);
}

/* Options by which answers differ. */
static json_t *options_that_matter(const struct qn_loop *loop)
{
    static const char *const names[] = {"account", "region",       "public-url", "auto-create",
                                        "limit",   "stale-delete", "aws-waits",  "max-memory"};
    json_t *options = json_object();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *value = json_object_get(loop->options.shown, names[i]);
        if (value != NULL) {
            json_object_set(options, names[i], value);
        }
    }
    return options;
}

static json_t *rule_texts(const struct qn_loop *loop)
{
    json_t *rules = qn_plan_list(loop->parts.plan);
    json_t *texts = json_array();
    size_t i;
    const json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        json_array_append(texts, json_object_get(rule, "text"));
    }
    json_decref(rules);
    return texts;
}

static void write_start(struct qn_loop *loop)
{
    /* A seed has 64 bits, more than a number of JSON's readers holds. */
    append_document(loop,
                    json_pack("{s:s, s:s, s:s, s:o, s:I, s:s, s:b, s:I, s:I, s:o, s:o}", "kind",
                              "start", "format", QN_RECORD_FORMAT, "version", QN_VERSION, "seed",
                              json_sprintf("%llu", (unsigned long long)loop->options.seed), "boot",
                              (json_int_t)loop->options.boot, "clock",
                              qn_clock_is_virtual(loop->parts.clock) ? "virtual" : "real", "db",
                              loop->parts.journal != NULL, "vt", (json_int_t)loop->now_ms, "wt",
                              (json_int_t)loop->wall_ms, "options", options_that_matter(loop),
                              "rules", rule_texts(loop)));
}

static json_t *text_of(struct qn_str text)
{
    return json_stringn(text.ptr, text.len);
}

/* The attributes that were set to another value than a new queue has. */
static json_t *attributes_of(const struct qn_loop *loop, const struct qn_queue *queue)
{
    struct qn_queue_settings fresh;
    struct qn_buf value;
    struct qn_buf usual;
    json_t *attributes = json_object();

    qn_queue_settings_init(&fresh, false, &qn_engine_options_of(loop->parts.engine)->limits);
    qn_buf_init(&value, SIZE_MAX / 2);
    qn_buf_init(&usual, SIZE_MAX / 2);
    for (size_t i = 0; i < QN_ATTRIBUTE_ID_COUNT; i++) {
        enum qn_attribute_id id = (enum qn_attribute_id)i;
        qn_buf_clear(&value);
        qn_buf_clear(&usual);
        if (qn_attribute_info(id)->kind != QN_ATTRIBUTE_READ_ONLY &&
            qn_queue_settings_get(qn_queue_settings_of(queue), id, &value) &&
            (!qn_queue_settings_get(&fresh, id, &usual) ||
             !qn_str_equal(qn_buf_str(&value), qn_buf_str(&usual)))) {
            json_object_set_new(attributes, qn_attribute_info(id)->name,
                                text_of(qn_buf_str(&value)));
        }
    }
    qn_buf_done(&value);
    qn_buf_done(&usual);
    qn_queue_settings_done(&fresh);
    return attributes;
}

static json_t *tags_of(const struct qn_queue *queue)
{
    const struct qn_queue_settings *settings = qn_queue_settings_of(queue);
    json_t *tags = json_object();

    for (size_t i = 0; i < settings->tag_count; i++) {
        const struct qn_pair *tag = &settings->tags[i];
        json_object_setn_new(tags, tag->key.ptr, tag->key.len, text_of(tag->value));
    }
    return tags;
}

void qn_loop_record(struct qn_loop *loop, struct qn_record *record)
{
    struct qn_queue *queue;

    loop->record = record;
    loop->recording_since_ms = qn_clock_monotonic_ms();
    write_start(loop);
    for (size_t i = 0; (queue = qn_engine_queue_at(loop->parts.engine, i)) != NULL; i++) {
        append_document(loop, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", "queue", "name",
                                        text_of(qn_queue_name(queue)), "account",
                                        text_of(qn_queue_account(queue)), "region",
                                        text_of(qn_queue_region(queue)), "attributes",
                                        attributes_of(loop, queue), "tags", tags_of(queue)));
    }
    qn_record_flush(record);
}

void qn_record_rules(struct qn_loop *loop)
{
    int64_t at_ms = qn_clock_monotonic_ms() - loop->recording_since_ms;

    append_document(loop,
                    json_pack("{s:s, s:I, s:I, s:o}", "kind", "rules", "at", (json_int_t)at_ms,
                              "vt", (json_int_t)loop->now_ms, "rules", rule_texts(loop)));
}
