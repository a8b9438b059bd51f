/* The legal word that somebody probably meant. */
#include "chaos/lex.h"

enum { LENGTH_MAX = 64 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours between two words. */
static size_t slips(struct qn_str a, struct qn_str b)
{
    size_t rows[3][LENGTH_MAX + 1];
    size_t *before = rows[0];
    size_t *above = rows[1];
    size_t *row = rows[2];

    for (size_t j = 0; j <= b.len; j++) {
        above[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            bool same = lower(a.ptr[i - 1]) == lower(b.ptr[j - 1]);
            row[j] = least(above[j - 1] + !same, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a.ptr[i - 1]) == lower(b.ptr[j - 2]) &&
                lower(a.ptr[i - 2]) == lower(b.ptr[j - 1])) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[b.len];
}

size_t qn_word_slips(struct qn_str a, struct qn_str b)
{
    return a.len > LENGTH_MAX || b.len > LENGTH_MAX ? SIZE_MAX : slips(a, b);
}

const char *qn_nearest_word(struct qn_str word, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t fewest = (word.len + 2) / 3 + 1; /* a third of the word may be wrong */

    if (word.len == 0 || word.len > LENGTH_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        struct qn_str candidate = qn_str_from_cstr(words[i]);
        if (candidate.len > LENGTH_MAX) {
            continue;
        }
        size_t distance = slips(word, candidate);
        if (distance < fewest && distance < candidate.len) {
            fewest = distance;
            nearest = words[i];
        }
    }
    /* Somebody who wrote the beginning of a word meant that word. */
    for (size_t i = 0; nearest == NULL && word.len >= 3 && i < count; i++) {
        if (qn_str_starts_with_nocase(qn_str_from_cstr(words[i]), word)) {
            nearest = words[i];
        }
    }
    return nearest;
}
