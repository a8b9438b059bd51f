/* The files of the AWS tools, ~/.aws/config and ~/.aws/credentials.
 * Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files", the format. */
#ifndef QUERN_INI_H
#define QUERN_INI_H

#include "client/quern_error.h"
#include "server/base/arena.h"

struct quern_ini_entry {
    struct qn_str section; /* as it is written between the brackets, without quotes */
    struct qn_str key;     /* in small letters; "sqs.endpoint_url" for one nested below "sqs" */
    struct qn_str value;
};

struct quern_ini {
    struct qn_arena arena;
    struct quern_ini_entry *entries;
    size_t count;
    size_t room;
};

void quern_ini_init(struct quern_ini *ini);
void quern_ini_done(struct quern_ini *ini);

/* Adds what the text says. False: err tells the file's name and the line. A section without entries
 * is kept as an entry with an empty key. */
bool quern_ini_read(struct quern_ini *ini, const char *file, struct qn_str text,
                    struct quern_error *err);

bool quern_ini_has_section(const struct quern_ini *ini, struct qn_str section);
/* The last one given of that name; NULL: none. */
const char *quern_ini_get(const struct quern_ini *ini, struct qn_str section, const char *key);

#endif
