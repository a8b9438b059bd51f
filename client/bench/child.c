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
#include <time.h>
#include <unistd.h>

#include "client/bench/load.h"

enum { BACKLOG = 4096, ANSWER_LIMIT_MS = 2000 };

/* Under valgrind, or with a million messages on a slow disk, a start takes its time. */
static const int64_t start_limit_ns = 60 * INT64_C(1000000000);
static const int64_t stop_limit_ns = 60 * INT64_C(1000000000);

static void pause_ns(long ns)
{
    const struct timespec pause = {.tv_nsec = ns};

    (void)nanosleep(&pause, NULL);
}

/* A listening socket on a port of the loopback (0: a free one), or -1. */
static int listen_on(int port, int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof(address);
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
        (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

int qn_bench_free_port(void)
{
    int port = 0;
    int fd = listen_on(0, &port);

    if (fd < 0) {
        return 0;
    }
    (void)close(fd);
    return port;
}

static void be_echo(int listener)
{
    int flags = fcntl(listener, F_GETFL);

    (void)fcntl(listener, F_SETFL, flags | O_NONBLOCK);
    qn_bench_echo(listener);
}

void qn_bench_serve_echo(int port)
{
    int listener = listen_on(port, &port);

    if (listener >= 0) {
        be_echo(listener);
    }
}

bool qn_bench_start_echo(struct qn_bench_child *ret_child)
{
    int port;
    int listener = listen_on(0, &port);

    if (listener < 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_echo(listener);
    }
    (void)close(listener);
    *ret_child = (struct qn_bench_child){.pid = pid, .port = port};
    return pid > 0;
}

/* By hand: a library's set-up would be a part of the time to the first answer. */
static bool answers(const struct qn_bench_place *place)
{
    static const char request[] =
        "GET /_quern/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char answer[16] = "";
    bool ok = false;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return false;
    }
    if (connect(fd, (const struct sockaddr *)&place->address, place->address_len) == 0 &&
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(request) - 1) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        ok = poll(&readable, 1, ANSWER_LIMIT_MS) == 1 &&
             recv(fd, answer, sizeof(answer) - 1, 0) > 9 && strncmp(answer, "HTTP/1.1", 8) == 0;
    }
    (void)close(fd);
    return ok;
}

void qn_bench_words_add(struct qn_bench_words *words, const char *word)
{
    if (words->count < QN_BENCH_WORDS_MAX) {
        words->argv[words->count++] = word;
        words->argv[words->count] = NULL;
    }
}

static _Noreturn void become(const struct qn_bench_words *words)
{
    int nothing = open("/dev/null", O_RDWR);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(nothing, STDIN_FILENO);
    (void)dup2(nothing, STDOUT_FILENO);
    (void)execvp(words->argv[0], (char *const *)(const void *)words->argv);
    _exit(127);
}

bool qn_bench_start(const struct qn_bench_words *words, int port, struct qn_bench_child *ret_child)
{
    int64_t begin_ns = qn_bench_now_ns();
    struct qn_bench_place place;
    pid_t pid = fork();

    if (pid == 0) {
        become(words);
    }
    *ret_child = (struct qn_bench_child){.pid = pid, .port = port};
    qn_bench_place_local(&place, port);
    while (pid > 0 && qn_bench_now_ns() - begin_ns < start_limit_ns) {
        if (answers(&place)) {
            ret_child->first_answer_ms = (double)(qn_bench_now_ns() - begin_ns) / 1e6;
            return true;
        }
        if (waitpid(pid, NULL, WNOHANG) == pid) {
            ret_child->pid = 0;
            return false;
        }
        pause_ns(200000);
    }
    qn_bench_stop(ret_child);
    return false;
}

void qn_bench_stop(struct qn_bench_child *child)
{
    int64_t begin_ns = qn_bench_now_ns();

    if (child->pid <= 0) {
        return;
    }
    (void)kill(child->pid, SIGTERM);
    while (waitpid(child->pid, NULL, WNOHANG) == 0) {
        if (qn_bench_now_ns() - begin_ns > stop_limit_ns) {
            (void)kill(child->pid, SIGKILL);
            (void)waitpid(child->pid, NULL, 0);
            break;
        }
        pause_ns(2000000);
    }
    child->pid = 0;
}

/* The number behind a word at the beginning of a line ("" for the first line's first word), or -1.
 */
static int64_t number_in(const char *path, const char *word)
{
    char line[256];
    FILE *file = fopen(path, "re");
    int64_t number = -1;

    if (file == NULL) {
        return -1;
    }
    while (number < 0 && fgets(line, sizeof(line), file) != NULL) {
        struct qn_str text = qn_str_from_cstr(line);
        if (qn_str_starts_with(text, qn_str_from_cstr(word))) {
            struct qn_str rest;
            text = qn_str_trim(qn_str_from(text, strlen(word)));
            text = qn_str_cut(text, ' ', &rest);
            number = qn_str_to_int64(text, 0, INT64_MAX, &number) ? number : -1;
        }
    }
    (void)fclose(file);
    return number;
}

double qn_bench_cpu_us(pid_t pid)
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
        int64_t ns = number_in(file, ""); /* the first number: nanoseconds on the CPU */
        any = any || ns >= 0;
        sum_ns += ns > 0 ? ns : 0;
    }
    if (tasks != NULL) {
        (void)closedir(tasks);
    }
    return any ? (double)sum_ns / 1e3 : -1;
}

int64_t qn_bench_rss_bytes(pid_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    int64_t kib = pid > 0 ? number_in(path, "VmRSS:") : -1;
    return kib >= 0 ? kib * 1024 : -1;
}
