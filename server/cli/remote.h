/* What the subcommands that speak to a running server share. */
#ifndef QN_CLI_REMOTE_H
#define QN_CLI_REMOTE_H

#include "client/quern.h"
#include "server/base/buf.h"
#include "server/cli/cli.h"
#include "server/cli/options.h"

/* The first rows of each table, in this order. */
#define QN_REMOTE_OPTIONS                                                                          \
    {"endpoint", "URL",        "AWS_ENDPOINT_URL or 127.0.0.1:QUERN_PORT",                         \
     NULL,       "the server", QN_OPTION_COMMON},                                                  \
        {"region", "REGION", NULL, NULL, "region of the queue", 0},                                \
    {                                                                                              \
        "json", NULL, NULL, NULL, "print JSON", 0                                                  \
    }
enum { QN_REMOTE_ENDPOINT, QN_REMOTE_REGION, QN_REMOTE_JSON, QN_REMOTE_COUNT };

struct qn_remote {
    const char *word;  /* "send" */
    const char *usage; /* "send QUEUE [BODY]" */
    struct qn_options options;
    const char *queue;        /* the word that was looked up last, or NULL: errors name it */
    char on_this_machine[64]; /* the endpoint, where none was given */
    struct quern_client *client;
};

/* Reads the options and connects nothing yet. False: *ret_code is the exit code, and it has been
 * said why. Words beyond `words_max` are a mistake, fewer than words_min too. */
QN_MUST_CHECK bool qn_remote_open(struct qn_remote *remote, const char *usage,
                                  const struct qn_option *table, size_t count, size_t words_min,
                                  size_t words_max, int argc, char **argv, int *ret_code);
/* The same for a word that asks no server; the table need not begin with the rows above. */
QN_MUST_CHECK bool qn_remote_read(struct qn_remote *remote, const char *usage,
                                  const struct qn_option *table, size_t count, size_t words_min,
                                  size_t words_max, int argc, char **argv, int *ret_code);
void qn_remote_close(struct qn_remote *remote);
/* The URL of a queue: a URL stands for itself, anything else is a name. Free with quern_text_free.
 */
QN_MUST_CHECK bool qn_remote_find_url(struct qn_remote *remote, const char *word, char **ret_url,
                                      struct quern_error *err);
/* The ARN of the queue of that URL. Free with qn_memory_free. */
QN_MUST_CHECK bool qn_remote_find_arn(struct qn_remote *remote, const char *url, char **ret_arn,
                                      struct quern_error *err);
/* Whether both URLs are of one queue, however they are spelled. False: the one or the other is not
 * there, and `remote` knows which; what else keeps the server from telling is no failure. */
QN_MUST_CHECK bool qn_remote_compare(struct qn_remote *remote, const char *url, const char *other,
                                     bool *ret_are_same, struct quern_error *err);
/* Whether the endpoint is one of Amazon's own. */
bool qn_remote_is_amazon(const struct qn_remote *remote);
/* What a Quern says of itself (GET info); NULL when the endpoint is something else, which answers
 * as well. The caller owns it. False: nobody is there. */
QN_MUST_CHECK bool qn_remote_ask_quern(struct qn_remote *remote, json_t **ret_info,
                                       struct quern_error *err);
/* False when the endpoint is no Quern, or nobody is there: the error has "ENDPOINT is no Quern" and
 * what the command has to say of that. */
QN_MUST_CHECK bool qn_remote_check_quern(struct qn_remote *remote, const char *what,
                                         struct quern_error *err);
/* Says on stderr what went wrong; the exit code. */
int qn_remote_fail(const struct qn_remote *remote, const struct quern_error *err);
int qn_remote_misuse(const struct qn_remote *remote, const struct qn_error *err);
bool qn_remote_wants_json(const struct qn_remote *remote);
/* Prints the document as one line of JSON and gives it back. */
void qn_remote_print_json(json_t *document_take);

/* ---- tables ---- */

struct qn_columns {
    size_t columns;
    char **cells; /* row after row; the first row is the head */
    size_t count;
    const size_t *least; /* how wide the columns are at least, or NULL */
};

/* head: a text for each column, or NULL where the rows go on below a head that was printed before.
 */
void qn_columns_begin(struct qn_columns *table, const char *const *head, size_t columns);
void qn_columns_done(struct qn_columns *table);
/* Text from elsewhere: control characters become blanks. NULL is an empty cell. */
void qn_columns_add(struct qn_columns *table, const char *text);
void qn_columns_add_integer(struct qn_columns *table, int64_t value);
void qn_columns_print(const struct qn_columns *table);
/* Prints text from elsewhere, likewise without its control characters. */
void qn_columns_print_clean(const char *text);

#endif
