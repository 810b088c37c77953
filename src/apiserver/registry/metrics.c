/* metrics.c - /metrics of the server, under the names that dashboards of kube-apiserver use. */
#include "component/metrics.h"

#include <stdio.h>

#include "apiserver/registry/internal.h"

struct api_metrics {
    struct apiserver *s;
    struct metrics *reg;
    struct metric *total, *duration, *objects, *objects_old, *inflight, *watches;
    size_t reading, writing; /* requests under way */
};

static const double buckets[] = { 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5, 2,
                                  3,     4,     5,    6,   8,   10,  15,  20,  30, 45,   60 };
static const struct metric_desc total_desc = {
    "apiserver_request_total", "Requests that were answered, by verb, resource and code.",
    METRIC_COUNTER,
    .labels = { "code", "component", "dry_run", "group", "resource", "scope", "subresource", "verb",
                "version" }
};
static const struct metric_desc duration_desc = {
    "apiserver_request_duration_seconds",
    "Time from a request to its answer; of a watch, to its end.",
    METRIC_HISTOGRAM,
    .labels = { "component", "dry_run", "group", "resource", "scope", "subresource", "verb",
                "version" },
    .buckets = buckets,
    .nbuckets = ARRAY_LEN(buckets)
};
static const struct metric_desc objects_desc = { "apiserver_resource_objects",
                                                 "Stored objects by resource.", METRIC_GAUGE,
                                                 .labels = { "group", "resource" } };
static const struct metric_desc objects_old_desc = { "apiserver_storage_objects",
                                                     "The same under its older name.", METRIC_GAUGE,
                                                     .labels = { "resource" } };
static const struct metric_desc inflight_desc = { "apiserver_current_inflight_requests",
                                                  "Requests that wait for their answer.",
                                                  METRIC_GAUGE, .labels = { "request_kind" } };
static const struct metric_desc watches_desc = {
    "apiserver_longrunning_requests", "Open watches.", METRIC_GAUGE,
    .labels = { "component", "group", "resource", "scope", "subresource", "verb", "version" }
};
static const struct metric_desc build_desc = {
    "kubernetes_build_info", "What /version says, as labels.", METRIC_GAUGE,
    .labels = { "git_version", "major", "minor", "platform" }
};
static const struct metric_desc failures_desc = { "koord_apiserver_store_failed_batches_total",
                                                  "Commits that failed: a full disk, an I/O error.",
                                                  METRIC_COUNTER };

/* ---- what a request is called ------------------------------------------------------------------
 */

static const char *verb_label(const struct api_call *c)
{
    static const char *const words[] = {
        [API_GET] = "GET",       [API_LIST] = "LIST",
        [API_WATCH] = "WATCH",   [API_CREATE] = "POST",
        [API_UPDATE] = "PUT",    [API_PATCH] = "PATCH",
        [API_DELETE] = "DELETE", [API_DELETE_COLLECTION] = "DELETECOLLECTION",
    };
    if (c->verb == API_PATCH && c->patch == API_PATCH_APPLY)
        return "APPLY";
    if (c->verb == API_NONE)
        return api_reads(c) ? "GET" : "other";
    return words[c->verb];
}

static const char *scope_label(const struct api_call *c)
{
    return !c->res ? "" : *c->name ? "resource" : *c->ns ? "namespace" : "cluster";
}

/* Paths that are not resources: only those that there are, for a client can ask for any. */
static const char *path_label(const struct api_call *c)
{
    static const char *const known[] = { "/readyz",  "/livez",   "/healthz", "/version",
                                         "/metrics", "/openapi", "/apis",    "/api" };

    if (c->res)
        return c->sub;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (c->path && str_starts(c->path, known[i])) /* NULL: it cannot be read */
            return known[i];
    return "";
}

/* In the order of duration_desc. */
enum { LABELS = 8 };
static void labels_of(const struct api_call *c, const char *v[LABELS])
{
    v[0] = c->res ? "apiserver" : "";
    v[1] = c->dry_run ? "All" : "";
    v[2] = c->res ? c->res->group : "";
    v[3] = c->res ? c->res->plural : "";
    v[4] = scope_label(c);
    v[5] = path_label(c);
    v[6] = verb_label(c);
    v[7] = c->res ? c->res->version : "";
}

/* ---- counting ----------------------------------------------------------------------------------
 */

