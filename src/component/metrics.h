/* metrics.h - a Prometheus registry: counters, gauges, histograms, and their text form 0.0.4.
 *
 * A component gets a registry handed in, describes its metrics by table and keeps pointers to the
 * children it touches; counting is then a plain add through that pointer:
 *
 *     static const struct metric_desc attempts = {
 *         "scheduler_schedule_attempts_total", "Number of attempts ...", METRIC_COUNTER,
 *         .labels = { "result", "profile" } };
 *     struct metric *f = metrics_add(m, &attempts);
 *     s->scheduled = metric_counter(f, METRIC_VALUES("scheduled", profile));
 *     counter_inc(s->scheduled);
 *
 * Memory is bounded: a metric takes max_children combinations of label values. Beyond that all
 * share one child that is not shown, and koord_metrics_overflow_total counts how often one was
 * asked for. Remove the children of objects that are gone. Loop thread only.
 */
#ifndef KOORD_COMPONENT_METRICS_H
#define KOORD_COMPONENT_METRICS_H
#include "base/base.h"
#include "base/instrument.h"

struct metric;
struct metrics;
struct strbuf;

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };
enum { METRIC_CHILDREN = 2000, METRIC_LABELS_MAX = 12 };

struct metric_desc { /* must outlive the registry: tables are static */
    const char *name, *help;
    enum metric_type type;
    const char *labels[METRIC_LABELS_MAX + 1]; /* ends with NULL */
    const double *buckets; /* upper bounds, rising, without +Inf; NULL: metrics_buckets */
    size_t nbuckets;
    unsigned max_children; /* 0: METRIC_CHILDREN */
};
/* Prometheus' usual bounds: 5 ms to 10 s. */
extern const double metrics_buckets[11];

struct metrics *metrics_new(void);
struct metrics *metrics_free(struct metrics *m);
DEFINE_CLEANUP(metrics_free, struct metrics *)

/* A name that is there already gives the same metric (components of one process share a registry);
 * it must have the same type and labels. Without labels its only child exists, and is shown, from
 * now on. */
struct metric *metrics_add(struct metrics *m, const struct metric_desc *d);

/* The child with these label values, in the order of the desc's labels; made when new. The pointer
 * is good until the child is removed. values may be NULL for a metric without labels. */
#define METRIC_VALUES(...) ((const char *const[]){ __VA_ARGS__ })
struct counter *metric_counter(struct metric *f, const char *const *values);
struct gauge *metric_gauge(struct metric *f, const char *const *values);
struct histogram *metric_histogram(struct metric *f, const char *const *values);

bool metric_remove(struct metric *f, const char *const *values); /* false: there is none */
/* All children with this value of one label: a pod, a node, a quota that is gone. */
size_t metric_remove_where(struct metric *f, const char *label, const char *value);
void metric_clear(struct metric *f);
size_t metric_children(const struct metric *f);

/* Children that are not kept but told when the metric is shown: thousands of label values that the
 * owner has anyway cost nothing in between. They come as fn puts them, behind those that are kept;
 * no combination may repeat. fn NULL: no more. Not for histograms. */
typedef void (*metric_put_fn)(void *out, const char *const *values, double v);
typedef void (*metric_rows_fn)(void *arg, metric_put_fn put, void *out);
void metric_set_rows(struct metric *f, metric_rows_fn fn, void *arg);
/* Called before each scrape, to bring gauges up to date. */
typedef void (*scrape_fn)(void *arg);
void metrics_on_scrape(struct metrics *m, scrape_fn fn, void *arg);
void metrics_off_scrape(struct metrics *m, scrape_fn fn, void *arg); /* never called again */

/* process_cpu_seconds_total, process_resident_memory_bytes, ... as Prometheus' clients name them.
 * proc NULL: "/proc". */
void metrics_add_process(struct metrics *m, const char *proc);

/* ---- showing --------------------------------------------------------------------------------- */

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* The text exposition format of these registries together, sorted by name and by label values. */
void metrics_write(struct metrics *const *regs, size_t n, struct strbuf *out);
/* A number as Go's exposition writes it: "1", "0.25", "1e+06", "+Inf", "NaN". */
void metrics_append_f64(struct strbuf *out, double v);
#endif
