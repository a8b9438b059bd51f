/* The codec of the API: C structs to JSON and back, by tables of fields. */
#ifndef QUERN_CODEC_H
#define QUERN_CODEC_H

#include <jansson.h>

#include "client/quern.h"
#include "server/base/arena.h"

enum quern_kind {
    QUERN_TEXT,       /* const char *; NULL: absent */
    QUERN_SIZED_TEXT, /* const char *, its length at `count` */
    QUERN_BLOB,       /* const void *, its length at `count`; base64 on the wire */
    QUERN_NUMBER,     /* int64_t; below 0: absent */
    QUERN_BOOLEAN,    /* bool */
    QUERN_TEXTS,      /* const char *const *, how many at `count`; none: absent */
    QUERN_ITEMS,      /* array of structs, how many at `count`; none: absent */
    QUERN_PAIRS,      /* struct quern_pairs; an object on the wire; none: absent */
    QUERN_NAMED_ITEMS /* array of structs whose first member is their name; an object on the wire */
};

struct quern_shape;

struct quern_field {
    const char *name; /* of the member on the wire */
    enum quern_kind kind;
    bool is_required; /* of answers: left out, the answer is unreadable */
    size_t offset;
    size_t count;                   /* offset of the length or number */
    const struct quern_shape *item; /* of items */
};

struct quern_shape {
    size_t size;
    const struct quern_field *fields;
    size_t field_count;
};

#define QUERN_SHAPE(type, list)                                                                    \
    {                                                                                              \
        sizeof(type), list, sizeof(list) / sizeof((list)[0])                                       \
    }

/* What the struct says, as the wire has it; NULL when a text in it is not UTF-8 (err names it). */
json_t *quern_codec_write(const struct quern_shape *shape, const void *input,
                          struct quern_error *err);

/* Fills the struct, all of it; what it points to is in the arena. Members that the shape does not
 * name are passed over, those that are null count as absent. False when a member is of another kind
 * than the shape says. */
bool quern_codec_read(const struct quern_shape *shape, const json_t *value, void *ret_output,
                      struct qn_arena *arena, struct quern_error *err);

/* A zeroed result with an arena of its own, which goes with it: for quern_answer_free. */
void *quern_answer_new(size_t size);
struct qn_arena *quern_answer_arena(void *result);

#endif
