/* Where a client gets its settings from: the options, the environment, the files of the AWS tools,
 * in this order. */
#ifndef QUERN_SETTINGS_H
#define QUERN_SETTINGS_H

#include "client/quern.h"

struct quern_settings {
    char *endpoint; /* without a slash at its end */
    char *region;
    char *access_key; /* NULL: requests go unsigned */
    char *secret_key;
    char *session_token; /* NULL: none */
    char *ca_bundle;     /* a file of certificates; NULL: those of the system */
    int max_attempts;
};

/* Frees what was there only after a success. err: InvalidConfiguration. */
bool quern_settings_read(const struct quern_options *options, struct quern_settings *ret_settings,
                         struct quern_error *err);
/* Accepts zeroed settings. */
void quern_settings_done(struct quern_settings *settings);

/* AWS's own endpoint for the region. */
char *quern_settings_amazon_endpoint(const char *region);

#endif
