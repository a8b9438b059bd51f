/* Columns of text for people. */
#include "server/cli/remote.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { GAP = 2 };

void qn_columns_done(struct qn_columns *table)
{
    for (size_t i = 0; i < table->count; i++) {
        qn_memory_free(table->cells[i]);
    }
    qn_memory_free(table->cells);
    *table = (struct qn_columns){0};
}

static char clean(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7F ? ' ' : c;
}

void qn_columns_print_clean(const char *text)
{
    for (; *text != '\0'; text++) {
        (void)putchar(clean(*text));
    }
}

void qn_columns_add(struct qn_columns *table, const char *text)
{
    char *cell = qn_memory_copy_text(text == NULL ? "" : text, text == NULL ? 0 : strlen(text));

    for (char *at = cell; *at != '\0'; at++) {
        *at = clean(*at);
    }
    table->cells = qn_memory_resize(table->cells, table->count + 1, sizeof(*table->cells));
    table->cells[table->count++] = cell;
}

void qn_columns_begin(struct qn_columns *table, const char *const *head, size_t columns)
{
    *table = (struct qn_columns){.columns = columns};
    for (size_t i = 0; head != NULL && i < columns; i++) {
        qn_columns_add(table, head[i]);
    }
}

void qn_columns_add_integer(struct qn_columns *table, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    qn_columns_add(table, text);
}

/* Characters, which on most terminals are columns. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return width;
}

static size_t column_width(const struct qn_columns *table, size_t column)
{
    size_t width = table->least == NULL ? 0 : table->least[column];

    for (size_t i = column; i < table->count; i += table->columns) {
        size_t cell = width_of(table->cells[i]);
        width = cell > width ? cell : width;
    }
    return width;
}

void qn_columns_print(const struct qn_columns *table)
{
    assert(table->columns > 0);
    size_t *widths = qn_memory_new_array(table->columns, sizeof(widths[0]));

    for (size_t i = 0; i < table->columns; i++) {
        widths[i] = column_width(table, i);
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        bool is_last = column == table->columns - 1;
        (void)fputs(table->cells[i], stdout);
        for (size_t j = width_of(table->cells[i]); !is_last && j < widths[column] + GAP; j++) {
            (void)putchar(' ');
        }
        if (is_last) {
            (void)putchar('\n');
        }
    }
    qn_memory_free(widths);
}
