/* A stored trace, read by two threads: each parses a piece of the file, and the one that called
 * puts what was parsed into the history, in order. Parsing takes longer, so that one helps with it
 * when the next piece is not there yet. Only few pieces are in memory: a file is as large as its
 * events. */
#include "chaos/check/read_ahead.h"

#include <pthread.h>
#include <signal.h>

#include "chaos/check/lines.h"

/* A piece is large, as a thread that must be woken costs more than the cache saves. */
enum { PIECE_BYTES = 1024 * 1024, PIECES = 4 };

enum state {
    FREE,
    CLAIMED, /* some thread parses it */
    FULL,    /* it is for the history */
};

struct piece {
    enum state state;
    bool is_last;
    bool is_wrong;
    struct qn_buf text;
    struct qn_check_lines lines;
    struct qn_error reason; /* why the line behind those is none */
};

struct ahead {
    FILE *file;
    char *block;
    struct qn_buf left; /* the beginning of a line, until the rest of it is read */
    struct piece pieces[PIECES];
    size_t next; /* the piece that is read next */
    bool is_over;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

/* Whole lines, or all that is left. False: that was the end of the file. */
static bool read_piece(struct ahead *ahead, struct qn_buf *text)
{
    size_t len;

    qn_buf_clear(text);
    qn_buf_append_str(text, qn_buf_str(&ahead->left));
    qn_buf_clear(&ahead->left);
    while ((len = fread(ahead->block, 1, PIECE_BYTES, ahead->file)) > 0) {
        const char *last = memrchr(ahead->block, '\n', len);
        size_t whole = last != NULL ? (size_t)(last - ahead->block) + 1 : 0;
        if (whole > 0) {
            qn_buf_append(text, ahead->block, whole);
            qn_buf_append(&ahead->left, ahead->block + whole, len - whole);
            return true;
        }
        qn_buf_append(text, ahead->block, len);
    }
    return false;
}

/* With the mutex held. NULL: all are in use, or nothing is left to be read. */
static struct piece *claim(struct ahead *ahead)
{
    struct piece *piece = &ahead->pieces[ahead->next];

    if (ahead->is_over || piece->state != FREE) {
        return NULL;
    }
    ahead->next = (ahead->next + 1) % PIECES;
    piece->state = CLAIMED;
    piece->is_last = !read_piece(ahead, &piece->text);
    ahead->is_over = piece->is_last;
    return piece;
}

/* With the mutex held, which it gives back meanwhile. */
static void parse(struct ahead *ahead, struct piece *piece)
{
    (void)pthread_mutex_unlock(&ahead->mutex);
    piece->is_wrong =
        !qn_check_lines_parse(&piece->lines, qn_buf_str(&piece->text), &piece->reason);
    (void)pthread_mutex_lock(&ahead->mutex);
    ahead->is_over = ahead->is_over || piece->is_wrong;
    piece->state = FULL;
    (void)pthread_cond_signal(&ahead->changed);
}

/* With the mutex held, which it gives back meanwhile. */
static void parse_or_wait(struct ahead *ahead)
{
    struct piece *piece = claim(ahead);

    if (piece != NULL) {
        parse(ahead, piece);
    } else {
        (void)pthread_cond_wait(&ahead->changed, &ahead->mutex);
    }
}

static void *parse_all(void *state)
{
    struct ahead *ahead = state;

    (void)pthread_mutex_lock(&ahead->mutex);
    while (!ahead->is_over) {
        parse_or_wait(ahead);
    }
    (void)pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

static void wait_for(struct ahead *ahead, const struct piece *wanted)
{
    (void)pthread_mutex_lock(&ahead->mutex);
    while (wanted->state != FULL) {
        parse_or_wait(ahead);
    }
    (void)pthread_mutex_unlock(&ahead->mutex);
}

static void give_back(struct ahead *ahead, struct piece *piece)
{
    (void)pthread_mutex_lock(&ahead->mutex);
    piece->state = FREE;
    (void)pthread_cond_signal(&ahead->changed);
    (void)pthread_mutex_unlock(&ahead->mutex);
}

/* Both threads wait for the same condition, but never at once: one of them has a piece. */
static bool take_all(struct ahead *ahead, struct qn_history *history, struct qn_error *err)
{
    for (size_t i = 0;; i = (i + 1) % PIECES) {
        struct piece *piece = &ahead->pieces[i];
        wait_for(ahead, piece);
        qn_history_add_lines(history, &piece->lines);
        if (piece->is_wrong) {
            return qn_fail(err, piece->reason.code, "%s", piece->reason.message);
        }
        if (piece->is_last) {
            return true;
        }
        give_back(ahead, piece);
    }
}

static void ahead_init(struct ahead *ahead, FILE *file)
{
    *ahead = (struct ahead){.file = file, .block = qn_memory_new(PIECE_BYTES)};
    qn_buf_init(&ahead->left, SIZE_MAX / 2);
    for (size_t i = 0; i < PIECES; i++) {
        qn_buf_init(&ahead->pieces[i].text, SIZE_MAX / 2);
        qn_check_lines_init(&ahead->pieces[i].lines);
    }
    (void)pthread_mutex_init(&ahead->mutex, NULL);
    (void)pthread_cond_init(&ahead->changed, NULL);
}

static void ahead_done(struct ahead *ahead)
{
    for (size_t i = 0; i < PIECES; i++) {
        qn_buf_done(&ahead->pieces[i].text);
        qn_check_lines_done(&ahead->pieces[i].lines);
    }
    qn_buf_done(&ahead->left);
    qn_memory_free(ahead->block);
    (void)pthread_cond_destroy(&ahead->changed);
    (void)pthread_mutex_destroy(&ahead->mutex);
}

bool qn_history_read_file(struct qn_history *history, FILE *file, struct qn_error *err)
{
    struct ahead ahead;
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    ahead_init(&ahead, file);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are for the thread that was there */
    bool has_thread = pthread_create(&thread, NULL, parse_all, &ahead) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    bool ok =
        take_all(&ahead, history, err); /* which does all of it where no thread is to be had */
    if (has_thread) {
        (void)pthread_join(thread, NULL);
    }
    ahead_done(&ahead);
    return ok;
}
