/* What went wrong with a call, and what may be done about it. */
#ifndef QUERN_ERROR_H
#define QUERN_ERROR_H

#include <stdbool.h>

enum { QUERN_CODE_MAX = 128, QUERN_MESSAGE_MAX = 1536, QUERN_REQUEST_ID_MAX = 64 };

/* Filled by a function that returned false, untouched by one that returned true. Holds no pointers:
 * it may be copied and needs no freeing.
 *
 * Codes of the library's own, beside those of the service ("QueueDoesNotExist"):
 *   ConnectionError     nobody answered, or the connection ended before the answer
 *   Timeout             no whole answer within the time limit
 *   Cancelled           quern_client_cancel or quern_client_cancel_receives ended the call
 *   UnreadableAnswer    an answer that is not what the service sends
 *   ChecksumMismatch    an MD5 of the answer is not that of what was sent or received
 *   InvalidText         a text given is not UTF-8, or is missing; nothing was sent
 *   InvalidConfiguration  options, environment or profile cannot be used; nothing was sent */
struct quern_error {
    char code[QUERN_CODE_MAX];             /* shape of the service's error, without its namespace */
    char message[QUERN_MESSAGE_MAX];       /* for people */
    char request_id[QUERN_REQUEST_ID_MAX]; /* what AWS support asks for; "" when nobody answered */
    int http_status;                       /* 0 when nobody answered */
    int attempts;                          /* how many were made */

    /* Whether the same call may succeed later: a fault of the network or of the server, or
     * throttling. The library has already repeated it as often as it may. */
    bool is_retryable;

    /* Whether the call may have had its effect all the same: a request left and its answer was
     * lost, unreadable or that of a server in trouble, in any of the attempts. Before the same
     * thing is sent again, it must be safe to be done twice. Source: consumers are to be
     * idempotent, SQS developer guide, "At-least-once delivery". */
    bool is_unknown;
};

#endif
