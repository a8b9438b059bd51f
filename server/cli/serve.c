/* `quern serve`: options, signals, and what is said at the start. */
#include <signal.h>

#include "server/base/log.h"
#include "server/cli/cli.h"
#include "server/cli/supervise.h"

static void announce(const struct qn_service *service)
{
    const struct qn_settings *settings = &service->settings;
    const struct qn_listeners *listeners = &service->listeners;

    if (settings->db == NULL) {
        qn_log(QN_LOG_INFO, "serve",
               "listening on http://%s in memory, nothing outlives this process seed=%llu "
               "clock=%s",
               listeners->items[0].address, (unsigned long long)settings->seed,
               settings->clock_is_virtual ? "virtual" : "real");
    } else {
        qn_log(QN_LOG_INFO, "serve",
               "listening on http://%s db=%s sync=%s seed=%llu boot=%llu clock=%s",
               listeners->items[0].address, settings->db,
               settings->sync == QN_SYNC_FULL ? "full" : "normal",
               (unsigned long long)settings->seed, (unsigned long long)service->identity.boot,
               settings->clock_is_virtual ? "virtual" : "real");
    }
    for (size_t i = 1; i < listeners->count; i++) {
        qn_log(QN_LOG_INFO, "serve", "listening on http://%s", listeners->items[i].address);
    }
}

/* Before any thread is started: they inherit it. */
static void block_signals(int how)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    (void)sigprocmask(how, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error like a full disk */
}

static void print_help(const struct qn_options *given)
{
    if (given->wants_markdown) {
        qn_options_print(qn_serve_options, QN_SERVE_OPTION_COUNT, true, "QUERN_", stdout);
        return;
    }
    (void)puts("usage: quern serve [OPTIONS]\n\n"
               "Serves Amazon SQS. Each option is an environment variable too: QUERN_ and the\n"
               "name in capitals (QUERN_PORT, QUERN_CLIENT_TIMEOUT); repeated values are\n"
               "separated there by ';'.\n");
    if (given->wants_all_help) {
        qn_options_print(qn_serve_options, QN_SERVE_OPTION_COUNT, false, "QUERN_", stdout);
        return;
    }
    qn_options_print_common(qn_serve_options, QN_SERVE_OPTION_COUNT, stdout);
    (void)puts("\nThese are the common ones; quern serve --help all has every one.");
}

/* True in each server. */
static bool supervise(struct qn_service *service, int *ret_code)
{
    qn_log_set_level(service->settings.log_level);
    return qn_supervise(service, ret_code);
}

/* Of a start that came to nothing: for whoever typed the command, and so as the others say it. */
static void complain(const struct qn_error *err)
{
    (void)fprintf(stderr, "quern serve: %s\n", err->message);
}

static int serve(struct qn_service *service)
{
    struct qn_error err;
    int code = QN_EXIT_OK;

    if (qn_service_open(service, &err)) {
        announce(service);
        qn_loop_tell_slips(service->loop);
        if (service->legacy != NULL) {
            service->legacy->is_up = true;
        }
        qn_loop_run(service->loop);
        block_signals(SIG_UNBLOCK); /* a second signal ends the rest at once */
    } else {
        if (err.message[0] != '\0') {
            complain(&err);
        }
        code = QN_EXIT_USAGE;
    }
    qn_service_close(service);
    return code;
}

int qn_serve_main(int argc, char **argv)
{
    struct qn_service service = {0};
    struct qn_error err;
    int code = QN_EXIT_USAGE;

    if (!qn_options_parse(&service.options, qn_serve_options, QN_SERVE_OPTION_COUNT, argc, argv,
                          "QUERN_", &err)) {
        complain(&err);
        return QN_EXIT_USAGE;
    }
    if (service.options.wants_help) {
        print_help(&service.options);
        qn_options_done(&service.options);
        return QN_EXIT_OK;
    }
    block_signals(SIG_BLOCK);
    if (!qn_service_read(&service, &err) ||
        (service.settings.is_supervised && !qn_service_supervise(&service, &err))) {
        complain(&err);
    } else if (!service.settings.is_supervised || supervise(&service, &code)) {
        code = serve(&service);
    }
    qn_service_done(&service);
    return code;
}
