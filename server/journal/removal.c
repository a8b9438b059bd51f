/* Sorts what goes and removes it run by run. */
#include "server/journal/removal.h"

#include <stdlib.h>

#include "server/base/memory.h"

enum { CAP_MIN = 256 };

void qn_removal_init(struct qn_removal *removal)
{
    *removal = (struct qn_removal){.messages = {NULL, 0, 0}};
}

void qn_removal_done(struct qn_removal *removal)
{
    qn_memory_free(removal->messages.keys);
    qn_memory_free(removal->contents.keys);
    qn_removal_init(removal);
}

void qn_removal_clear(struct qn_removal *removal)
{
    removal->messages.count = 0;
    removal->contents.count = 0;
}

static void add(struct qn_key_list *list, int64_t key)
{
    if (list->count == list->cap) {
        list->cap = list->cap == 0 ? CAP_MIN : list->cap * 2;
        list->keys = qn_memory_resize(list->keys, list->cap, sizeof(*list->keys));
    }
    list->keys[list->count++] = key;
}

void qn_removal_add_message(struct qn_removal *removal, int64_t key)
{
    add(&removal->messages, key);
}

void qn_removal_add_content(struct qn_removal *removal, int64_t content_id)
{
    add(&removal->contents, content_id);
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int remove_runs(struct qn_key_list *list, struct qn_store *store, enum qn_sql sql)
{
    sqlite3_stmt *statement = store->statements[sql];
    int rc = SQLITE_OK;

    if (list->count > 1) {
        qsort(list->keys, list->count, sizeof(*list->keys), compare);
    }
    for (size_t first = 0; rc == SQLITE_OK && first < list->count;) {
        size_t next = first + 1;
        while (next < list->count && list->keys[next - 1] < list->keys[next] &&
               list->keys[next - 1] == list->keys[next] - 1) {
            next++;
        }
        sqlite3_bind_int64(statement, 1, list->keys[first]);
        sqlite3_bind_int64(statement, 2, list->keys[next - 1]);
        rc = qn_store_run(store, sql);
        first = next;
    }
    return rc;
}

int qn_removal_apply(struct qn_removal *removal, struct qn_store *store)
{
    int rc = remove_runs(&removal->messages, store, QN_SQL_message_delete);
    return rc == SQLITE_OK ? remove_runs(&removal->contents, store, QN_SQL_content_delete) : rc;
}
