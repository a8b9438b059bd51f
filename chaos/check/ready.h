/* --ready-log and --ready-url: consumers that say themselves when they are ready to work. */
#ifndef QN_CHECK_READY_H
#define QN_CHECK_READY_H

#include "server/base/error.h"
#include "server/base/str.h"

/* "http://HOST[:PORT]/PATH" in parts. */
struct qn_ready_url {
    char host[128];
    char port[8];
    char path[512];
};

/* Whether the pattern is an extended regular expression; the reason if not. */
QN_MUST_CHECK bool qn_ready_check_pattern(const char *pattern, struct qn_error *err);
/* Whether the line fits a pattern that was checked. */
bool qn_ready_line_fits(const char *pattern, struct qn_str line);
QN_MUST_CHECK bool qn_ready_read_url(const char *text, struct qn_ready_url *ret_url,
                                     struct qn_error *err);

/* A question to the URL that waits for nothing. Zeroed at first. */
struct qn_ready_probe {
    int fd; /* 0: none is open */
    int64_t end_ms;
    int64_t next_ms;
    bool is_asked;
};

/* Goes on with the question as far as it can at once, or begins one when it is time. True: the
 * answer was 200 to 299. Closes what it opened when it is over. */
bool qn_ready_probe(struct qn_ready_probe *probe, const struct qn_ready_url *url, int64_t now_ms);
/* Accepts one that is not open. */
void qn_ready_close(struct qn_ready_probe *probe);

#endif
