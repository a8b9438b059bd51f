/* Receipt handles: real ones, and what can be made of them. Queues live, are purged, deleted and
 * made again, time passes, the server starts anew; a handle that was not given out for this very
 * queue is refused everywhere and changes nothing, and a real one touches its own message alone.
 *
 * An input is steps: a byte that says what to do, and the bytes that it takes. */
#include <stdio.h>
#include <stdlib.h>

#include "server/base/digest.h"
#include "tests/support/engine_check.h"
#include "tests/support/exchange.h"

enum { QUEUES = 3, KNOWN_MAX = 256, STEPS_MAX = 128, TEXT_MAX = 300, HANDLE_LEN = 44 };

static const char *const names[QUEUES] = {"plain", "other", "order.fifo"};

/* A handle that was given out. */
struct known {
    char text[HANDLE_LEN + 1];
    int queue;
    int life; /* of the queue: deleted and made again, it is another */
};

struct state {
    struct fixture f;
    struct qn_reader input;
    struct known known[KNOWN_MAX];
    size_t count;
    int lives[QUEUES];
    struct qn_buf body;
    struct qn_buf answer;
    char text[TEXT_MAX]; /* the handle of this step */
    size_t len;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition, const char *what, struct qn_str detail)
{
    if (!condition) {
        (void)fprintf(stderr, "handle_fuzz: %s: %.*s\n", what, QN_STR_ARG(detail));
        abort();
    }
}

/* ---- requests ---- */

/* What stands in state->body, as this action. */
static struct exchange call(struct state *state, const char *action)
{
    struct qn_http_request http = {
        .method = QN_STR("POST"),
        .path = QN_STR("/"),
        .content_type = QN_STR("application/x-amz-json-1.0"),
        .target = qn_arena_format(&state->f.arena, "AmazonSQS.%s", action),
        .body = qn_buf_str(&state->body),
    };

    qn_buf_clear(&state->answer);
    struct exchange done = exchange(&state->f, &http, &state->answer);
    require(done.code == QN_ERR_NONE || !done.has_changed, "a refusal changed something",
            qn_buf_str(&state->answer));
    const char *problem = engine_check(state->f.engine);
    require(problem == NULL, "engine", qn_str_from_cstr(problem == NULL ? "" : problem));
    return done;
}

static void begin_body(struct state *state, int queue)
{
    qn_buf_clear(&state->body);
    qn_buf_append_format(&state->body, "{\"QueueUrl\":\"%s\"", names[queue]);
}

static struct exchange simple(struct state *state, const char *action, int queue,
                              const char *members)
{
    begin_body(state, queue);
    qn_buf_append_format(&state->body, "%s}", members);
    return call(state, action);
}

static json_t *answer_of(const struct state *state)
{
    struct qn_str text = qn_buf_str(&state->answer);
    json_t *answer = json_loadb(text.ptr, text.len, 0, NULL);

    require(answer != NULL, "no JSON", text);
    return answer;
}

static void create(struct state *state, int queue)
{
    qn_buf_clear(&state->body);
    qn_buf_append_format(&state->body, "{\"QueueName\":\"%s\"%s}", names[queue],
                         queue == 2 ? ",\"Attributes\":{\"FifoQueue\":\"true\","
                                      "\"ContentBasedDeduplication\":\"true\"}"
                                    : "");
    require(call(state, "CreateQueue").code == QN_ERR_NONE, "no queue", qn_buf_str(&state->answer));
}

static void send(struct state *state, int queue)
{
    begin_body(state, queue);
    qn_buf_append_format(&state->body, ",\"MessageBody\":\"%zu\"%s}", (size_t)state->f.sequence,
                         queue == 2 ? ",\"MessageGroupId\":\"g\"" : "");
    (void)call(state, "SendMessage");
}

static void receive(struct state *state, int queue)
{
    struct exchange done = simple(state, "ReceiveMessage", queue, ",\"MaxNumberOfMessages\":3");
    size_t i;
    json_t *message;

    require(done.code == QN_ERR_NONE, "nothing received", qn_buf_str(&state->answer));
    json_t *answer = answer_of(state);
    json_array_foreach(json_object_get(answer, "Messages"), i, message)
    {
        const char *handle = json_string_value(json_object_get(message, "ReceiptHandle"));
        require(strlen(handle) == HANDLE_LEN, "a handle of another length",
                qn_str_from_cstr(handle));
        if (state->count < KNOWN_MAX) {
            struct known *known = &state->known[state->count++];
            memcpy(known->text, handle, sizeof(known->text));
            known->queue = queue;
            known->life = state->lives[queue];
        }
    }
    json_decref(answer);
}

