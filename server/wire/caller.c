/* Who asks: access key, account and region, from the credential scope of the request's signature.
 * The signature itself is not looked at. */
#include "server/wire/codec.h"

enum { ACCOUNT_DIGITS = 12, ACCESS_KEY_MAX = 128, REGION_MAX = 64 };

/* The credential's parts end up in ARNs and traces, so odd ones count as not sent. */
static bool is_plain(struct qn_str text, size_t max)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!qn_char_is_alphanumeric(c) && c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return text.len > 0 && text.len <= max;
}

static bool is_account(struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return false;
        }
    }
    return text.len == ACCOUNT_DIGITS;
}

void qn_wire_use_access_key(struct qn_caller *caller, struct qn_str access_key_id)
{
    if (!is_plain(access_key_id, ACCESS_KEY_MAX)) {
        return;
    }
    caller->access_key_id = access_key_id;
    if (is_account(access_key_id)) {
        caller->account = access_key_id;
    }
}

/* "AKID/20260101/us-east-1/sqs/aws4_request" */
static void use_credential(struct qn_caller *caller, struct qn_str credential)
{
    struct qn_str rest;
    struct qn_str access_key_id = qn_str_cut(credential, '/', &rest);
    struct qn_str region;

    qn_wire_use_access_key(caller, access_key_id);
    qn_str_cut(rest, '/', &rest); /* the date */
    region = qn_str_cut(rest, '/', &rest);
    if (is_plain(region, REGION_MAX)) {
        caller->region = region;
    }
}

/* What stands behind "Credential=" in the Authorization header, or none. */
static struct qn_str credential_of(struct qn_str authorization)
{
    const struct qn_str algorithm = QN_STR("AWS4-HMAC-SHA256 ");
    const struct qn_str label = QN_STR("Credential=");
    struct qn_str rest;
    size_t at;

    if (qn_str_starts_with(authorization, algorithm)) {
        authorization = qn_str_from(authorization, algorithm.len);
    }
    at = qn_str_find(authorization, label);

    if (at == authorization.len) {
        return QN_STR_NONE;
    }
    return qn_str_trim(qn_str_cut(qn_str_from(authorization, at + label.len), ',', &rest));
}

void qn_wire_read_caller(struct qn_request *request, const struct qn_wire_defaults *defaults)
{
    struct qn_caller *caller = &request->caller;
    struct qn_str credential = credential_of(request->http.authorization);
    struct qn_wire_form form = {.query = request->http.query, .body = QN_STR_NONE};
    struct qn_error ignored; /* without a readable credential the request is as good as unsigned */

    caller->account = defaults->account;
    caller->region = defaults->region;
    caller->access_key_id = QN_STR_NONE;
    if (qn_str_is_none(credential) &&
        !qn_wire_form_get(&request->arena, &form, "X-Amz-Credential", &credential, &ignored)) {
        return;
    }
    use_credential(caller, credential);
}
