/* `quern judge`: a stored trace, judged again. */
#include <errno.h>
#include <stdio.h>

#include "chaos/check/check.h"
#include "chaos/check/report/report.h"

static int complain(const struct qn_error *err)
{
    (void)fprintf(stderr, "quern judge: %s\n", err->message);
    return QN_CHECK_USAGE;
}

static bool read_file(const char *path, struct qn_buf *buf, struct qn_error *err)
{
    char block[16384];
    size_t len;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");

    if (file == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", path, strerror(errno));
    }
    while ((len = fread(block, 1, sizeof(block), file)) > 0) {
        qn_buf_append(buf, block, len);
    }
    bool ok = ferror(file) == 0;
    if (file != stdin) {
        (void)fclose(file);
    }
    return ok || qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: cannot be read", path);
}

static int print_judgement(const struct qn_history *history, const struct qn_judgement *judgement)
{
    static const int codes[QN_OUTCOME_COUNT] = {
        [QN_OUTCOME_FAIL] = QN_CHECK_FAILED,
        [QN_OUTCOME_INCONCLUSIVE] = QN_CHECK_INCONCLUSIVE,
        [QN_OUTCOME_ERROR] = QN_CHECK_BROKEN,
    };

    (void)printf("%s%s%s\n", qn_outcome_name(judgement->outcome),
                 judgement->text[0] != '\0' ? "  " : "", judgement->text);
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        static const char *const results[] = {"held", "BROKEN", "not observable"};
        (void)printf("  %-20s %s%s%s\n", invariant->name, results[invariant->finding.result],
                     invariant->finding.text[0] != '\0' ? ": " : "", invariant->finding.text);
        if (invariant->finding.result == QN_RESULT_FAIL) {
            qn_report_witness(stdout, history, &invariant->finding);
        }
    }
    return codes[judgement->outcome];
}

int qn_judge_main(int argc, char **argv)
{
    struct qn_history history;
    struct qn_judgement judgement = {0};
    struct qn_buf text;
    struct qn_error err;
    int code;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        (void)puts("usage: quern judge TRACE\n\nJudges a trace that `quern check --keep` stored.");
        return QN_CHECK_WELL;
    }
    if (argc != 2 || (argv[1][0] == '-' && argv[1][1] != '\0')) {
        (void)fputs("quern judge: usage: quern judge TRACE (- for stdin)\n", stderr);
        return QN_CHECK_USAGE;
    }
    qn_history_init(&history);
    qn_buf_init(&text, SIZE_MAX / 2);
    if (!read_file(argv[1], &text, &err)) {
        code = complain(&err);
        goto out;
    }
    if (!qn_history_read(&history, qn_buf_str(&text), &err)) {
        (void)fprintf(stderr, "quern judge: %s is no trace of quern check --keep: %s\n", argv[1],
                      err.message);
        code = QN_CHECK_USAGE;
        goto out;
    }
    qn_history_settle(&history);
    code = qn_judge(&history, &judgement, &err) ? print_judgement(&history, &judgement)
                                                : complain(&err);

out:
    qn_judgement_done(&judgement);
    qn_buf_done(&text);
    qn_history_done(&history);
    return code;
}
