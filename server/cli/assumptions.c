/* `quern assumptions`: what clients relied on that AWS does not promise, as a running server tells
 * it or as a stored trace shows it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/cli/remote.h"
#include "server/http/feed.h"

enum { EXIT_FOUND = 1, EXIT_BROKEN = 4 };

#define TRACE_MAX ((size_t)1 << 32)

static const struct qn_option options[] = {
    QN_REMOTE_OPTIONS,
    {"list", NULL, NULL, NULL, "list all that is looked for", 0},
};
enum { LIST = QN_REMOTE_COUNT, OPTION_COUNT };

/* ---- a stored trace ---- */

static bool read_all(int fd, const char *path, struct qn_buf *buf, struct qn_error *err)
{
    char block[64 * 1024];
    ssize_t got;

    while ((got = read(fd, block, sizeof(block))) != 0) {
        if (got < 0) {
            return qn_fail(err, QN_ERR_INTERNAL, "%s: %s", path, strerror(errno));
        }
        qn_buf_append(buf, block, (size_t)got);
    }
    return !buf->overflow || qn_fail(err, QN_ERR_INTERNAL, "%s is too large", path);
}

static bool write_all(int fd, struct qn_str bytes)
{
    while (bytes.len > 0) {
        ssize_t done = write(fd, bytes.ptr, bytes.len);
        if (done < 0) {
            return false;
        }
        bytes = qn_str_from(bytes, (size_t)done);
    }
    return true;
}

/* A mapped file is opened as a copy: a server may still be writing to it. */
static bool read_mapped(struct qn_str bytes, struct qn_assumptions *pass, struct qn_error *err)
{
    struct qn_trace *trace;
    char path[64];
    bool ok = false;
    int fd = memfd_create("trace", MFD_CLOEXEC);

    if (fd < 0 || !write_all(fd, bytes)) {
        qn_fail(err, QN_ERR_INTERNAL, "no memory for the trace: %s", strerror(errno));
        goto out;
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (!qn_trace_open(path, 0, &trace, err)) {
        goto out;
    }
    (void)qn_feed_assumptions(trace, 0, pass);
    qn_trace_close(trace);
    ok = true;

out:
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

static bool read_trace(const char *path, struct qn_assumptions *pass, struct qn_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct qn_error cause;
    struct qn_buf buf;
    bool ok = false;

    qn_buf_init(&buf, TRACE_MAX);
    if (fd < 0) {
        qn_fail(err, QN_ERR_INTERNAL, "%s: %s", path, strerror(errno));
        goto out;
    }
    if (!read_all(fd, path, &buf, err)) {
        goto out;
    }
    struct qn_str bytes = qn_buf_str(&buf);
    ok = qn_str_starts_with(bytes, QN_STR("QNTRACE1")) ? read_mapped(bytes, pass, &cause)
                                                       : qn_assumptions_read(pass, bytes, &cause);
    if (!ok) {
        qn_fail(err, QN_ERR_INTERNAL,
                "%s is no trace (of serve --trace, GET /_quern/trace or check --keep): %.120s",
                path, cause.message);
    }

out:
    if (fd >= 0 && !is_stdin) {
        (void)close(fd);
    }
    qn_buf_done(&buf);
    return ok;
}

/* ---- for people ---- */

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));

    return value != NULL ? value : "";
}

static void print_event(const json_t *event)
{
    const json_t *conn = json_object_get(event, "conn");
    const char *action = text(event, "action");
    const char *const parts[] = {text(event, "at"),
                                 action[0] != '\0' ? action : text(event, "kind"),
                                 text(event, "req"), text(event, "instance"), text(event, "mid")};

    (void)fputs("   ", stdout);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i][0] != '\0') {
            (void)fputs(i == 4 ? "  message " : "  ", stdout);
            qn_columns_print_clean(parts[i]);
        }
    }
    if (conn != NULL) {
        (void)printf("  connection %lld", (long long)json_integer_value(conn));
    }
    (void)putchar('\n');
}

static void print_finding(const json_t *finding)
{
    json_int_t count = json_integer_value(json_object_get(finding, "count"));
    size_t i;
    size_t j;
    const json_t *example;
    const json_t *event;

    (void)printf("%s: %s\n", text(finding, "name"), text(finding, "title"));
    (void)printf("  seen %lld time%s, %s%s%s\n", (long long)count, count == 1 ? "" : "s",
                 text(finding, "first"), count == 1 ? "" : " to ",
                 count == 1 ? "" : text(finding, "last"));
    json_array_foreach(json_object_get(finding, "examples"), i, example)
    {
        (void)fputs("  ", stdout);
        qn_columns_print_clean(text(example, "queue"));
        (void)fputs(text(example, "queue")[0] != '\0' ? ": " : "", stdout);
        qn_columns_print_clean(text(example, "says"));
        (void)putchar('\n');
        json_array_foreach(json_object_get(example, "events"), j, event)
        {
            print_event(event);
        }
    }
    (void)printf("  AWS: %s\n       %s\n  fix: %s\n\n", text(finding, "promise"),
                 text(finding, "source"), text(finding, "fix"));
}

