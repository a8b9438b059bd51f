/* What a profile of the AWS tools says. */
#ifndef QUERN_PROFILE_H
#define QUERN_PROFILE_H

#include "client/ini.h"

struct quern_profile {
    struct quern_ini config;
    struct quern_ini credentials;
    struct qn_str name;
    struct qn_str config_section; /* "default" or "profile NAME" */
};

/* Reads both files, those that are there. False: one of them cannot be read, or is none of the
 * format. The profile can be used, and has to be freed, either way. */
bool quern_profile_open(struct quern_profile *profile, const char *name, struct quern_error *err);
void quern_profile_close(struct quern_profile *profile);

/* Whether either file has it. */
bool quern_profile_is_there(const struct quern_profile *profile);
/* A setting of the config file, else of the credentials file; NULL: none. */
const char *quern_profile_get(const struct quern_profile *profile, const char *key);
/* The endpoint for SQS: of the profile's services section, else its endpoint_url; NULL: none. */
const char *quern_profile_endpoint(const struct quern_profile *profile);
/* Keys; NULL: the profile has none. The credentials file counts first. err tells of keys that are
 * there in part, or that somebody else would have to be asked for; without it, all are NULL. */
bool quern_profile_keys(const struct quern_profile *profile, const char **ret_access_key,
                        const char **ret_secret_key, const char **ret_session_token,
                        struct quern_error *err);

#endif
