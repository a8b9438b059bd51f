/* Character classes beyond ASCII come from the C library's own table (the locale C.UTF-8 is part of
 * it). */
#include "server/actions/letters.h"

#include <locale.h>
#include <wctype.h>

static bool is_ascii_word(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_beyond_ascii(uint32_t c, bool blanks, locale_t *locale)
{
    if (*locale == (locale_t)0) {
        *locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
        if (*locale == (locale_t)0) {
            return true; /* without the table nothing can be held against the character */
        }
    }
    return iswalnum_l((wint_t)c, *locale) != 0 || (blanks && iswspace_l((wint_t)c, *locale) != 0);
}

bool qn_is_letters(struct qn_str text, const char *others, bool blanks)
{
    locale_t locale = (locale_t)0;
    bool all = true;

    for (size_t at = 0; at < text.len && all;) {
        uint32_t c = qn_str_next_code_point(text, &at);
        if (c < 0x80) {
            all = is_ascii_word(c) || (c != 0 && strchr(others, (int)c) != NULL) ||
                  (blanks && (c == ' ' || (c >= '\t' && c <= '\r')));
        } else {
            all = is_beyond_ascii(c, blanks, &locale);
        }
    }
    if (locale != (locale_t)0) {
        freelocale(locale);
    }
    return all;
}
