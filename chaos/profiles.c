/* Ready-made rules by name. */
#include "chaos/profiles.h"

#include "chaos/lex.h"

enum { PROFILES_MAX = 64 };

const struct qn_embedded *qn_profiles_find(struct qn_str name)
{
    for (size_t i = 0; i < qn_embedded_profile_count; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(qn_embedded_profiles[i].name))) {
            return &qn_embedded_profiles[i];
        }
    }
    return NULL;
}

struct qn_str qn_profiles_text(const struct qn_embedded *profile)
{
    return qn_str(profile->data, profile->size);
}

struct qn_str qn_profiles_title(const struct qn_embedded *profile)
{
    struct qn_str rest;
    struct qn_str title;

    (void)qn_str_cut(qn_str_cut(qn_profiles_text(profile), '\n', &rest), ':', &title);
    return qn_str_trim(title);
}

void qn_profiles_suggest(struct qn_buf *buf, struct qn_str word)
{
    const char *names[PROFILES_MAX] = {NULL};
    size_t count =
        qn_embedded_profile_count < PROFILES_MAX ? qn_embedded_profile_count : PROFILES_MAX;

    for (size_t i = 0; i < count; i++) {
        names[i] = qn_embedded_profiles[i].name;
    }
    const char *nearest = qn_nearest_word(word, names, count);
    if (nearest != NULL) {
        qn_buf_append_format(buf, "; did you mean %s?", nearest);
    }
    qn_buf_append_format(buf, "%s profiles are ", nearest != NULL ? " The" : "; the");
    for (size_t i = 0; i < count; i++) {
        const char *gap = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        qn_buf_append_format(buf, "%s%s", gap, names[i]);
    }
}

bool qn_profiles_fail(const char *name, struct qn_error *err)
{
    struct qn_buf buf;

    qn_buf_init(&buf, QN_ERROR_MESSAGE_MAX);
    qn_profiles_suggest(&buf, qn_str_from_cstr(name));
    qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "there is no profile %s%.*s", name,
            QN_STR_ARG(qn_buf_str(&buf)));
    qn_buf_done(&buf);
    return false;
}
