/* What the client calls of libcurl, passed on to the shared library, which is loaded when the first
 * client is made. A server makes none, and libcurl brings some thirty other libraries with it: half
 * of the time to start, a third of the memory. Linked into the program only; who uses the client
 * library links libcurl as usual. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

static struct {
    CURLcode (*global_init)(long);
    void (*global_cleanup)(void);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    CURLcode (*easy_perform)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
} curl;

static char trouble[256];

/* POSIX allows this conversion, ISO C does not: hence the detour over the address. */
static bool find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);

    *(void **)ret_function = symbol;
    return symbol != NULL;
}

static void load(void)
{
    void *library = dlopen(QUERN_CURL_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL || !find(library, "curl_global_cleanup", (void *)&curl.global_cleanup) ||
        !find(library, "curl_easy_init", (void *)&curl.easy_init) ||
        !find(library, "curl_easy_cleanup", (void *)&curl.easy_cleanup) ||
        !find(library, "curl_easy_reset", (void *)&curl.easy_reset) ||
        !find(library, "curl_easy_perform", (void *)&curl.easy_perform) ||
        !find(library, "curl_easy_setopt", (void *)&curl.easy_setopt) ||
        !find(library, "curl_easy_getinfo", (void *)&curl.easy_getinfo) ||
        !find(library, "curl_easy_strerror", (void *)&curl.easy_strerror) ||
        !find(library, "curl_slist_append", (void *)&curl.slist_append) ||
        !find(library, "curl_slist_free_all", (void *)&curl.slist_free_all) ||
        !find(library, "curl_global_init", (void *)&curl.global_init)) {
        const char *reason = dlerror();
        (void)snprintf(trouble, sizeof(trouble), "%s", reason != NULL ? reason : "not usable");
        curl.global_init = NULL;
    }
}

/* Comes before all others: without it there is nothing to call them with. */
CURLcode curl_global_init(long flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load);
    return curl.global_init != NULL ? curl.global_init(flags) : CURLE_FAILED_INIT;
}

const char *curl_easy_strerror(CURLcode code)
{
    return curl.global_init != NULL ? curl.easy_strerror(code) : trouble;
}

void curl_global_cleanup(void)
{
    curl.global_cleanup();
}

CURL *curl_easy_init(void)
{
    return curl.easy_init();
}

void curl_easy_cleanup(CURL *handle)
{
    curl.easy_cleanup(handle);
}

void curl_easy_reset(CURL *handle)
{
    curl.easy_reset(handle);
}

CURLcode curl_easy_perform(CURL *handle)
{
    return curl.easy_perform(handle);
}

/* By libcurl's numbering: which type the one argument has. */
CURLcode curl_easy_setopt(CURL *handle, CURLoption option, ...)
{
    CURLcode code;
    va_list arguments;

    va_start(arguments, option);
    if (option < CURLOPTTYPE_OBJECTPOINT) {
        code = curl.easy_setopt(handle, option, va_arg(arguments, long));
    } else if (option < CURLOPTTYPE_FUNCTIONPOINT || option >= CURLOPTTYPE_BLOB) {
        code = curl.easy_setopt(handle, option, va_arg(arguments, void *));
    } else if (option < CURLOPTTYPE_OFF_T) {
        code = curl.easy_setopt(handle, option, va_arg(arguments, void (*)(void)));
    } else {
        code = curl.easy_setopt(handle, option, va_arg(arguments, curl_off_t));
    }
    va_end(arguments);
    return code;
}

/* What is asked for is always written behind a pointer. */
CURLcode curl_easy_getinfo(CURL *handle, CURLINFO info, ...)
{
    CURLcode code;
    va_list arguments;

    va_start(arguments, info);
    code = curl.easy_getinfo(handle, info, va_arg(arguments, void *));
    va_end(arguments);
    return code;
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
    return curl.slist_append(list, text);
}

void curl_slist_free_all(struct curl_slist *list)
{
    curl.slist_free_all(list);
}
