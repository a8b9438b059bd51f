/* A pull reader for JSON with full validation: escapes and surrogate pairs, UTF-8, numbers, depth.
 * The caller knows the shape and asks for it piece by piece; no tree is built. Strings without
 * escapes are views into the text. */
#ifndef QN_BASE_JSON_H
#define QN_BASE_JSON_H

#include "server/base/arena.h"

enum { QN_JSON_DEPTH_MAX = 64 };

enum qn_json_type {
    QN_JSON_END, /* malformed text, or nothing left */
    QN_JSON_OBJECT,
    QN_JSON_ARRAY,
    QN_JSON_STRING,
    QN_JSON_NUMBER,
    QN_JSON_BOOLEAN,
    QN_JSON_NULL
};

struct qn_json {
    const char *start;
    const char *at;
    const char *end;
    struct qn_arena *arena; /* for strings with escapes */
    int depth;
    bool failed;         /* sticky: every later call answers as at the end */
    bool out_of_memory;  /* the arena's ceiling was the reason */
    bool lone_surrogate; /* half of a surrogate pair in a string was the reason */
};

/* The text must stay where it is for as long as the strings are used. */
void qn_json_init(struct qn_json *json, struct qn_str text, struct qn_arena *arena);

/* What comes next, without taking it. */
enum qn_json_type qn_json_peek(struct qn_json *json);

/* Enters an object. Then: while (qn_json_next_member(json, &name)) { take exactly one value }. A
 * wrong type fails. */
bool qn_json_open_object(struct qn_json *json);
bool qn_json_next_member(struct qn_json *json, struct qn_str *ret_name);
/* Enters an array. Then: while (qn_json_next_element(json)) { take exactly one value }. */
bool qn_json_open_array(struct qn_json *json);
bool qn_json_next_element(struct qn_json *json);

/* Take one value of this type or fail. A U+0000 in a string is accepted; a lone surrogate is not.
 */
bool qn_json_string(struct qn_json *json, struct qn_str *ret_text);
/* An integer without fraction or exponent that fits 64 bits; anything else fails. */
bool qn_json_int64(struct qn_json *json, int64_t *ret_value);
bool qn_json_boolean(struct qn_json *json, bool *ret_value);
bool qn_json_null(struct qn_json *json);
/* Takes and checks any value. */
bool qn_json_skip(struct qn_json *json);
/* Nothing but blanks may follow. */
bool qn_json_finish(struct qn_json *json);

#endif
