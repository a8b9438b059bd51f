/* The books in the JSON report: what became of the messages, of each scenario and in all. */
#include "chaos/check/report/report.h"

static void set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

static void set_number(json_t *object, const char *name, int64_t value)
{
    set(object, name, json_integer(value));
}

static json_t *accounting(const struct qn_accounting *a)
{
    json_t *object = json_object();
    const struct {
        const char *name;
        json_t *keys;
    } lists[] = {
        {"lost", a->lost},           {"unexpected", a->unexpected}, {"duplicated", a->duplicated},
        {"recovered", a->recovered}, {"orphaned", a->orphaned},     {"premature", a->premature},
    };

    set_number(object, "attempts", a->attempts);
    set_number(object, "acked", a->acked);
    set_number(object, "applied", a->applied);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        set(object, lists[i].name,
            lists[i].keys != NULL ? json_incref(lists[i].keys) : json_array());
    }
    return object;
}

/* What the sink refused; none of it without a refusal. */
static void set_refusals(json_t *object, const struct qn_counts *counts)
{
    if (qn_report_refusals(counts) > 0) {
        set(object, "sink_refused",
            json_pack("{s:I, s:I, s:I}", "over_capacity", (json_int_t)counts->over_capacity,
                      "unavailable", (json_int_t)counts->unavailable, "not_taken",
                      (json_int_t)counts->not_taken));
    }
}

/* NULL: there are not several. */
static json_t *tenants_of(const struct qn_report_entry *entry)
{
    struct qn_tenants tenants;
    json_t *list = NULL;

    qn_report_tenants(entry, &tenants);
    for (size_t i = 0; i < tenants.count; i++) {
        const struct qn_tenant *one = &tenants.items[i];
        json_t *object = json_object();
        set(object, "tenant", qn_report_json_text(one->name));
        set_number(object, "sent", (int64_t)one->sent);
        set_number(object, "done", (int64_t)one->done);
        set_number(object, "p50_ms", one->p50_ms);
        set_number(object, "p95_ms", one->p95_ms);
        list = list != NULL ? list : json_array();
        json_array_append_new(list, object);
    }
    return list;
}

/* NULL: it is no FIFO queue. */
static json_t *groups_of(const struct qn_report_entry *entry)
{
    struct qn_group_holds holds;
    json_t *list = NULL;

    qn_report_group_holds(entry, &holds);
    for (size_t i = 0; i < holds.count; i++) {
        const struct qn_group_hold *one = &holds.items[i];
        json_t *object = json_object();
        set(object, "group", qn_report_json_text(one->name));
        set_number(object, "sent", one->sent);
        set_number(object, "done", one->done);
        set_number(object, "held_ms", one->held_ms);
        if (one->held_ms > 0) {
            set(object, "behind", qn_report_json_text(one->behind));
            set_number(object, "leases", one->leases);
            set_number(object, "waiting", one->waiting);
        }
        set(object, "stuck", json_boolean(one->is_stuck));
        list = list != NULL ? list : json_array();
        json_array_append_new(list, object);
    }
    return list;
}

static void add_letter(void *context, const struct qn_dead_letter *letter)
{
    json_t *object = json_object();

    set(object, "message_id", qn_report_json_text(letter->mid));
    if (letter->k.len > 0) {
        set(object, "key", qn_report_json_text(letter->k));
    }
    set_number(object, "receives", letter->receives);
    if (letter->sent_at_ms != QN_EVENT_NO_INT) {
        set_number(object, "first_sent_at_ms", letter->sent_at_ms);
    }
    set(object, "reason", qn_report_json_text(letter->reason));
    set(object, "body", qn_report_json_text(letter->body));
    json_array_append_new(context, object);
}

void qn_report_json_books(json_t *object, const struct qn_report_entry *entry)
{
    struct qn_counts counts;
    json_t *books = accounting(&entry->result.judgement.accounting);
    qn_report_counts(entry, &counts);
    set_number(books, "deleted", counts.deleted);
    set_refusals(books, &counts);
    set(object, "accounting", books);
    json_t *tenants = tenants_of(entry);
    if (tenants != NULL) {
        set(object, "tenants", tenants);
    }
    json_t *groups = groups_of(entry);
    if (groups != NULL) {
        set(object, "groups", groups);
    }
    json_t *letters = json_array();
    qn_report_dead_letters(entry, add_letter, letters);
    if (json_array_size(letters) > 0) {
        set(object, "dead_letters", json_incref(letters));
    }
    json_decref(letters);
}

/* Each scenario has a k-000 of its own. */
static void add_keys(json_t *sum, const json_t *keys, struct qn_str scenario)
{
    size_t i;
    const json_t *key;

    json_array_foreach(keys, i, key)
    {
        json_array_append_new(
            sum, json_sprintf("%.*s/%s", QN_STR_ARG(scenario), json_string_value(key)));
    }
}

json_t *qn_report_json_total(const struct qn_report *report)
{
    struct qn_accounting sum = {
        .lost = json_array(),
        .unexpected = json_array(),
        .duplicated = json_array(),
        .recovered = json_array(),
        .orphaned = json_array(),
        .premature = json_array(),
    };

    for (size_t i = 0; i < report->count; i++) {
        const struct qn_accounting *a = &report->entries[i].result.judgement.accounting;
        sum.attempts += a->attempts;
        sum.acked += a->acked;
        sum.applied += a->applied;
        if (a->lost != NULL) {
            struct qn_str id = report->entries[i].scenario->id;
            add_keys(sum.lost, a->lost, id);
            add_keys(sum.unexpected, a->unexpected, id);
            add_keys(sum.duplicated, a->duplicated, id);
            add_keys(sum.recovered, a->recovered, id);
            add_keys(sum.orphaned, a->orphaned, id);
            add_keys(sum.premature, a->premature, id);
        }
    }
    struct qn_counts counts;
    json_t *object = accounting(&sum);
    qn_report_total_counts(report, &counts);
    set_number(object, "deleted", counts.deleted);
    set_refusals(object, &counts);
    qn_accounting_done(&sum);
    return object;
}
