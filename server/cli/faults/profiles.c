/* `quern chaos profiles` and `quern chaos show`: the ready-made rules that are in this program. No
 * server is asked. */
#include <stdio.h>

#include "chaos/profiles.h"
#include "server/cli/faults/faults.h"

static const struct qn_option profiles_options[] = {
    {"json", NULL, NULL, NULL, "print JSON", 0},
};
enum { PROFILES_JSON, PROFILES_COUNT };

static json_t *title_of(const struct qn_embedded *profile)
{
    struct qn_str title = qn_profiles_title(profile);

    return json_stringn(title.ptr, title.len);
}

static void print_json(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < qn_embedded_profile_count; i++) {
        const struct qn_embedded *profile = &qn_embedded_profiles[i];
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "name", profile->name, "title", title_of(profile)));
    }
    qn_remote_print_json(list);
}

static void print_table(void)
{
    struct qn_columns table;

    qn_columns_begin(&table, (const char *const[]){"NAME", "WHAT IT DOES"}, 2);
    for (size_t i = 0; i < qn_embedded_profile_count; i++) {
        json_t *title = title_of(&qn_embedded_profiles[i]);
        qn_columns_add(&table, qn_embedded_profiles[i].name);
        qn_columns_add(&table, json_string_value(title));
        json_decref(title);
    }
    qn_columns_print(&table);
    qn_columns_done(&table);
}

int qn_chaos_profiles_main(int argc, char **argv)
{
    struct qn_remote remote;
    int code = QN_EXIT_OK;

    if (!qn_remote_read(&remote, "chaos profiles [OPTIONS]", profiles_options, PROFILES_COUNT, 0, 0,
                        argc, argv, &code)) {
        return code;
    }
    if (qn_options_is_on(&remote.options, PROFILES_JSON)) {
        print_json();
    } else {
        print_table();
    }
    qn_remote_close(&remote);
    return code;
}

int qn_chaos_show_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct qn_error err;
    int code = QN_EXIT_OK;

    if (!qn_remote_read(&remote, "chaos show PROFILE", NULL, 0, 1, 1, argc, argv, &code)) {
        return code;
    }
    const char *name = remote.options.words[0];
    const struct qn_embedded *profile = qn_profiles_find(qn_str_from_cstr(name));
    if (profile != NULL) {
        (void)fwrite(profile->data, 1, profile->size, stdout);
    } else {
        (void)qn_profiles_fail(name, &err);
        code = qn_remote_misuse(&remote, &err);
    }
    qn_remote_close(&remote);
    return code;
}
