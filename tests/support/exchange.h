/* A request as HTTP brings it to the answer that HTTP takes away: protocol choice, decode, check,
 * look, execute, encode, as the loop does it, without a socket. */
#ifndef QN_TESTS_EXCHANGE_H
#define QN_TESTS_EXCHANGE_H

#include "tests/support/fixture.h"

struct exchange {
    enum qn_protocol protocol;
    const struct qn_action *action; /* NULL: not known */
    enum qn_error_code code;        /* NONE: success */
    bool is_parked;                 /* a poll that waits in the fixture; there is no answer */
    bool has_changed;               /* it left an entry */
};

/* The answer's body is appended to ret_answer. `http` is copied into f->request, byte for byte. */
struct exchange exchange(struct fixture *f, const struct qn_http_request *http,
                         struct qn_buf *ret_answer);

#endif
