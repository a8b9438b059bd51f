/* Where a client gets its settings from. Source: AWS SDKs and Tools Reference Guide, "Settings
 * reference": precedence of code, environment and files. */
#include "client/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/internal.h"
#include "client/profile.h"

enum { DEFAULT_ATTEMPTS = 3, ATTEMPTS_MAX = 1000, REGION_MAX = 63 };

/* What is being put together. */
struct sources {
    const struct quern_options *options;
    struct quern_profile profile;
    bool is_profile_named; /* by the options or the environment */
    /* What is wrong with files and keys. It counts only where keys are needed: against a server of
     * one's own nobody is to be kept from working by how the keys for AWS are got. */
    bool has_problem;
    struct quern_error problem;
};

static char *copy(const char *text)
{
    return text != NULL && text[0] != '\0' ? qn_memory_copy_text(text, strlen(text)) : NULL;
}

/* NULL when it is not set or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *first(const char *a, const char *b)
{
    return a != NULL ? a : b;
}

static void open_profile(struct sources *s)
{
    const char *name =
        first(s->options->profile, first(variable("AWS_PROFILE"), variable("AWS_DEFAULT_PROFILE")));

    s->is_profile_named = name != NULL;
    s->has_problem = !quern_profile_open(&s->profile, name != NULL ? name : "default", &s->problem);
    if (!s->has_problem && s->is_profile_named && !quern_profile_is_there(&s->profile)) {
        s->has_problem = true;
        (void)quern_fail(&s->problem, "InvalidConfiguration", 0,
                         "there is no profile %s in ~/.aws/config or ~/.aws/credentials", name);
    }
}

/* ---- region and endpoint ---- */

static bool choose_region(const struct sources *s, struct quern_settings *settings,
                          struct quern_error *err)
{
    const char *region = first(s->options->region, variable("AWS_REGION"));

    region = first(region, variable("AWS_DEFAULT_REGION"));
    region = first(region, quern_profile_get(&s->profile, "region"));
    settings->region = copy(region);
    if (settings->region == NULL) {
        settings->region = copy("us-east-1");
    }
    size_t len = strlen(settings->region);
    for (size_t i = 0; i < len; i++) {
        char c = settings->region[i];
        if (len > REGION_MAX || !(qn_char_is_alphanumeric(c) || c == '-')) {
            return quern_fail(err, "InvalidConfiguration", 0,
                              "%.80s is no region: write one like us-east-1", settings->region);
        }
    }
    return true;
}

/* Source: the partitions of the AWS SDKs. */
static const struct {
    const char *prefix; /* of the region */
    const char *domain;
} partitions[] = {
    {"cn-", "amazonaws.com.cn"},    {"us-iso-", "c2s.ic.gov"},      {"us-isob-", "sc2s.sgov.gov"},
    {"eu-isoe-", "cloud.adc-e.uk"}, {"us-isof-", "csp.hci.ic.gov"}, {"eusc-", "amazonaws.eu"},
    {"", "amazonaws.com"}, /* us-gov- too */
};

char *quern_settings_amazon_endpoint(const char *region)
{
    struct qn_buf endpoint;
    size_t i = 0;

    while (strncmp(region, partitions[i].prefix, strlen(partitions[i].prefix)) != 0) {
        i++;
    }
    qn_buf_init(&endpoint, SIZE_MAX / 2);
    qn_buf_append_format(&endpoint, "https://sqs.%s.%s", region, partitions[i].domain);
    return qn_buf_take(&endpoint, NULL);
}

static const char *configured_endpoint(const struct sources *s)
{
    const char *ignores = variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");

    if (s->options->endpoint != NULL && s->options->endpoint[0] != '\0') {
        return s->options->endpoint;
    }
    if (ignores != NULL && strcmp(ignores, "true") == 0) {
        return NULL;
    }
    const char *endpoint = first(variable("AWS_ENDPOINT_URL_SQS"), variable("AWS_ENDPOINT_URL"));
    return first(endpoint, quern_profile_endpoint(&s->profile));
}

static bool is_url(const char *text)
{
    return strncmp(text, "http://", strlen("http://")) == 0 ||
           strncmp(text, "https://", strlen("https://")) == 0;
}

/* Whether AWS answers there, so that keys are needed. */
static bool is_amazon(const char *endpoint)
{
    struct qn_str host = qn_str_from(qn_str_from_cstr(endpoint), strlen("https://"));

    for (size_t i = 0; i < sizeof(partitions) / sizeof(partitions[0]); i++) {
        if (qn_str_ends_with(host, qn_str_from_cstr(partitions[i].domain))) {
            return true;
        }
    }
    return false;
}

static bool choose_endpoint(const struct sources *s, struct quern_settings *settings,
                            struct quern_error *err)
{
    const char *endpoint = configured_endpoint(s);

    if (endpoint != NULL && !is_url(endpoint)) {
        return quern_fail(err, "InvalidConfiguration", 0,
                          "%.200s is no endpoint: write one like http://127.0.0.1:9324", endpoint);
    }
    settings->endpoint =
        endpoint != NULL ? copy(endpoint) : quern_settings_amazon_endpoint(settings->region);
    for (size_t len = strlen(settings->endpoint); settings->endpoint[len - 1] == '/'; len--) {
        settings->endpoint[len - 1] = '\0';
    }
    return true;
}

/* ---- keys ---- */

struct keys {
    const char *access_key;
    const char *secret_key;
    const char *session_token;
};

