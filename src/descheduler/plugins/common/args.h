/* args.h - parts that the args of several plugins have: namespaces, selectors of pods. */
#ifndef KOORD_DESCHEDULER_COMMON_ARGS_H
#define KOORD_DESCHEDULER_COMMON_ARGS_H
#include "api/types.h"

struct labelsel;
struct pod;

/* A default of a table's line: ARGS_DEFAULT(def_10, "10"); ... .meta = &def_10 */
#define ARGS_DEFAULT(name, json) static const struct kmeta name = { .def = (json) }

struct args_namespaces {
    kstrlist include, exclude;
};
extern const struct kschema args_namespaces_schema;
/* Not both. The message begins with the path. */
int args_namespaces_check(const struct args_namespaces *n, const char *path, struct kerr *err);
bool args_namespaces_match(const struct args_namespaces *n, const char *ns); /* NULL: all */

struct args_pod_selector {
    const char *name;
    struct label_selector *selector; /* NULL matches nothing */
    struct labelsel *compiled;
};
typedef KLIST(struct args_pod_selector) args_pod_selectors;
extern const struct kschema args_pod_selector_schema;
int args_pod_selectors_compile(args_pod_selectors *l, const char *path, struct arena *a,
                               struct kerr *err);
/* None at all: every pod; of several, one is enough. */
bool args_pod_selectors_match(const args_pod_selectors *l, const struct pod *p);

/* NULL stays NULL, which is: not asked for. */
int args_selector_compile(const struct label_selector *s, const char *path, struct arena *a,
                          struct labelsel **ret, struct kerr *err);
bool args_selector_match(const struct labelsel *s, const kstrmap *labels); /* NULL: all */

bool args_has(const kstrlist *l, const char *text);
#endif
