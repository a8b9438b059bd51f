/* Any bytes as a recording: refused with line and byte, or read; then every line that was kept can
 * be loaded again, and what stands for what hangs together. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/base/str.h"
#include "server/cli/replay/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check_items(const struct qn_session *session)
{
    int64_t at_ms = 0;

    for (size_t i = 0; i < session->item_count; i++) {
        const struct qn_session_item *item = &session->items[i];
        json_t *line = qn_session_load(session, (uint32_t)i);
        require(json_is_object(line));
        json_decref(line);
        require(item->at_ms >= at_ms);
        at_ms = item->at_ms;
        if (item->kind == QN_SESSION_REQUEST) {
            require(session->requests[item->request].item == i);
        } else if (item->kind == QN_SESSION_ANSWER) {
            require(session->requests[item->request].answer == i);
            require(session->requests[item->request].item < i);
        }
    }
}

static void check_connections(const struct qn_session *session)
{
    size_t seen = 0;

    for (size_t i = 0; i < session->connection_count; i++) {
        uint32_t last = QN_SESSION_NONE;
        for (uint32_t at = session->connections[i].first; at != QN_SESSION_NONE;
             at = session->requests[at].next) {
            require(session->requests[at].connection == i);
            require(last == QN_SESSION_NONE || at > last);
            last = at;
            seen++;
        }
        require(last == session->connections[i].last);
    }
    require(seen == session->request_count);
}

static void check_reference(void *state, struct qn_map_node *node)
{
    const struct qn_session *session = state;
    const struct qn_reference *reference = (const void *)node;

    require(reference->giver < session->request_count && reference->uses > 0);
    require(session->requests[reference->giver].answer != QN_SESSION_NONE);
}

static void check_refusal(const struct qn_error *err)
{
    require(err->message[0] != '\0' && strchr(err->message, '\n') == NULL);
    require(qn_str_is_utf8(qn_str_from_cstr(err->message)));
    require(strstr(err->message, "(byte ") != NULL || strstr(err->message, " is empty") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("recording", MFD_CLOEXEC);

    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    for (int cut_ok = 0; cut_ok <= 1; cut_ok++) {
        struct qn_session session;
        struct qn_error err = {.message = ""};
        require(lseek(fd, 0, SEEK_SET) == 0);
        if (qn_session_read(fd, "recording", cut_ok == 1, &session, &err)) {
            require(session.starts > 0 && (cut_ok == 1 || !session.was_cut));
            check_items(&session);
            check_connections(&session);
            qn_map_each(&session.references, check_reference, &session);
            qn_session_done(&session);
        } else {
            check_refusal(&err);
        }
    }
    (void)close(fd);
    return 0;
}