static bool are_whole(const struct keys *keys, const char *where, struct quern_error *err)
{
    if (keys->secret_key != NULL && keys->secret_key[0] != '\0') {
        return true;
    }
    return quern_fail(err, "InvalidConfiguration", 0, "the access key of %s has no secret key",
                      where);
}

/* The environment's, unless a profile was asked for in the program. */
static bool find_keys(struct sources *s, struct keys *keys, struct quern_error *err)
{
    const struct quern_options *o = s->options;

    if (o->access_key != NULL) {
        *keys =
            (struct keys){o->access_key, first(o->secret_key, variable("AWS_SECRET_ACCESS_KEY")),
                          first(o->session_token, variable("AWS_SESSION_TOKEN"))};
        return o->access_key[0] == '\0' || are_whole(keys, "the options", err);
    }
    if (o->profile == NULL && variable("AWS_ACCESS_KEY_ID") != NULL) {
        *keys = (struct keys){variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                              variable("AWS_SESSION_TOKEN")};
        return are_whole(keys, "the environment", err);
    }
    if (s->has_problem) {
        *err = s->problem;
        return false;
    }
    return quern_profile_keys(&s->profile, &keys->access_key, &keys->secret_key,
                              &keys->session_token, err);
}

static bool choose_keys(struct sources *s, struct quern_settings *settings, struct quern_error *err)
{
    struct keys keys = {NULL, NULL, NULL};
    bool are_needed = s->options->profile != NULL || is_amazon(settings->endpoint);
    struct quern_error problem;

    if (!find_keys(s, &keys, &problem)) {
        if (are_needed) {
            *err = problem;
            return false;
        }
        keys = (struct keys){NULL, NULL, NULL};
    }
    bool may_go_unsigned = s->options->access_key != NULL || !is_amazon(settings->endpoint);
    if (keys.access_key == NULL && !may_go_unsigned) {
        return quern_fail(err, "InvalidConfiguration", 0,
                          "no keys for AWS: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                          "name a profile of ~/.aws/credentials in AWS_PROFILE");
    }
    settings->access_key = copy(keys.access_key);
    settings->secret_key = copy(keys.secret_key);
    settings->session_token = copy(keys.session_token);
    return true;
}

/* ---- attempts ---- */

static bool choose_attempts(const struct sources *s, struct quern_settings *settings,
                            struct quern_error *err)
{
    static const char *const modes[] = {"standard", "legacy", "adaptive"};
    const char *mode =
        first(variable("AWS_RETRY_MODE"), quern_profile_get(&s->profile, "retry_mode"));
    const char *most =
        first(variable("AWS_MAX_ATTEMPTS"), quern_profile_get(&s->profile, "max_attempts"));
    int64_t attempts = s->options->max_attempts;

    /* The other modes are the standard one with other numbers: here they mean it. */
    if (mode != NULL && strcmp(mode, modes[0]) != 0 && strcmp(mode, modes[1]) != 0 &&
        strcmp(mode, modes[2]) != 0) {
        return quern_fail(err, "InvalidConfiguration", 0,
                          "%.40s is no retry mode: write standard in AWS_RETRY_MODE", mode);
    }
    if (attempts <= 0 && most != NULL &&
        !qn_str_to_int64(qn_str_from_cstr(most), 1, ATTEMPTS_MAX, &attempts)) {
        return quern_fail(err, "InvalidConfiguration", 0,
                          "AWS_MAX_ATTEMPTS is %.40s: write a number from 1 to %d", most,
                          ATTEMPTS_MAX);
    }
    settings->max_attempts = (int)(attempts > 0 ? attempts : DEFAULT_ATTEMPTS);
    return true;
}

/* ---- certificates ---- */

/* Where nothing is encrypted the file is of no use, and need not be there. */
static bool choose_certificates(const struct sources *s, struct quern_settings *settings,
                                struct quern_error *err)
{
    const char *file =
        first(variable("AWS_CA_BUNDLE"), quern_profile_get(&s->profile, "ca_bundle"));

    if (file == NULL || strncmp(settings->endpoint, "https://", strlen("https://")) != 0) {
        return true;
    }
    if (access(file, R_OK) != 0) {
        return quern_fail(err, "InvalidConfiguration", 0,
                          "AWS_CA_BUNDLE, or ca_bundle of the profile, is %.200s: %s", file,
                          strerror(errno));
    }
    settings->ca_bundle = copy(file);
    return true;
}

bool quern_settings_read(const struct quern_options *options, struct quern_settings *ret_settings,
                         struct quern_error *err)
{
    struct sources sources = {.options = options};
    struct quern_settings settings = {.max_attempts = 0};

    open_profile(&sources);
    bool ok = choose_region(&sources, &settings, err) &&
              choose_endpoint(&sources, &settings, err) && choose_keys(&sources, &settings, err) &&
              choose_attempts(&sources, &settings, err) &&
              choose_certificates(&sources, &settings, err);
    quern_profile_close(&sources.profile);
    if (!ok) {
        quern_settings_done(&settings);
        return false;
    }
    *ret_settings = settings;
    return true;
}

void quern_settings_done(struct quern_settings *settings)
{
    qn_memory_free(settings->endpoint);
    qn_memory_free(settings->region);
    qn_memory_free(settings->access_key);
    qn_memory_free(settings->secret_key);
    qn_memory_free(settings->session_token);
    qn_memory_free(settings->ca_bundle);
    *settings = (struct quern_settings){.max_attempts = 0};
}
