/* The scenarios inside the program are the files of the tree. */
#include "chaos/embedded.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 256 * 1024 };

/* Tests run in the top folder of the tree. */
static const char folder[] = "chaos/check/scenarios";

static size_t read_file(const char *name, char *ret_bytes)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.json", folder, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s is embedded but not in the tree", path);
    size_t size = fread(ret_bytes, 1, FILE_MAX, file);
    fclose(file);
    return size;
}

Test(embedded, each_scenario_has_the_bytes_of_its_file)
{
    static char bytes[FILE_MAX];

    for (size_t i = 0; i < qn_embedded_scenario_count; i++) {
        const struct qn_embedded *scenario = &qn_embedded_scenarios[i];
        size_t size = read_file(scenario->name, bytes);
        cr_expect_eq(scenario->size, size, "%s", scenario->name);
        cr_expect_arr_eq(scenario->data, bytes, size, "%s", scenario->name);
    }
}

Test(embedded, scenarios_stand_in_the_order_of_their_names)
{
    for (size_t i = 1; i < qn_embedded_scenario_count; i++) {
        cr_expect_lt(strcmp(qn_embedded_scenarios[i - 1].name, qn_embedded_scenarios[i].name), 0);
    }
}

Test(embedded, no_scenario_of_the_tree_is_left_out)
{
    size_t count = 0;
    DIR *directory = opendir(folder);

    cr_assert_not_null(directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        size_t len = strlen(entry->d_name);
        if (len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0) {
            count++;
        }
    }
    closedir(directory);
    cr_expect_eq(count, qn_embedded_scenario_count);
}

Test(embedded, pages_of_the_report_have_the_bytes_of_their_files)
{
    static const char *const files[] = {"checklists.json", "report-style.css", "report.html"};

    cr_assert_eq(qn_embedded_page_count, sizeof(files) / sizeof(files[0]));
    for (size_t i = 0; i < qn_embedded_page_count; i++) {
        const struct qn_embedded *page = &qn_embedded_pages[i];
        char path[256];
        char bytes[65536];
        (void)snprintf(path, sizeof(path), "chaos/check/report/html/%s", files[i]);
        FILE *file = fopen(path, "re");
        cr_assert_not_null(file, "%s", path);
        size_t size = fread(bytes, 1, sizeof(bytes), file);
        (void)fclose(file);
        cr_expect_eq(size, page->size, "%s", path);
        cr_expect_eq(memcmp(bytes, page->data, size), 0, "%s", path);
        cr_expect_eq(strncmp(files[i], page->name, strlen(page->name)), 0, "%s", page->name);
    }
}
