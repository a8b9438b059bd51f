/* The connections of a client: any thread takes one for an exchange and gives it back. There are as
 * many as exchanges have been under way at a time; who waits in a long poll keeps nobody else from
 * being served. */
#include <sys/socket.h>

#include "client/internal.h"

enum { IDLE_MAX = 64 };

static bool is_ended(const struct quern_client *client, bool is_receive)
{
    return client->is_cancelled || (is_receive && client->are_receives_cancelled);
}

bool quern_client_is_cancelled(struct quern_client *client, bool is_receive)
{
    (void)pthread_mutex_lock(&client->lock);
    bool is_cancelled = is_ended(client, is_receive);
    (void)pthread_mutex_unlock(&client->lock);
    return is_cancelled;
}

/* The newest idle one: the others grow old and are closed by whoever meets them last. */
static struct quern_connection *take_idle(struct quern_client *client)
{
    struct quern_connection *connection = LIST_FIRST(&client->idle);

    if (connection != NULL) {
        LIST_REMOVE(connection, among);
        client->idle_count--;
    }
    return connection;
}

static void free_connection(struct quern_connection *connection)
{
    if (connection != NULL) {
        curl_easy_cleanup(connection->curl);
        qn_memory_free(connection);
    }
}

static struct quern_connection *new_connection(struct quern_client *client)
{
    struct quern_connection *connection = qn_memory_new(sizeof(*connection));

    connection->client = client;
    connection->socket = -1;
    connection->curl = curl_easy_init();
    if (connection->curl == NULL) {
        qn_memory_free(connection);
        return NULL;
    }
    return connection;
}

struct quern_connection *quern_pool_take(struct quern_client *client, bool is_receive)
{
    (void)pthread_mutex_lock(&client->lock);
    struct quern_connection *connection = take_idle(client);
    (void)pthread_mutex_unlock(&client->lock);
    if (connection == NULL) {
        connection = new_connection(client);
    }
    if (connection == NULL) {
        return NULL;
    }
    (void)pthread_mutex_lock(&client->lock);
    connection->is_receive = is_receive;
    connection->has_answer = false;
    LIST_INSERT_HEAD(&client->busy, connection, among);
    (void)pthread_mutex_unlock(&client->lock);
    return connection;
}

void quern_pool_give(struct quern_client *client, struct quern_connection *connection)
{
    (void)pthread_mutex_lock(&client->lock);
    LIST_REMOVE(connection, among);
    bool is_kept = client->idle_count < IDLE_MAX && !client->is_cancelled;
    if (is_kept) {
        LIST_INSERT_HEAD(&client->idle, connection, among);
        client->idle_count++;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (!is_kept) {
        free_connection(connection);
    }
}

void quern_pool_done(struct quern_client *client)
{
    struct quern_connection *connection;

    while ((connection = take_idle(client)) != NULL) {
        free_connection(connection);
    }
}

/* ---- ending calls ---- */

/* Under the lock. An answer that has begun is still read. */
static void wake(struct quern_client *client)
{
    struct quern_connection *connection;

    LIST_FOREACH(connection, &client->busy, among)
    {
        if (connection->socket != -1 && !connection->has_answer &&
            is_ended(client, connection->is_receive)) {
            (void)shutdown(connection->socket, SHUT_RDWR); /* wakes who waits for it */
        }
    }
    (void)pthread_cond_broadcast(&client->cancelled);
}

void quern_client_cancel(struct quern_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    client->is_cancelled = true;
    wake(client);
    (void)pthread_mutex_unlock(&client->lock);
}

void quern_client_cancel_receives(struct quern_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    client->are_receives_cancelled = true;
    wake(client);
    (void)pthread_mutex_unlock(&client->lock);
}
