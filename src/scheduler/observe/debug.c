/* debug.c - what people ask a running scheduler: score and filter tables in the log, settings over
 * HTTP, a dump of everything on a signal (scheduler-core 7.2, 9.6, 11.1). */
#include "scheduler/observe/debug.h"

#include <stdio.h>

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "component/flags.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "scheduler/observe/diagnosis.h"
#include "scheduler/observe/podmetrics.h"
#include "scheduler/observe/rest.h"

/* ---- the score table ------------------------------------------------------------------------- */

struct ranked {
    uint32_t row;
    int64_t total;
};

static int by_total(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static void append_cell(struct strbuf *out, const char *text)
{
    strbuf_append(out, " ");
    for (; *text; text++) {
        if (*text == '|')
            strbuf_append(out, "\\|");
        else if (*text == '\n')
            strbuf_append(out, "<br/>");
        else
            strbuf_appendn(out, text, 1);
    }
    strbuf_append(out, " |");
}

static void append_head(const struct attempt *a, struct strbuf *out)
{
    const struct profile_point *score = &a->profile->points[KS_POINT_SCORE];

    strbuf_append(out, "| # | Pod | Node | Score |");
    for (uint32_t i = 0; i < score->n; i++)
        if (a->scored >> score->slots[i] & 1)
            append_cell(out, a->profile->slots[score->slots[i]].plugin->name);
    strbuf_append(out, "\n| --- | --- | --- | ---:|");
    for (uint32_t i = 0; i < score->n; i++)
        if (a->scored >> score->slots[i] & 1)
            strbuf_append(out, " ---:|");
    strbuf_append(out, "\n");
}

void debug_score_table(const struct attempt *a, unsigned max, struct strbuf *out)
{
    const struct profile_point *score = &a->profile->points[KS_POINT_SCORE];
    struct ranked *all = arena_newn0(a->arena, a->feasible, struct ranked);
    uint32_t n = 0;
    char key[KOBJ_KEY_MAX];

    for (uint32_t i = 0; i < a->n && n < a->feasible; i++)
        if (!a->by[i])
            all[n++] = (struct ranked){ i, a->total[i] };
    if (n)
        qsort(all, n, sizeof *all, by_total);
    kobj_key(a->obj, key, sizeof key);
    append_head(a, out);
    for (uint32_t i = 0; i < n && i < max; i++) {
        strbuf_appendf(out, "| %u |", i);
        append_cell(out, key);
        append_cell(out, nodecache_row_name(a->cache, all[i].row));
        strbuf_appendf(out, " %lld |", (long long)all[i].total);
        for (uint32_t k = 0; k < score->n; k++) {
            uint32_t slot = score->slots[k];
            if (a->scored >> slot & 1)
                strbuf_appendf(
                    out, " %lld |",
                    (long long)(a->score[slot][all[i].row] * a->profile->slots[slot].weight));
        }
        strbuf_append(out, "\n");
    }
}

void debug_log_scores(const struct attempt *a, unsigned max)
{
    const struct profile_point *score = &a->profile->points[KS_POINT_SCORE];
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    char key[KOBJ_KEY_MAX];
    bool first = true;

    kobj_key(a->obj, key, sizeof key);
    strbuf_appendf(&text, "Top%u scores for Pod: %s, feasibleNodes: %u, plugins:[", max, key,
                   a->feasible);
    for (uint32_t i = 0; i < score->n; i++) {
        if (!(a->scored >> score->slots[i] & 1))
            continue;
        strbuf_appendf(&text, "%s%s", first ? "" : " ",
                       a->profile->slots[score->slots[i]].plugin->name);
        first = false;
    }
    strbuf_append(&text, "]\n");
    debug_score_table(a, max, &text);
    klog_text(strbuf_str(&text));
}

/* Rows with nominated pods are looked at with them, then without. */
static unsigned pass_of(struct attempt *a, uint32_t row)
{
    struct attempt_verdict v;

    if (!a->with_nominated || !a->with_nominated[row] || attempt_fits(a, row, &v))
        return 1;
    return v.second ? 2 : 1;
}

void debug_filter_line(struct attempt *a, uint32_t row, struct strbuf *out)
{
    struct ks_texts why = { .arena = a->arena };
    char key[KOBJ_KEY_MAX];

    kobj_key(a->obj, key, sizeof key);
    attempt_texts(a, row, &why);
    strbuf_appendf(out,
                   "Failed to filter for Pod \"%s\" on Node \"%s\" (pass %u), failedPlugin: %s, "
                   "reason: ",
                   key, nodecache_row_name(a->cache, row), pass_of(a, row), attempt_plugin(a, row));
    for (uint32_t i = 0; i < why.n; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "", why.items[i]);
}

void debug_log_filters(struct attempt *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;
        if (!a->by[i] || !attempt_plugin(a, i))
            continue;
        debug_filter_line(a, i, &line);
        klog_text(strbuf_str(&line));
    }
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

static int set_scores(void *arg, const char *value, struct kerr *err)
{
    struct scheduler *s = arg;
    int64_t n;

    if (i64_parse(value, strlen(value), &n) < 0 || n > INT32_MAX)
        return kerr_set(err, -EINVAL, "not a number");
    s->debug_scores = n > 0 ? (unsigned)n : 0;
    return 0;
}

static int set_bool(bool *ret, const char *value, struct kerr *err)
{
    if (flag_bool_parse(value, strlen(value), ret) < 0)
        return kerr_set(err, -EINVAL, "true or false is expected");
    return 0;
}

static int set_filters(void *arg, const char *value, struct kerr *err)
{
    struct scheduler *s = arg;
    return set_bool(&s->debug_filters, value, err);
}

static int set_diagnosis(void *arg, const char *value, struct kerr *err)
{
    const struct scheduler *s = arg;
    return set_bool(&diagnosis_settings(s->diagnosis)->on, value, err);
}

static int set_blocking(void *arg, const char *value, struct kerr *err)
{
    const struct scheduler *s = arg;
    return set_bool(&diagnosis_settings(s->diagnosis)->blocking, value, err);
}

/* Pods are the leader's to tell of; the others have nothing to say. */
static void on_resources(void *arg, struct httpd_req *r)
{
    const struct scheduler *s = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    bool tells = !s->leads || s->leads(s->leads_arg);

    if (!serve_allow(r, "GET, HEAD"))
        return;
    if (tells) {
        CLEANUP(mem_free) struct kobj **all = NULL;
        size_t n = 0;
        for (size_t it = 0; informer_next(s->pods, &it);)
            n++;
        all = xnewn0(n + 1, struct kobj *);
        n = 0;
        for (size_t it = 0; (all[n] = informer_next(s->pods, &it));)
            n++;
        podmetrics_write(all, n, &out);
    }
    serve_metrics(r, strbuf_str(&out), out.len);
}

void scheduler_serve(struct scheduler *s, struct serve *serve, bool (*fn)(void *arg), void *arg)
{
    static const struct serve_flag scores = { "s", "debugTopNScores", set_scores, NULL };
    static const struct serve_flag filters = { "f", "debugFilterFailure", set_filters, NULL };
    /* upstream's answer names the wrong setting for these, and scripts read it */
    static const struct serve_flag dump = { "d", "debugFilterFailure", set_diagnosis, NULL };
    static const struct serve_flag blocking = { "db", "debugFilterFailure", set_blocking, NULL };

    s->leads = fn;
    s->leads_arg = arg;
    serve_add_flag(serve, &scores, s);
    serve_add_flag(serve, &filters, s);
    serve_add_flag(serve, &dump, s);
    serve_add_flag(serve, &blocking, s);
    serve_handle(serve, "/metrics/resources", on_resources, s);
    rest_serve(s, serve);
}

/* ---- the dump -------------------------------------------------------------------------------- */

static void dump_nodes(const struct scheduler *s, struct strbuf *out)
{
    const struct ks_nodes *n = nodecache_nodes(s->cache);

    strbuf_append(out, "Dump of cached NodeInfo\n");
    for (uint32_t i = 0; i < n->n; i++) {
        strbuf_appendf(out,
                       "Node name: %s\nRequested: cpu %lldm, memory %lld, pods %lld\n"
                       "Allocatable: cpu %lldm, memory %lld, pods %lld\nPods:\n",
                       nodecache_row_name(s->cache, i), (long long)n->used[KS_MCPU][i],
                       (long long)n->used[KS_MEMORY][i], (long long)n->used[KS_PODS][i],
                       (long long)n->alloc[KS_MCPU][i], (long long)n->alloc[KS_MEMORY][i],
                       (long long)n->alloc[KS_PODS][i]);
        for (uint32_t k = 0; k < n->pods[i].n; k++)
            strbuf_appendf(out, "  %s/%s\n", n->pods[i].items[k]->obj.meta.ns,
                           n->pods[i].items[k]->obj.meta.name);
    }
}

static void dump_queue(const struct scheduler *s, struct strbuf *out)
{
    static const char *const places[PODQUEUE_PLACES] = {
        "nowhere",       "active", "backoff",   "backoff after an error",
        "unschedulable", "gated",  "in flight",
    };
    const char *node;
    struct kobj *pod;

    strbuf_append(out, "Dump of scheduling queue\n");
    for (size_t it = 0; (pod = podqueue_next(s->queue, &it));)
        strbuf_appendf(out, "  %s: %s\n", LOG_KEY(pod),
                       places[podqueue_find(s->queue, pod->meta.uid, NULL)]);
    for (size_t it = 0; (pod = nominator_next(s->nominator, &it, &node));)
        strbuf_appendf(out, "  %s is nominated for %s\n", LOG_KEY(pod), node);
}

/* The cache against the informers: both should know the same nodes and assigned pods. */
static void dump_differences(const struct scheduler *s, struct strbuf *out)
{
    struct kobj *o;
    unsigned found = 0;

    for (size_t it = 0; (o = informer_next(s->nodes, &it));)
        if (ks_row_of(nodecache_nodes(s->cache), o->meta.name) == KS_NO_ROW && ++found)
            strbuf_appendf(out, "node %s is missing in the cache\n", o->meta.name);
    for (size_t it = 0; (o = informer_next(s->pods, &it));) {
        const char *node = NULL, *has = pod_of(o)->node_name;
        if (str_empty(has) || pod_is_terminal(pod_of(o)))
            continue;
        if (nodecache_find(s->cache, o->meta.uid, &node) != NODECACHE_ADDED || !streq(node, has)) {
            found++;
            strbuf_appendf(out, "pod %s is on node %s, and %s%s in the cache\n", LOG_KEY(o), has,
                           node ? "on node " : "missing", node ? node : "");
        }
    }
    strbuf_appendf(out, "cache and API server: %u differences\n", found);
}

void scheduler_dump(const struct scheduler *s, struct strbuf *out)
{
    dump_nodes(s, out);
    dump_queue(s, out);
    dump_differences(s, out);
}