void metrics_begin(struct api_call *c)
{
    struct api_metrics *m = c->s->metrics;

    c->began = loop_mono(c->s->loop);
    c->counted = true;
    *(api_reads(c) ? &m->reading : &m->writing) += 1;
}

void metrics_answer(struct api_call *c, int status)
{
    struct api_metrics *m = c->s->metrics;
    const char *v[LABELS], *with_code[LABELS + 1];
    char code[12];

    if (!c->counted)
        return;
    (void)snprintf(code, sizeof code, "%d", status);
    labels_of(c, v);
    with_code[0] = code;
    memcpy(with_code + 1, v, sizeof v);
    counter_inc(metric_counter(m->total, with_code));
    histogram_observe(metric_histogram(m->duration, v),
                      (double)(loop_mono(c->s->loop) - c->began) / (double)NSEC_PER_SEC);
}

void metrics_end(struct api_call *c)
{
    struct api_metrics *m = c->s->metrics;

    if (c->counted)
        *(api_reads(c) ? &m->reading : &m->writing) -= 1;
    c->counted = false;
}

/* ---- what is looked up when somebody asks ------------------------------------------------------
 */

static void put_objects(void *arg, metric_put_fn put, void *out)
{
    struct apiserver *s = arg;
    const struct resource *r;

    for (size_t i = 0; (r = res_table_at(s->resources, i)); i++)
        if (!r->stored_as || r->crd)
            put(out, METRIC_VALUES(r->group, r->plural),
                (double)store_count(s->store, r->store_res, NULL));
}

static void put_objects_old(void *arg, metric_put_fn put, void *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct apiserver *s = arg;
    const struct resource *r;

    for (size_t i = 0; (r = res_table_at(s->resources, i)); i++)
        if (!r->stored_as || r->crd)
            put(out, METRIC_VALUES(resource_group_resource(r, a)),
                (double)store_count(s->store, r->store_res, NULL));
}

static void put_inflight(void *arg, metric_put_fn put, void *out)
{
    const struct api_metrics *m = arg;

    put(out, METRIC_VALUES("mutating"), (double)m->writing);
    put(out, METRIC_VALUES("readOnly"), (double)(m->reading - MIN(m->reading, m->s->watches.n)));
}

static void count_watches(struct api_metrics *m)
{
    metric_clear(m->watches);
    vec_foreach(&m->s->watches, i) {
        const struct api_call *c = m->s->watches.items[i];
        if (c->res)
            gauge_add(metric_gauge(m->watches,
                                   METRIC_VALUES("apiserver", c->res->group, c->res->plural,
                                                 scope_label(c), c->sub, "WATCH", c->res->version)),
                      1);
    }
}

void metrics_reply(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct api_metrics *m = c->s->metrics;

    count_watches(m);
    metric_counter(metrics_add(m->reg, &failures_desc), NULL)->v =
        (double)store_stats(c->s->store).failed_batches;
    metrics_write(&m->reg, 1, &b);
    c->reply_type = METRICS_CONTENT_TYPE;
    api_reply(c, 200, b.data, b.len);
}

struct api_metrics *api_metrics_new(struct apiserver *s)
{
    struct api_metrics *m = xnew0(struct api_metrics);

    m->s = s;
    m->reg = metrics_new();
    m->total = metrics_add(m->reg, &total_desc);
    m->duration = metrics_add(m->reg, &duration_desc);
    m->objects = metrics_add(m->reg, &objects_desc);
    m->objects_old = metrics_add(m->reg, &objects_old_desc);
    m->inflight = metrics_add(m->reg, &inflight_desc);
    m->watches = metrics_add(m->reg, &watches_desc);
    metric_set_rows(m->objects, put_objects, s);
    metric_set_rows(m->objects_old, put_objects_old, s);
    metric_set_rows(m->inflight, put_inflight, m);
    gauge_set(metric_gauge(metrics_add(m->reg, &build_desc),
                           METRIC_VALUES(s->version, "1", "35", "linux/amd64")),
              1);
    metrics_add_process(m->reg, NULL);
    return m;
}

struct metrics *apiserver_metrics(const struct apiserver *s)
{
    return s->metrics->reg;
}

struct api_metrics *api_metrics_free(struct api_metrics *m)
{
    if (!m)
        return NULL;
    metrics_free(m->reg);
    free(m);
    return NULL;
}