/* ---- forging ---- */

static struct qn_str handle(const struct state *state)
{
    return qn_str(state->text, state->len);
}

static void set_handle(struct state *state, struct qn_str text)
{
    state->len = text.len < TEXT_MAX ? text.len : TEXT_MAX;
    memcpy(state->text, text.ptr, state->len);
}

static void set_sealed(struct state *state, const uint8_t sealed[QN_SEAL_SEALED])
{
    set_handle(state,
               qn_digest_base64(&state->f.arena, qn_str((const char *)sealed, QN_SEAL_SEALED)));
}

static const struct known *pick(struct state *state)
{
    uint8_t number = qn_reader_u8(&state->input);

    return state->count == 0 ? NULL : &state->known[number % state->count];
}

/* The bytes of a handle with one of them altered, or with a half of another handle. */
static void alter_sealed(struct state *state, const struct known *known, bool exchanges_half)
{
    struct qn_str sealed;
    uint8_t bytes[QN_SEAL_SEALED];
    uint8_t place = qn_reader_u8(&state->input);
    const struct known *other = pick(state);
    bool ok = qn_digest_decode_base64(&state->f.arena, qn_str_from_cstr(known->text), &sealed);

    require(ok && sealed.len == sizeof(bytes), "a handle that is not base64",
            qn_str_from_cstr(known->text));
    memcpy(bytes, sealed.ptr, sizeof(bytes));
    if (exchanges_half) {
        ok = qn_digest_decode_base64(&state->f.arena, qn_str_from_cstr(other->text), &sealed);
        require(ok, "base64", qn_str_from_cstr(other->text));
        memcpy(bytes + place % 2 * 16, sealed.ptr + place % 2 * 16, 16);
    } else {
        bytes[place % sizeof(bytes)] ^= qn_reader_u8(&state->input);
    }
    set_sealed(state, bytes);
}

/* What a server with another key would have given out. */
static void seal_elsewhere(struct state *state)
{
    struct qn_seal seal;
    uint8_t key[16] = "another server's";
    uint8_t plain[QN_SEAL_PLAIN] = {0};
    uint8_t sealed[QN_SEAL_SEALED];

    for (size_t i = 0; i < sizeof(plain); i += 4) {
        plain[i] = qn_reader_u8(&state->input) % 8;
    }
    qn_seal_init(&seal, key);
    qn_seal_close(&seal, plain, sealed);
    set_sealed(state, sealed);
}

static void alter_text(struct state *state, int how)
{
    static const char alike[] = "+-/_=AQgw aZ";
    size_t place = qn_reader_u8(&state->input) % state->len;
    uint8_t value = qn_reader_u8(&state->input);
    char *at = &state->text[place];

    switch (how) {
    case 0:
        *at = (char)(*at ^ (value & 0x7F));
        break;
    case 1:
        *at = alike[value % (sizeof(alike) - 1)];
        break;
    case 2:
        state->len = place;
        break;
    case 3:
        state->text[state->len++] = alike[value % (sizeof(alike) - 1)];
        break;
    case 4:
        *at = (char)(*at ^ 0x20); /* the other case */
        break;
    default:
        /* The last character before the padding has two bits that no byte needs. */
        state->text[HANDLE_LEN - 2] = (char)(state->text[HANDLE_LEN - 2] + value % 4);
        break;
    }
}

/* The text of the input itself. */
static void take_raw(struct state *state)
{
    size_t left = (size_t)(state->input.end - state->input.at);
    size_t len = qn_reader_u8(&state->input);

    set_handle(state, qn_reader_raw(&state->input, len < left ? len : 0));
}

static void forge(struct state *state)
{
    uint8_t how = qn_reader_u8(&state->input) % 12;
    const struct known *known = pick(state);

    if (known == NULL || how == 11) {
        take_raw(state);
        return;
    }
    set_handle(state, qn_str_from_cstr(known->text));
    switch (how) {
    case 0:
    case 1:
        break; /* as it was given */
    case 2:
    case 3:
        alter_sealed(state, known, how == 3);
        break;
    case 4:
        seal_elsewhere(state);
        break;
    default:
        alter_text(state, how - 5);
        break;
    }
}

/* ---- using ---- */

static bool was_given(const struct state *state, int queue)
{
    for (size_t i = 0; i < state->count; i++) {
        const struct known *known = &state->known[i];
        if (known->queue == queue && known->life == state->lives[queue] &&
            qn_str_equal(handle(state), qn_str_from_cstr(known->text))) {
            return true;
        }
    }
    return false;
}

