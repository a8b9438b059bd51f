/* --key-map: effects under keys of their own, such as sums over many messages, and the messages
 * that are in them. */
#include <stdio.h>

#include "chaos/check/files.h"
#include "chaos/check/running.h"

enum { TOLD_MAX = 60 };

static bool is_work(const struct qn_check_event *event)
{
    return event->kind >= QN_CHECK_WORK_BEGIN && event->kind <= QN_CHECK_WORK_ABORT;
}

/* Lists the keys that no message has, a line each. */
static bool write_keys(const struct qn_running *run, const char *path, size_t *ret_count,
                       struct qn_error *err)
{
    FILE *file = fopen(path, "we");
    struct qn_table seen;

    if (file == NULL) {
        return qn_fail(err, QN_ERR_INTERNAL, "%s cannot be written", path);
    }
    qn_table_init(&seen, 1);
    for (size_t i = 0; i < run->history.count; i++) {
        const struct qn_check_event *event = &run->history.events[i];
        if (is_work(event) && !qn_str_is_none(event->k) &&
            qn_load_find(&run->load, event->k) == NULL && qn_table_find(&seen, event->k) == NULL) {
            (void)qn_table_at(&seen, event->k);
            (void)fprintf(file, "%.*s\n", QN_STR_ARG(event->k));
        }
    }
    *ret_count = seen.count;
    qn_table_done(&seen);
    return fclose(file) == 0 || qn_fail(err, QN_ERR_INTERNAL, "%s cannot be written", path);
}

static bool take_line(struct qn_running *run, struct qn_str line, size_t number,
                      struct qn_table *map, struct qn_error *err)
{
    struct qn_str message_key;
    struct qn_str key = qn_str_cut(line, '\t', &message_key);

    message_key = qn_str_trim(message_key);
    if (key.len == 0 || message_key.len == 0) {
        return qn_fail(err, QN_ERR_INTERNAL,
                       "--key-map, line %zu: the key of an effect, a tab and the key of a message "
                       "are expected, not \"%.*s\"",
                       number, (int)qn_str_first(line, TOLD_MAX).len, line.ptr);
    }
    const struct qn_load_message *message = qn_load_find(&run->load, message_key);
    if (message == NULL) {
        return qn_fail(err, QN_ERR_INTERNAL, "--key-map, line %zu: no message has the key %.*s",
                       number, (int)qn_str_first(message_key, TOLD_MAX).len, message_key.ptr);
    }
    struct qn_history_keys *keys = qn_table_at(map, key);
    keys->items = qn_memory_resize(keys->items, keys->count + 1, sizeof(*keys->items));
    keys->items[keys->count++] = message->k;
    return true;
}

static bool take_lines(struct qn_running *run, struct qn_str text, struct qn_table *map,
                       struct qn_error *err)
{
    size_t number = 0;
    bool ok = true;

    while (ok && text.len > 0) {
        struct qn_str line = qn_str_cut(text, '\n', &text);
        number++;
        ok = line.len == 0 || take_line(run, line, number, map, err);
    }
    return ok;
}

bool qn_running_map_keys(struct qn_running *run, struct qn_error *err)
{
    const char *input = qn_arena_format(&run->arena, "%s/keys.txt", run->directory).ptr;
    const char *output = qn_arena_format(&run->arena, "%s/key-map.txt", run->directory).ptr;
    const struct qn_user_command command = {
        .option = "--key-map", .text = run->options->key_map, .input = input, .output = output};
    struct qn_table map;
    struct qn_buf text;
    size_t count = 0;

    if (command.text == NULL) {
        return true;
    }
    qn_table_init(&map, sizeof(struct qn_history_keys));
    qn_buf_init(&text, SIZE_MAX / 2);
    bool ok = write_keys(run, input, &count, err);
    if (ok && count > 0) {
        ok = qn_running_run_command(run, &command, err) && qn_files_read(output, &text, err) &&
             take_lines(run, qn_buf_str(&text), &map, err);
    }
    if (ok) {
        qn_history_map_keys(&run->history, &map);
        run->watch.read_count = run->history.count; /* its events have other places now */
    }
    for (struct qn_table_item *item = map.first; item != NULL; item = item->next) {
        qn_memory_free(((struct qn_history_keys *)item->value)->items);
    }
    qn_buf_done(&text);
    qn_table_done(&map);
    return ok;
}
