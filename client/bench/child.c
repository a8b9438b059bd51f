/* Starting, stopping and asking after the measured processes. */
#include "client/bench/child.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/quern.h"
#include "server/base/clock.h"

enum { START_LIMIT_MS = 20000, STOP_LIMIT_MS = 10000, BACKLOG = 4096 };

/* A listening socket on a free port of the loopback, or -1. */
static int listen_somewhere(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -1;
    }
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
        (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

bool qn_bench_start_echo(struct qn_bench_child *ret_child)
{
    int port;
    int listener = listen_somewhere(&port);

    if (listener < 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int flags = fcntl(listener, F_GETFL);
        (void)fcntl(listener, F_SETFL, flags | O_NONBLOCK);
        qn_bench_echo(listener);
    }
    (void)close(listener);
    *ret_child = (struct qn_bench_child){pid, port};
    return pid > 0;
}

static bool answers(int port)
{
    char endpoint[64];
    struct quern_client *client;
    struct quern_error err;

    (void)snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%d", port);
    const struct quern_options options = {.endpoint = endpoint};
    if (!quern_client_new(&options, &client, &err)) {
        return false;
    }
    bool ok = quern_http_get(client, "/_quern/health", NULL, &err);
    quern_client_free(client);
    return ok;
}

static _Noreturn void become_server(const char *program, const char *bind, const char *database,
                                    const char *sync)
{
    const char *argv[10] = {program, "serve", "--bind", bind, "--log", "warn"};
    size_t count = 6;
    int nothing = open("/dev/null", O_RDWR);

    if (database != NULL) {
        argv[count++] = "--db";
        argv[count++] = database;
        argv[count++] = "--sync";
        argv[count++] = sync;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(nothing, STDIN_FILENO);
    (void)dup2(nothing, STDOUT_FILENO);
    const char *full[12] = {0};
    for (size_t i = 0; i < count; i++) {
        full[i] = argv[i];
    }
    (void)execv(program, (char *const *)(const void *)full);
    _exit(127);
}

bool qn_bench_start_server(const char *program, const char *database, const char *sync,
                           struct qn_bench_child *ret_child)
{
    int64_t end_ms = qn_clock_monotonic_ms() + START_LIMIT_MS;
    char bind[32];
    int port;
    int listener = listen_somewhere(&port);

    if (listener < 0) {
        return false;
    }
    (void)close(listener); /* the server opens it a moment later */
    (void)snprintf(bind, sizeof(bind), "127.0.0.1:%d", port);
    pid_t pid = fork();
    if (pid == 0) {
        become_server(program, bind, database, sync);
    }
    *ret_child = (struct qn_bench_child){pid, port};
    while (pid > 0 && qn_clock_monotonic_ms() < end_ms) {
        if (answers(port)) {
            return true;
        }
        if (waitpid(pid, NULL, WNOHANG) == pid) {
            ret_child->pid = 0;
            return false;
        }
        (void)poll(NULL, 0, 10);
    }
    qn_bench_stop(ret_child);
    return false;
}

void qn_bench_stop(struct qn_bench_child *child)
{
    int64_t end_ms = qn_clock_monotonic_ms() + STOP_LIMIT_MS;

    if (child->pid <= 0) {
        return;
    }
    (void)kill(child->pid, SIGTERM);
    while (waitpid(child->pid, NULL, WNOHANG) == 0) {
        if (qn_clock_monotonic_ms() > end_ms) {
            (void)kill(child->pid, SIGKILL);
            (void)waitpid(child->pid, NULL, 0);
            break;
        }
        (void)poll(NULL, 0, 5);
    }
    child->pid = 0;
}

/* The first number of a file: nanoseconds on the CPU. */
static int64_t first_number(const char *path)
{
    char text[64];
    FILE *file = fopen(path, "re");
    int64_t number = -1;

    if (file == NULL) {
        return -1;
    }
    if (fgets(text, sizeof(text), file) != NULL) {
        struct qn_str rest;
        struct qn_str first = qn_str_cut(qn_str_from_cstr(text), ' ', &rest);
        number = qn_str_to_int64(first, 0, INT64_MAX, &number) ? number : -1;
    }
    (void)fclose(file);
    return number;
}

int64_t qn_bench_cpu_us(pid_t pid)
{
    char path[64];
    int64_t sum_ns = 0;
    bool any = false;
    const struct dirent *entry;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = pid > 0 ? opendir(path) : NULL;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        char file[400];
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(file, sizeof(file), "%s/%.200s/schedstat", path, entry->d_name);
        int64_t ns = first_number(file);
        any = any || ns >= 0;
        sum_ns += ns > 0 ? ns : 0;
    }
    if (tasks != NULL) {
        (void)closedir(tasks);
    }
    return any ? sum_ns / 1000 : -1;
}