static int64_t stored(struct state *state, int queue)
{
    struct qn_queue_counts counts = qn_queue_counts_of(fixture_queue(&state->f, names[queue]));

    return counts.visible + counts.in_flight + counts.delayed;
}

static void append_entry(struct state *state, const char *id, struct qn_str text, bool changes)
{
    qn_buf_append_format(&state->body, "{\"Id\":\"%s\",\"ReceiptHandle\":", id);
    qn_buf_append_json_string(&state->body, text);
    qn_buf_append_format(&state->body, "%s}", changes ? ",\"VisibilityTimeout\":5" : "");
}

/* By itself. */
static void use(struct state *state, int queue, bool changes)
{
    int64_t before = stored(state, queue);

    begin_body(state, queue);
    qn_buf_append_str(&state->body, QN_STR(",\"ReceiptHandle\":"));
    qn_buf_append_json_string(&state->body, handle(state));
    qn_buf_append_format(&state->body, "%s}", changes ? ",\"VisibilityTimeout\":0" : "");
    struct exchange done = call(state, changes ? "ChangeMessageVisibility" : "DeleteMessage");
    int64_t gone = before - stored(state, queue);

    if (was_given(state, queue)) {
        require(done.code == QN_ERR_NONE || done.code == QN_ERR_INVALID_PARAMETER_VALUE,
                "a real handle was called invalid", handle(state));
        require(gone <= (changes ? 0 : 1), "more than its message is gone", handle(state));
    } else {
        require(done.code == QN_ERR_RECEIPT_HANDLE_IS_INVALID ||
                    (state->len == 0 && done.code == QN_ERR_MISSING_PARAMETER),
                "a forged handle was taken", handle(state));
        require(gone == 0, "a forged handle deleted", handle(state));
    }
}

/* In a batch beside one that may be real. */
static void use_in_batch(struct state *state, int queue, bool changes)
{
    const struct known *real = pick(state);
    bool may_pass = was_given(state, queue);
    size_t i;
    json_t *entry;

    begin_body(state, queue);
    qn_buf_append_str(&state->body, QN_STR(",\"Entries\":["));
    append_entry(state, "forged", handle(state), changes);
    if (real != NULL) {
        qn_buf_append_char(&state->body, ',');
        append_entry(state, "real", qn_str_from_cstr(real->text), changes);
    }
    qn_buf_append_str(&state->body, QN_STR("]}"));
    struct exchange done =
        call(state, changes ? "ChangeMessageVisibilityBatch" : "DeleteMessageBatch");
    if (done.code != QN_ERR_NONE) {
        return;
    }
    json_t *answer = answer_of(state);
    json_array_foreach(json_object_get(answer, "Successful"), i, entry)
    {
        const char *id = json_string_value(json_object_get(entry, "Id"));
        require(may_pass || strcmp(id, "forged") != 0, "a forged handle passed in a batch",
                handle(state));
    }
    json_decref(answer);
}

/* ---- steps ---- */

static void remake(struct state *state, int queue)
{
    (void)simple(state, "DeleteQueue", queue, "");
    state->lives[queue]++;
    fixture_advance_s(&state->f, 1);
    create(state, queue);
}

static void step(struct state *state)
{
    uint8_t what = qn_reader_u8(&state->input);
    int queue = what / 16 % QUEUES;

    switch (what % 16) {
    case 0:
    case 1:
        send(state, queue);
        break;
    case 2:
    case 3:
    case 4:
        receive(state, queue);
        break;
    case 5:
        fixture_advance_s(&state->f, qn_reader_u8(&state->input));
        break;
    case 6:
        fixture_restart(&state->f);
        break;
    case 7:
        (void)simple(state, "PurgeQueue", queue, "");
        break;
    case 8:
        remake(state, queue);
        break;
    default:
        forge(state);
        if (!qn_str_is_utf8(handle(state))) {
            break; /* no JSON holds it */
        }
        if (what % 16 < 13) {
            use(state, queue, what % 2 == 0);
        } else {
            use_in_batch(state, queue, what % 2 == 0);
        }
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct state state;

    state = (struct state){.count = 0};
    fixture_open(&state.f);
    qn_buf_init(&state.body, SIZE_MAX);
    qn_buf_init(&state.answer, SIZE_MAX);
    qn_reader_init(&state.input, qn_str((const char *)data, size));
    for (int i = 0; i < QUEUES; i++) {
        create(&state, i);
        send(&state, i);
        send(&state, i);
        receive(&state, i);
    }
    for (int i = 0; i < STEPS_MAX && state.input.at < state.input.end; i++) {
        step(&state);
    }
    qn_buf_done(&state.body);
    qn_buf_done(&state.answer);
    fixture_close(&state.f);
    return 0;
}