static json_int_t figure(const json_t *report, const char *name)
{
    return json_integer_value(json_object_get(report, name));
}

static void print_report(const json_t *report)
{
    const json_t *found = json_object_get(report, "assumptions");
    size_t i;
    const json_t *finding;

    json_array_foreach(found, i, finding)
    {
        print_finding(finding);
    }
    (void)printf("%zu of %lld assumptions found in %lld events", json_array_size(found),
                 (long long)figure(report, "watched"), (long long)figure(report, "events"));
    if (text(report, "from")[0] != '\0') {
        (void)printf(", unbroken from %s to %s", text(report, "from"), text(report, "until"));
    }
    (void)putchar('\n');
    if (figure(report, "missed") > 0) {
        (void)printf("%lld older events are gone (serve --assumptions looks from the start on)\n",
                     (long long)figure(report, "missed"));
    }
    if (figure(report, "undetailed") > 0) {
        (void)printf("%lld calls came before anybody wanted details (serve --assumptions looks "
                     "from the start on)\n",
                     (long long)figure(report, "undetailed"));
    }
    if (figure(report, "forgotten") > 0) {
        (void)printf("%lld entries were forgotten to make room for newer ones\n",
                     (long long)figure(report, "forgotten"));
    }
}

static void print_list(json_t *list_take)
{
    struct qn_columns table;
    size_t i;
    const json_t *row;

    qn_columns_begin(&table, (const char *const[]){"NAME", "WHAT IS RELIED ON"}, 2);
    json_array_foreach(list_take, i, row)
    {
        qn_columns_add(&table, text(row, "name"));
        qn_columns_add(&table, text(row, "title"));
    }
    qn_columns_print(&table);
    qn_columns_done(&table);
    json_decref(list_take);
}

/* ---- the command ---- */

static int tell(const struct qn_remote *remote, json_t *report_take)
{
    bool found = json_array_size(json_object_get(report_take, "assumptions")) > 0;

    if (qn_remote_wants_json(remote)) {
        qn_remote_print_json(report_take);
    } else {
        print_report(report_take);
        json_decref(report_take);
    }
    return found ? EXIT_FOUND : QN_EXIT_OK;
}

static int of_file(const struct qn_remote *remote, const char *path)
{
    struct qn_assumptions *pass = qn_assumptions_new();
    struct qn_error err;
    int code;

    if (read_trace(path, pass, &err)) {
        code = tell(remote, qn_assumptions_report(pass));
    } else {
        code = qn_remote_misuse(remote, &err);
    }
    qn_assumptions_free(pass);
    return code;
}

static int of_server(struct qn_remote *remote)
{
    struct quern_error err;
    json_t *answer;

    if (!qn_remote_check_quern(remote, ", and nothing else looks for assumptions", &err) ||
        !quern_http_get(remote->client, "/_quern/assumptions", &answer, &err)) {
        (void)qn_remote_fail(remote, &err);
        return EXIT_BROKEN;
    }
    return tell(remote, answer);
}

int qn_assumptions_main(int argc, char **argv)
{
    struct qn_remote remote;
    int code;

    if (!qn_remote_open(&remote, "assumptions [TRACE-FILE] [OPTIONS]", options, OPTION_COUNT, 0, 1,
                        argc, argv, &code)) {
        if (code == QN_EXIT_OK) { /* the help was asked for */
            (void)puts("\nExit code: 0 none was found, 1 some were, 2 a mistake in the command, 4 "
                       "the\nserver could not be asked.");
        }
        return code;
    }
    if (qn_options_is_on(&remote.options, LIST)) {
        code = QN_EXIT_OK;
        if (qn_remote_wants_json(&remote)) {
            qn_remote_print_json(qn_assumptions_list());
        } else {
            print_list(qn_assumptions_list());
        }
    } else if (remote.options.word_count == 1) {
        code = of_file(&remote, remote.options.words[0]);
    } else {
        code = of_server(&remote);
    }
    qn_remote_close(&remote);
    return code;
}
