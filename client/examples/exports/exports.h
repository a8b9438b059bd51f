/* Exports: a front end that accepts a request and answers at once, a queue, and workers that make
 * the file. main.c puts it together, front.c speaks HTTP, store.c keeps the requests, worker.c does
 * the work. Read README.md first. */
#ifndef QUERN_EXPORTS_H
#define QUERN_EXPORTS_H

#include <quern_inbox.h>
#include <sqlite3.h>

/* A claim that was not renewed for STALE_MS is that of a dead process. */
enum { CALL_TIMEOUT_MS = 30000, STALE_MS = 6000 };

enum { EXPORT_ID_MAX = 64, EXPORT_TEXT_MAX = 256 };

struct MHD_Daemon;

struct exports {
    struct quern_inbox *inbox;
    struct quern_client *client; /* of the front end and of the relay */
    sqlite3 *database;           /* of the front end */
    const char *queue_url;
    const char *dlq_url;          /* NULL: its depth is not shown, and nothing is replayed */
    const char *output_queue_url; /* who is told of finished exports; NULL: nobody */
    const char *files_url;        /* the service that makes files */
};

/* What the front end tells of one request. */
struct export_request {
    char id[EXPORT_ID_MAX];
    char state[EXPORT_TEXT_MAX]; /* ACCEPTED, RUNNING, SUCCEEDED or FAILED */
    char reason[EXPORT_TEXT_MAX];
    char file[EXPORT_TEXT_MAX];
};

/* ---- store ---- */

extern const char quern_exports_tables[];

enum export_accepted { EXPORT_ACCEPTED, EXPORT_OTHER_PARAMETERS, EXPORT_NO_STORE };

/* The request and the message about it, in one transaction; a key that is there already gives the
 * request that it made, and nothing is sent again. */
enum export_accepted quern_exports_accept(const struct exports *exports, const char *key,
                                          const json_t *parameters,
                                          struct export_request *ret_request);
bool quern_exports_find(const struct exports *exports, const char *id,
                        struct export_request *ret_request);
/* How many are in each state, and how long the oldest that is not finished has been waiting. */
json_t *quern_exports_summary(const struct exports *exports);
/* From the worker, in a transaction of the inbox or in one of its own. file and reason may be NULL.
 * What has succeeded stays so. */
bool quern_exports_note(sqlite3 *database, const char *id, const char *state, const char *file,
                        const char *reason);

/* ---- worker ---- */

/* Consumes until SIGTERM; the exit code of the program. */
int quern_exports_work(struct exports *exports);

/* ---- front end ---- */

/* On 127.0.0.1. NULL: it cannot. */
struct MHD_Daemon *quern_exports_serve(struct exports *exports, uint16_t port);

#endif
