/* metrics_int.h - the registry's body, for the files that keep and show it. */
#ifndef KOORD_COMPONENT_METRICS_INT_H
#define KOORD_COMPONENT_METRICS_INT_H
#include "base/map.h"
#include "base/vec.h"
#include "component/metrics.h"

struct metric_child {
    union { /* first: what callers hold points here */
        struct counter counter;
        struct gauge gauge;
        struct histogram histogram;
    };
    uint32_t key_len;
    char *key; /* the label values, each with its NUL */
};

struct metric {
    const struct metric_desc *desc;
    size_t nlabels;
    uint8_t order[METRIC_LABELS_MAX]; /* labels sorted by name, as they are shown */
    struct map children;              /* key -> struct metric_child */
    struct metric_child *sink;        /* for whatever does not fit; NULL until then */
    uint64_t overflow;
    metric_rows_fn rows;
    void *rows_arg;
};

struct scrape_hook {
    scrape_fn fn;
    void *arg;
};

struct metrics {
    struct map by_name; /* -> struct metric */
    struct vec_of(struct scrape_hook) hooks;
    struct process_metrics *process;
};

/* process.c */
void process_metrics_free(struct process_metrics *p);

/* The i-th label value of a child. */
static inline const char *child_value(const struct metric_child *c, size_t i)
{
    const char *p = c->key;
    while (i-- > 0)
        p += strlen(p) + 1;
    return p;
}
#endif
