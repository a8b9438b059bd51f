/* What a profile of the AWS tools says. Source: AWS SDKs and Tools Reference Guide, "Shared config
 * and credentials files" and the settings they list. */
#include "client/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <fcntl.h>

#include "client/internal.h"

enum { FILE_MAX_BYTES = 1024 * 1024 };

/* A file that is not there says nothing. */
static bool read_file(const char *path, struct qn_buf *text, struct quern_error *err)
{
    char block[4096];
    ssize_t got = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0) {
        return errno == ENOENT || errno == ENOTDIR ||
               quern_fail(err, "InvalidConfiguration", 0, "%s: %s", path, strerror(errno));
    }
    while ((got = read(file, block, sizeof(block))) > 0) {
        qn_buf_append(text, block, (size_t)got);
    }
    (void)close(file);
    return (got == 0 && !text->overflow) ||
           quern_fail(err, "InvalidConfiguration", 0, "%s: %s", path,
                      got < 0 ? strerror(errno) : "it is larger than any such file");
}

static bool read_ini(struct quern_ini *ini, const char *variable, const char *usual,
                     struct quern_error *err)
{
    const char *named = getenv(variable);
    const char *home = getenv("HOME");
    struct qn_buf path;
    struct qn_buf text;

    if ((named == NULL || named[0] == '\0') && home == NULL) {
        return true;
    }
    qn_buf_init(&path, FILE_MAX_BYTES);
    qn_buf_init(&text, FILE_MAX_BYTES);
    if (named != NULL && named[0] != '\0') {
        qn_buf_append_str(&path, qn_str_from_cstr(named));
    } else {
        qn_buf_append_format(&path, "%s/.aws/%s", home, usual);
    }
    qn_buf_append_char(&path, '\0');
    bool ok =
        read_file(path.ptr, &text, err) && quern_ini_read(ini, path.ptr, qn_buf_str(&text), err);
    qn_buf_done(&text);
    qn_buf_done(&path);
    return ok;
}

bool quern_profile_open(struct quern_profile *profile, const char *name, struct quern_error *err)
{
    quern_ini_init(&profile->config);
    quern_ini_init(&profile->credentials);
    profile->name = qn_arena_copy(&profile->config.arena, qn_str_from_cstr(name));
    profile->config_section = qn_arena_format(&profile->config.arena, "profile %s", name);
    bool ok = read_ini(&profile->config, "AWS_CONFIG_FILE", "config", err) &&
              read_ini(&profile->credentials, "AWS_SHARED_CREDENTIALS_FILE", "credentials", err);
    if (qn_str_equal(profile->name, QN_STR("default")) &&
        !quern_ini_has_section(&profile->config, profile->config_section)) {
        profile->config_section = profile->name;
    }
    return ok;
}

void quern_profile_close(struct quern_profile *profile)
{
    quern_ini_done(&profile->config);
    quern_ini_done(&profile->credentials);
}

bool quern_profile_is_there(const struct quern_profile *profile)
{
    return quern_ini_has_section(&profile->config, profile->config_section) ||
           quern_ini_has_section(&profile->credentials, profile->name);
}

const char *quern_profile_get(const struct quern_profile *profile, const char *key)
{
    const char *value = quern_ini_get(&profile->config, profile->config_section, key);

    return value != NULL ? value : quern_ini_get(&profile->credentials, profile->name, key);
}

const char *quern_profile_endpoint(const struct quern_profile *profile)
{
    const char *services = quern_profile_get(profile, "services");
    const char *endpoint = NULL;
    struct qn_buf section;

    if (services != NULL) {
        qn_buf_init(&section, FILE_MAX_BYTES);
        qn_buf_append_format(&section, "services %s", services);
        endpoint = quern_ini_get(&profile->config, qn_buf_str(&section), "sqs.endpoint_url");
        qn_buf_done(&section);
    }
    return endpoint != NULL ? endpoint : quern_profile_get(profile, "endpoint_url");
}

/* Ways to keys that ask another program or another service. */
static const char *const others[] = {"credential_process", "role_arn", "sso_session",
                                     "sso_start_url", "web_identity_token_file"};

bool quern_profile_keys(const struct quern_profile *profile, const char **ret_access_key,
                        const char **ret_secret_key, const char **ret_session_token,
                        struct quern_error *err)
{
    const struct quern_ini *ini = &profile->credentials;
    struct qn_str section = profile->name;

    if (quern_ini_get(ini, section, "aws_access_key_id") == NULL) {
        ini = &profile->config;
        section = profile->config_section;
    }
    const char *access_key = quern_ini_get(ini, section, "aws_access_key_id");
    const char *secret_key = quern_ini_get(ini, section, "aws_secret_access_key");
    if (access_key != NULL && secret_key == NULL) {
        return quern_fail(err, "InvalidConfiguration", 0,
                          "profile %s has an aws_access_key_id: add its aws_secret_access_key",
                          profile->name.ptr);
    }
    for (size_t i = 0; access_key == NULL && i < sizeof(others) / sizeof(others[0]); i++) {
        if (quern_profile_get(profile, others[i]) != NULL) {
            return quern_fail(err, "InvalidConfiguration", 0,
                              "profile %s gets its keys by %s, which is not done here: put into "
                              "the environment what `aws configure export-credentials --profile %s "
                              "--format env` prints",
                              profile->name.ptr, others[i], profile->name.ptr);
        }
    }
    *ret_access_key = access_key;
    *ret_secret_key = access_key != NULL ? secret_key : NULL;
    *ret_session_token =
        access_key != NULL ? quern_ini_get(ini, section, "aws_session_token") : NULL;
    return true;
}
