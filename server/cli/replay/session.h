/* A recording (chaos/README.md has its form), read and checked as a whole before anything is sent.
 * Its lines stay in the file; in memory is where they stand, and who gave what to whom. */
#ifndef QN_CLI_REPLAY_SESSION_H
#define QN_CLI_REPLAY_SESSION_H

#include <jansson.h>

#include "server/base/error.h"
#include "server/base/map.h"

#define QN_SESSION_NONE UINT32_MAX

enum qn_session_kind {
    QN_SESSION_QUEUE,
    QN_SESSION_REQUEST,
    QN_SESSION_ANSWER,
    QN_SESSION_CLOCK /* moved by hand */
};

/* One line of those that matter, in their order. */
struct qn_session_item {
    enum qn_session_kind kind;
    uint32_t request; /* of a request or an answer */
    int64_t at_ms;    /* since the beginning; never less than that of the item before */
    int64_t vt_ms;    /* by the server's clock */
    int64_t offset;   /* of the line in the file */
    int64_t line;     /* its number */
    uint32_t len;
};

struct qn_session_request {
    int64_t n;       /* its number in the recording */
    uint32_t item;   /* its line */
    uint32_t answer; /* the item of its answer, or NONE */
    uint32_t connection;
    uint32_t next; /* the next request of the connection, or NONE */
};

struct qn_session_connection {
    uint32_t first; /* request */
    uint32_t last;
};

/* A text that an answer gave, and that a later request says again, or a later answer. */
struct qn_reference {
    struct qn_map_node node;
    uint64_t hash;  /* of the text, which stands for it */
    uint32_t giver; /* the first request whose answer had it */
    uint32_t uses;
    char *replayed; /* what its counterpart was given, or NULL */
};

struct qn_session {
    int fd; /* borrowed */
    struct qn_session_item *items;
    size_t item_count;
    struct qn_session_request *requests;
    size_t request_count;
    struct qn_session_connection *connections;
    size_t connection_count;
    struct qn_map references; /* those that are used */
    int64_t begin_vt_ms;      /* of the server's clock at the first start */
    size_t starts;            /* of the server */
    bool was_cut;             /* a last line was left out */
};

/* Fails with one line that names file, line and byte. A last line that is cut off is a reason to
 * fail, unless cut_ok says to leave it out. */
QN_MUST_CHECK bool qn_session_read(int fd, const char *name, bool cut_ok,
                                   struct qn_session *ret_session, struct qn_error *err);
void qn_session_done(struct qn_session *session);
/* The object of an item's line; NULL when the file has changed meanwhile. The caller owns it. */
json_t *qn_session_load(const struct qn_session *session, uint32_t item);

/* NULL: no answer of the recording gave it. */
struct qn_reference *qn_session_reference(const struct qn_session *session, struct qn_str text);

/* Calls visit for each text in the value that is the name of something an answer gives: a queue
 * URL, a receipt handle, a task handle, a token, a message id. */
void qn_session_each_reference(const json_t *value,
                               void (*visit)(void *state, const char *member, struct qn_str text),
                               void *state);

#endif
