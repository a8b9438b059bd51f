/* Data files that travel inside the program. The build makes the tables from the files. */
#ifndef QN_CHAOS_EMBEDDED_H
#define QN_CHAOS_EMBEDDED_H

#include <stddef.h>

/* One file: its name without the extension, and its bytes (not NUL-terminated). */
struct qn_embedded {
    const char *name;
    const char *data;
    size_t size;
};

/* Every profiles/NAME.rules, by name in byte order. */
extern const struct qn_embedded qn_embedded_profiles[];
extern const size_t qn_embedded_profile_count;

/* Every scenarios/NAME.json, by name in byte order. */
extern const struct qn_embedded qn_embedded_scenarios[];
extern const size_t qn_embedded_scenario_count;

/* Every explain/NAME.md: what `quern explain` prints. */
extern const struct qn_embedded qn_embedded_explanations[];
extern const size_t qn_embedded_explanation_count;

/* Every file of report/html. */
extern const struct qn_embedded qn_embedded_pages[];
extern const size_t qn_embedded_page_count;

/* Every file of check/init: quern.json, and an adapter for each language, by its name. */
extern const struct qn_embedded qn_embedded_adapters[];
extern const size_t qn_embedded_adapter_count;

#endif
