/* What a handler may ask of its message. */
#include <sys/eventfd.h>

#include "client/consumer/internal.h"

const char *quern_delivery_message_id(const struct quern_delivery *d)
{
    return d->id;
}

const char *quern_delivery_body(const struct quern_delivery *d, size_t *ret_len)
{
    if (ret_len != NULL) {
        *ret_len = d->received->body_len;
    }
    return d->received->body;
}

const struct quern_received *quern_delivery_received(const struct quern_delivery *d)
{
    return d->received;
}

const struct quern_envelope *quern_delivery_envelope(const struct quern_delivery *d)
{
    return d->envelope.document != NULL ? &d->envelope : NULL;
}

const char *quern_delivery_group(const struct quern_delivery *d)
{
    return quern_received_system(d->received, "MessageGroupId");
}

int64_t quern_delivery_receive_count(const struct quern_delivery *d)
{
    (void)pthread_mutex_lock(&d->consumer->lock);
    int64_t count = d->receive_count;
    (void)pthread_mutex_unlock(&d->consumer->lock);
    return count;
}

bool quern_delivery_is_cancelled(const struct quern_delivery *d)
{
    (void)pthread_mutex_lock(&d->consumer->lock);
    bool is_cancelled = d->is_cancelled;
    (void)pthread_mutex_unlock(&d->consumer->lock);
    return is_cancelled;
}

int quern_delivery_cancel_fd(struct quern_delivery *d)
{
    (void)pthread_mutex_lock(&d->consumer->lock);
    if (d->cancel_fd < 0) {
        d->cancel_fd = eventfd(d->is_cancelled ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    int fd = d->cancel_fd;
    (void)pthread_mutex_unlock(&d->consumer->lock);
    return fd;
}
