#include "example.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUSY_MS = 5000, HEADER_MAX = 512 };

static void name_stops(sigset_t *ret_stops)
{
    (void)sigemptyset(ret_stops);
    (void)sigaddset(ret_stops, SIGTERM);
    (void)sigaddset(ret_stops, SIGINT);
}

void quern_example_begin(void)
{
    sigset_t stops;

    name_stops(&stops);
    (void)pthread_sigmask(SIG_BLOCK, &stops, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

static void *wait_for_stop(void *state)
{
    sigset_t stops;
    int number;

    name_stops(&stops);
    (void)sigwait(&stops, &number);
    quern_consumer_stop(state);
    return NULL;
}

int quern_example_run(const struct quern_consumer_options *options)
{
    struct quern_consumer *consumer;
    struct quern_error err;
    pthread_t thread;

    if (!quern_consumer_new(options, &consumer, &err)) {
        (void)fprintf(stderr, "%s: %s\n", err.code, err.message);
        return 2;
    }
    if (pthread_create(&thread, NULL, wait_for_stop, consumer) != 0) {
        (void)fprintf(stderr, "no thread to be had\n");
        return 1;
    }
    if (!quern_consumer_run(consumer, &err)) {
        (void)fprintf(stderr, "%s: %s\n", err.code, err.message);
        _Exit(1); /* the thread still waits */
    }
    if (quern_consumer_unfinished(consumer) > 0) {
        _Exit(0); /* handlers that do not end are not waited for: their messages come again */
    }
    (void)pthread_join(thread, NULL);
    quern_consumer_free(consumer);
    return 0;
}

sqlite3 *quern_example_open(const char *path, const char *tables)
{
    sqlite3 *database = NULL;

    if (sqlite3_open(path, &database) == SQLITE_OK &&
        sqlite3_busy_timeout(database, BUSY_MS) == SQLITE_OK &&
        sqlite3_exec(database, tables, NULL, NULL, NULL) == SQLITE_OK) {
        return database;
    }
    (void)fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(database));
    (void)sqlite3_close(database);
    return NULL;
}

bool quern_example_sql(sqlite3 *database, const char *sql, const char *const *texts,
                       void (*row)(void *state, sqlite3_stmt *statement), void *state)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) {
        return false;
    }
    for (int i = 0; texts != NULL && texts[i] != NULL; i++) {
        (void)sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    }
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (row != NULL) {
            row(state, statement);
        }
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE;
}

static size_t drop(char *bytes, size_t size, size_t count, void *state)
{
    (void)bytes;
    (void)state;
    return size * count;
}

long quern_example_http(const char *url, const char *key, const char *body, long timeout_ms)
{
    CURL *handle = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    char header[HEADER_MAX];
    long status = 0;

    (void)snprintf(header, sizeof(header), "Idempotency-Key: %s", key);
    headers = curl_slist_append(headers, header);
    (void)curl_easy_setopt(handle, CURLOPT_URL, url);
    (void)curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, drop);
    (void)curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, timeout_ms);
    if (body != NULL) {
        (void)curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
    }
    if (curl_easy_perform(handle) == CURLE_OK) {
        (void)curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(handle);
    return status;
}
