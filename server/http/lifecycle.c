/* Putting the loop together, and taking it apart. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/http/internal.h"

enum { SCRATCH_MAX = 64 * 1024 * 1024 };

/* Streams of what falls due by itself lie apart from those of requests. */
#define BACKGROUND_STREAM (UINT64_C(1) << 62)

static bool watch(struct qn_loop *loop, int fd, struct qn_watch *watch, enum qn_watch_kind kind,
                  struct qn_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

    watch->kind = kind;
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ||
           qn_fail(err, QN_ERR_INTERNAL, "epoll: %s", strerror(errno));
}

static bool watch_signals(struct qn_loop *loop, struct qn_error *err)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    loop->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (loop->signal_fd < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "signalfd: %s", strerror(errno));
    }
    return watch(loop, loop->signal_fd, &loop->signal_watch, QN_WATCH_SIGNAL, err);
}

bool qn_loop_watch_listeners(struct qn_loop *loop, struct qn_error *err)
{
    struct qn_listeners *listeners = loop->parts.listeners;

    for (size_t i = 0; i < listeners->count; i++) {
        loop->listener_watches[i].listener = &listeners->items[i];
        if (!watch(loop, listeners->items[i].fd, &loop->listener_watches[i], QN_WATCH_LISTENER,
                   err)) {
            return false;
        }
    }
    return true;
}

static bool watch_all(struct qn_loop *loop, struct qn_error *err)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    int sync_fd = loop->parts.journal == NULL ? -1 : qn_journal_sync_fd(loop->parts.journal);

    if (!watch(loop, info->epoll_fd, &loop->http_watch, QN_WATCH_HTTP, err) ||
        !watch_signals(loop, err) ||
        (sync_fd >= 0 && !watch(loop, sync_fd, &loop->sync_watch, QN_WATCH_SYNC, err))) {
        return false;
    }
    return qn_loop_watch_listeners(loop, err);
}

static void init(struct qn_loop *loop, const struct qn_loop_parts *parts,
                 const struct qn_loop_options *options)
{
    loop->parts = *parts;
    loop->options = *options;
    loop->defaults = (struct qn_wire_defaults){options->account, options->region};
    loop->epoll_fd = loop->signal_fd = -1;
    loop->accept_again_ms = INT64_MAX;
    loop->now_ms = options->first_ms;
    qn_pass_read_clock(loop);
    loop->started_ms = loop->now_ms;
    loop->trace_is_wanted = options->trace_is_wanted || options->watches_assumptions;
    loop->assumptions = options->watches_assumptions ? qn_assumptions_new() : NULL;
    qn_buf_init(&loop->entry, SIZE_MAX / 2);
    qn_buf_init(&loop->events.encoded, SIZE_MAX / 2);
    qn_arena_init(&loop->scratch, SCRATCH_MAX);
    qn_random_init(&loop->background, options->seed, options->boot | BACKGROUND_STREAM, 0);
    qn_members_init(loop);
    qn_head_init(loop);
    qn_keep_refresh(loop);
}

bool qn_loop_new(const struct qn_loop_parts *parts, const struct qn_loop_options *options,
                 struct qn_loop **ret_loop, struct qn_error *err)
{
    struct qn_loop *loop = qn_memory_new(sizeof(*loop));
    bool ok = false;

    init(loop, parts, options);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) {
        qn_fail(err, QN_ERR_INTERNAL, "epoll: %s", strerror(errno));
        goto out;
    }
    if (!qn_http_start(loop, err) || !watch_all(loop, err)) {
        goto out;
    }
    qn_keep_boot(loop);
    *ret_loop = loop;
    loop = NULL;
    ok = true;

out:
    qn_loop_free(loop);
    return ok;
}

static void drop_list(struct qn_call_list *list)
{
    while (list->first != NULL) {
        qn_call_drop(list->first);
    }
}

static void drop_all(struct qn_loop *loop)
{
    struct qn_call_list *const lists[] = {
        &loop->parked,  &loop->crowded,  &loop->delayed,       &loop->held,
        &loop->hanging, &loop->jumping,  &loop->pacing,        &loop->syncing,
        &loop->reading, &loop->starving, &loop->advance.calls, &loop->behind,
    };

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        drop_list(lists[i]);
    }
}

/* libmicrohttpd must not be stopped while a connection is suspended. */
static void stop_http(struct qn_loop *loop)
{
    if (loop->daemon == NULL) {
        return;
    }
    loop->is_stopping = loop->is_closed = true;
    do {
        drop_all(loop);
        qn_control_stop_readers(loop);
        (void)qn_calls_resume(loop);
        (void)MHD_run(loop->daemon); /* what is pipelined behind may wait again */
    } while (loop->suspended > 0);
    MHD_stop_daemon(loop->daemon);
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void qn_loop_free(struct qn_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    stop_http(loop);
    qn_calls_free_spare(loop);
    close_fd(loop->signal_fd);
    close_fd(loop->epoll_fd);
    qn_buf_done(&loop->entry);
    qn_buf_done(&loop->events.encoded);
    qn_arena_done(&loop->scratch);
    qn_assumptions_free(loop->assumptions);
    qn_memory_free(loop);
}

/* What a call of our own looks like to wire/. */
static void write_request(struct qn_loop *loop, struct qn_request *request, struct qn_str action,
                          struct qn_str input)
{
    uint8_t id[16];

    request->sequence = ++loop->sequence;
    request->http = (struct qn_http_request){
        .method = QN_STR("POST"),
        .path = QN_STR("/"),
        .query = QN_STR_NONE,
        .content_type = QN_STR("application/x-amz-json-1.0"),
        .target = qn_arena_format(&request->arena, "AmazonSQS.%.*s", QN_STR_ARG(action)),
        .accept = QN_STR_NONE,
        .authorization = QN_STR_NONE,
        .host = QN_STR_NONE,
        .body = input,
    };
    request->caller.url_base = QN_STR("http://localhost");
    memset(id, 0, sizeof(id));
    qn_random_format_uuid(id, request->request_id);
}

static bool execute(struct qn_loop *loop, struct qn_request *request, struct qn_error *err)
{
    struct qn_random random;
    struct qn_tx tx;

    qn_random_init(&random, loop->options.seed, loop->options.boot, request->sequence);
    qn_tx_init(loop, &tx, &request->arena, &random);
    tx.caller = &request->caller;
    tx.wait_is_over = true;
    request->output = qn_arena_alloc(&request->arena, request->action->output->size);
    if (request->output == NULL) {
        return qn_fail(err, QN_ERR_INTERNAL, "out of memory");
    }
    return request->action->check(&tx, request->input, err) &&
           request->action->execute(&tx, request->input, request->output, err);
}

bool qn_loop_call(struct qn_loop *loop, struct qn_str action, struct qn_str input,
                  struct qn_buf *ret_output, struct qn_error *err)
{
    struct qn_request request = {0};
    bool ok;

    qn_arena_init(&request.arena, SCRATCH_MAX);
    write_request(loop, &request, action, input);
    ok = qn_wire_decode(&request, &loop->defaults, err) && execute(loop, &request, err);
    if (ok && ret_output != NULL) {
        qn_wire_encode_output(&request, ret_output);
    }
    qn_loop_keep(loop);
    qn_arena_done(&request.arena);
    return ok;
}
