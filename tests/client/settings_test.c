/* Where a client gets its settings from. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/settings.h"

static char folder[] = "/tmp/quern-settings-XXXXXX";
static struct quern_options options;
static struct quern_settings settings;
static struct quern_error err;

/* Each test is a process of its own, so nobody else sees this environment. */
static void clear_environment(void)
{
    static const char *const names[] = {
        "AWS_ACCESS_KEY_ID",    "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",    "AWS_PROFILE",
        "AWS_DEFAULT_PROFILE",  "AWS_REGION",
        "AWS_DEFAULT_REGION",   "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_SQS", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        "AWS_RETRY_MODE",       "AWS_MAX_ATTEMPTS",
        "AWS_CONFIG_FILE",      "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_CA_BUNDLE",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)unsetenv(names[i]);
    }
    cr_assert_not_null(mkdtemp(folder));
    (void)setenv("HOME", folder, 1);
}

static void clean_up(void)
{
    char command[128];

    quern_settings_done(&settings);
    (void)snprintf(command, sizeof(command), "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
}

TestSuite(settings, .init = clear_environment, .fini = clean_up);

static void set(const char *name, const char *value)
{
    (void)setenv(name, value, 1);
}

/* A file in ~/.aws. */
static void write_file(const char *name, const char *text)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/.aws", folder);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s/.aws/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static void read_settings(void)
{
    quern_settings_done(&settings);
    cr_assert(quern_settings_read(&options, &settings, &err), "%s", err.message);
}

static void expect_refused(const char *part)
{
    cr_expect_not(quern_settings_read(&options, &settings, &err));
    cr_expect_str_eq(err.code, "InvalidConfiguration");
    cr_expect_not_null(strstr(err.message, part), "%s", err.message);
}

static void set_keys(void)
{
    set("AWS_ACCESS_KEY_ID", "AKID");
    set("AWS_SECRET_ACCESS_KEY", "secret");
}

/* ---- endpoint and region ---- */

Test(settings, endpoint_of_aws_is_that_of_the_region)
{
    set_keys();
    read_settings();
    cr_expect_str_eq(settings.endpoint, "https://sqs.us-east-1.amazonaws.com");
    cr_expect_str_eq(settings.region, "us-east-1");
    cr_expect_eq(settings.max_attempts, 3);
    set("AWS_DEFAULT_REGION", "eu-west-1");
    read_settings();
    cr_expect_str_eq(settings.endpoint, "https://sqs.eu-west-1.amazonaws.com");
    set("AWS_REGION", "us-gov-west-1");
    read_settings();
    cr_expect_str_eq(settings.endpoint, "https://sqs.us-gov-west-1.amazonaws.com");
    options.region = "cn-north-1";
    read_settings();
    cr_expect_str_eq(settings.endpoint, "https://sqs.cn-north-1.amazonaws.com.cn");
    options.region = "us-isob-east-1";
    read_settings();
    cr_expect_str_eq(settings.endpoint, "https://sqs.us-isob-east-1.sc2s.sgov.gov");
}

Test(settings, endpoint_is_the_options_then_the_environments_then_the_profiles)
{
    write_file("config", "[default]\nendpoint_url = http://p:1\nservices = s\n"
                         "[services s]\nsqs =\n  endpoint_url = http://s:1\n");
    read_settings();
    cr_expect_str_eq(settings.endpoint, "http://s:1");
    set("AWS_ENDPOINT_URL", "http://e:1/");
    read_settings();
    cr_expect_str_eq(settings.endpoint, "http://e:1");
    set("AWS_ENDPOINT_URL_SQS", "http://q:1");
    read_settings();
    cr_expect_str_eq(settings.endpoint, "http://q:1");
    options.endpoint = "http://o:1//";
    read_settings();
    cr_expect_str_eq(settings.endpoint, "http://o:1");
    options.endpoint = NULL;
    set_keys();
    set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
    read_settings();
    cr_expect_str_eq(settings.endpoint, "https://sqs.us-east-1.amazonaws.com");
}

Test(settings, endpoint_and_region_that_are_none_are_refused)
{
    options.endpoint = "localhost:9324";
    expect_refused("http://127.0.0.1:9324");
    options.endpoint = NULL;
    options.region = "us-east-1/..";
    expect_refused("no region");
}

/* ---- keys ---- */

Test(settings, keys_of_the_environment_come_before_those_of_the_profile)
{
    write_file("credentials", "[default]\naws_access_key_id=PK\naws_secret_access_key=ps\n"
                              "aws_session_token=pt\n");
    read_settings();
    cr_expect_str_eq(settings.access_key, "PK");
    cr_expect_str_eq(settings.secret_key, "ps");
    cr_expect_str_eq(settings.session_token, "pt");
    set_keys();
    read_settings();
    cr_expect_str_eq(settings.access_key, "AKID");
    cr_expect_null(settings.session_token);
    options.profile = "default";
    read_settings();
    cr_expect_str_eq(settings.access_key, "PK", "a profile asked for in the program comes first");
}

Test(settings, profile_is_named_by_the_environment)
{
    write_file("config", "[profile work]\nregion = eu-north-1\nmax_attempts = 7\n");
    write_file("credentials", "[work]\naws_access_key_id = WK\naws_secret_access_key = a+b/c==\n");
    set("AWS_PROFILE", "work");
    read_settings();
    cr_expect_str_eq(settings.access_key, "WK");
    cr_expect_str_eq(settings.secret_key, "a+b/c==");
    cr_expect_str_eq(settings.region, "eu-north-1");
    cr_expect_eq(settings.max_attempts, 7);
    set("AWS_PROFILE", "play");
    expect_refused("no profile play");
}

Test(settings, keys_may_stand_in_the_config_file_and_the_files_anywhere)
{
    char path[128];

    write_file("elsewhere", "[profile w]\naws_access_key_id=CK\naws_secret_access_key=cs\n");
    (void)snprintf(path, sizeof(path), "%s/.aws/elsewhere", folder);
    set("AWS_CONFIG_FILE", path);
    options.profile = "w";
    read_settings();
    cr_expect_str_eq(settings.access_key, "CK");
}

Test(settings, ways_to_keys_that_are_not_ours_are_refused_by_name)
{
    write_file("config", "[profile p]\ncredential_process = /bin/keys\n"
                         "[profile r]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = p\n");
    options.profile = "p";
    expect_refused("credential_process");
    options.profile = "r";
    expect_refused("role_arn");
    options.profile = NULL;
    set("AWS_PROFILE", "p");
    expect_refused("aws configure export-credentials --profile p");
    options.endpoint = "http://127.0.0.1:9324";
    read_settings(); /* a server of one's own needs none */
    cr_expect_null(settings.access_key);
}

Test(settings, half_a_key_is_refused)
{
    set("AWS_ACCESS_KEY_ID", "AKID");
    expect_refused("secret key");
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    write_file("credentials", "[default]\naws_access_key_id=PK\n");
    expect_refused("aws_secret_access_key");
}

Test(settings, aws_is_not_called_without_keys)
{
    expect_refused("AWS_ACCESS_KEY_ID");
    options.endpoint = "https://sqs.eu-west-1.amazonaws.com";
    expect_refused("AWS_ACCESS_KEY_ID");
    options.access_key = ""; /* but when that is asked for */
    read_settings();
    cr_expect_null(settings.access_key);
}

Test(settings, file_that_is_none_of_the_format_is_told)
{
    write_file("credentials", "[default\n");
    expect_refused("credentials, line 1");
}

/* ---- attempts ---- */

Test(settings, attempts_are_the_options_then_the_environments)
{
    set_keys();
    set("AWS_MAX_ATTEMPTS", "5");
    set("AWS_RETRY_MODE", "standard");
    read_settings();
    cr_expect_eq(settings.max_attempts, 5);
    options.max_attempts = 1;
    read_settings();
    cr_expect_eq(settings.max_attempts, 1);
    options.max_attempts = 0;
    set("AWS_MAX_ATTEMPTS", "0");
    expect_refused("AWS_MAX_ATTEMPTS");
    set("AWS_MAX_ATTEMPTS", "5");
    set("AWS_RETRY_MODE", "bold");
    expect_refused("AWS_RETRY_MODE");
}

Test(settings, certificates_are_those_of_a_file_or_of_the_system)
{
    char path[160];

    set("AWS_ENDPOINT_URL", "https://localhost:1");
    cr_assert(quern_settings_read(&options, &settings, &err));
    cr_expect_null(settings.ca_bundle);

    write_file("ours.pem", "");
    (void)snprintf(path, sizeof(path), "%s/.aws/ours.pem", folder);
    set("AWS_CA_BUNDLE", path);
    quern_settings_done(&settings);
    cr_assert(quern_settings_read(&options, &settings, &err));
    cr_expect_str_eq(settings.ca_bundle, path);

    set("AWS_CA_BUNDLE", "/nonexistent/ours.pem");
    expect_refused("AWS_CA_BUNDLE");
}
