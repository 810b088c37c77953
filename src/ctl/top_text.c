/* top_text.c - what koordctl top prints: rows of a Table, with bars, and JSON. */
#include "ctl/top.h"

#include <stdio.h>

#include "base/num.h"
#include "ctl/table.h"
#include "json/kj.h"

enum { BAR = 20, SMALL_BAR = 10 };
#define UNKNOWN "<unknown>"

/* One glyph for each user, in the order of enum dash_user, then idle; and its colour. */
static const struct {
    const char *glyph, *sgr;
} marks[DASH_USERS + 1] = {
    { "█", "34" }, { "▓", "36" }, { "▒", "32" }, { "░", "33" }, { "·", "90" },
};
#define BAR_HEADER "█PROD ▓MID ▒BATCH ░SYS"

struct nodevec vec_of(const struct dash_node *);
struct podvec vec_of(struct dash_pod_use);

static int64_t percent(int64_t part, int64_t of)
{
    return of > 0 ? i64_muldiv(part, 100, of) : 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_wanted(const struct top_view *v, const char *name)
{
    for (size_t i = 0; i < v->nnames; i++)
        if (streq(v->names[i], name))
            return true;
    return v->nnames == 0;
}

/* Largest first; equal ones by name, so that rows do not dance. */
static int by_amounts(int64_t a, int64_t b, const char *name_a, const char *name_b)
{
    return a != b ? (a > b ? -1 : 1) : strcmp(name_a, name_b);
}

static int nodes_by_cpu(const void *a, const void *b)
{
    const struct dash_node *x = *(const struct dash_node *const *)a,
                           *y = *(const struct dash_node *const *)b;
    return by_amounts(percent(x->used.mcpu, x->capacity.mcpu),
                      percent(y->used.mcpu, y->capacity.mcpu), x->name, y->name);
}

static int nodes_by_memory(const void *a, const void *b)
{
    const struct dash_node *x = *(const struct dash_node *const *)a,
                           *y = *(const struct dash_node *const *)b;
    return by_amounts(percent(x->used.bytes, x->capacity.bytes),
                      percent(y->used.bytes, y->capacity.bytes), x->name, y->name);
}

static int nodes_by_name(const void *a, const void *b)
{
    return strcmp((*(const struct dash_node *const *)a)->name,
                  (*(const struct dash_node *const *)b)->name);
}

static void collect_nodes(const struct top_view *v, struct nodevec *out)
{
    static int (*const orders[])(const void *, const void *) = { nodes_by_cpu, nodes_by_memory,
                                                                 nodes_by_name };
    const struct dash_node *n;
    size_t it = 0;

    while ((n = dash_next_node(v->dash, &it)))
        if (is_wanted(v, n->name))
            vec_push(out, n);
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, orders[v->order]);
}

static int pods_by_name(const void *a, const void *b)
{
    const struct dash_pod_use *x = a, *y = b;
    int by_ns = strcmp(x->ns, y->ns);
    return by_ns ? by_ns : strcmp(x->name, y->name);
}

static int pods_by_cpu(const void *a, const void *b)
{
    const struct dash_pod_use *x = a, *y = b;
    return x->used.mcpu != y->used.mcpu ? (x->used.mcpu > y->used.mcpu ? -1 : 1)
                                        : pods_by_name(a, b);
}

static int pods_by_memory(const void *a, const void *b)
{
    const struct dash_pod_use *x = a, *y = b;
    return x->used.bytes != y->used.bytes ? (x->used.bytes > y->used.bytes ? -1 : 1)
                                          : pods_by_name(a, b);
}

struct collecting {
    const struct top_view *v;
    struct podvec *out;
};

static void collect_pod(void *arg, const struct dash_pod_use *p)
{
    const struct collecting *c = arg;

    if (*p->node && is_wanted(c->v, p->name))
        vec_push(c->out, *p);
}

static void collect_pods(const struct top_view *v, struct podvec *out)
{
    static int (*const orders[])(const void *, const void *) = { pods_by_cpu, pods_by_memory,
                                                                 pods_by_name };
    struct collecting c = { v, out };

    dash_each_pod(v->dash, collect_pod, &c);
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, orders[v->order]);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void repeat(struct strbuf *out, const char *glyph, int64_t n)
{
    for (; n > 0; n--)
        strbuf_append(out, glyph);
}

/* Ends of the parts are rounded, not the parts, so that the bar is as long as the sum says. */
static void put_bar(const int64_t *parts, size_t nparts, int64_t of, int width, struct strbuf *out)
{
    int64_t sum = 0, at = 0;

    for (size_t i = 0; i < nparts; i++) {
        sum = i64_add_sat(sum, parts[i]);
        int64_t to = of > 0 ? MIN(i64_muldiv(sum, width, of), (int64_t)width) : 0;
        repeat(out, marks[i].glyph, to - at);
        at = to;
    }
    repeat(out, marks[DASH_USERS].glyph, width - at);
}

/* A cell of a Table's row: text that need not be escaped, or is JSON already. */
static void cell(struct kjw *w, const char *fmt, ...) PRINTF(2, 3);
static void cell(struct kjw *w, const char *fmt, ...)
{
    char text[64];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kjw_str(w, NULL, text);
}

static void cell_bar(struct kjw *w, const int64_t *parts, size_t n, int64_t of, int width)
{
    CLEANUP(strbuf_fini) struct strbuf bar = STRBUF_INIT;

    put_bar(parts, n, of, width, &bar);
    kjw_str(w, NULL, strbuf_str(&bar));
}

static long long mi(int64_t bytes)
{
    return (long long)(bytes >> 20);
}

static void node_cells(struct kjw *w, const struct dash_node *n)
{
    int64_t users[DASH_USERS];

    for (int i = 0; i < DASH_USERS; i++)
        users[i] = n->by_user[i].mcpu;
    kjw_str(w, NULL, n->name);
    if (!n->is_fresh) {
        for (int i = 0; i < 2; i++)
            cell(w, UNKNOWN);
        cell(w, "%s", "");
        for (int i = 0; i < 4; i++)
            cell(w, UNKNOWN);
        return;
    }
    int64_t batch = n->by_user[DASH_BATCH].mcpu, of = n->batch_allocatable.mcpu;
    cell(w, "%lldm", (long long)n->used.mcpu);
    cell(w, "%lld%%", (long long)percent(n->used.mcpu, n->capacity.mcpu));
    cell_bar(w, users, DASH_USERS, n->capacity.mcpu, BAR);
    cell(w, "%lldMi", mi(n->used.bytes));
    cell(w, "%lld%%", (long long)percent(n->used.bytes, n->capacity.bytes));
    cell(w, "%lldm/%lldm", (long long)batch, (long long)of);
    cell_bar(w, (const int64_t[]){ 0, 0, batch }, 3, of, SMALL_BAR);
}

static void pod_cells(const struct top_view *v, struct kjw *w, const struct dash_pod_use *p)
{
    bool batch = p->batch_requested.mcpu || p->batch_requested.bytes;
    struct dash_amount asked = batch ? p->batch_requested : p->requested;
    enum dash_user user = batch ? DASH_BATCH : DASH_PROD;
    int64_t parts[DASH_USERS] = { 0 };

    if (v->with_ns)
        kjw_str(w, NULL, p->ns);
    kjw_str(w, NULL, p->name);
    if (p->is_measured) {
        parts[user] = p->used.mcpu;
        cell(w, "%lldm", (long long)p->used.mcpu);
        cell(w, "%lldm", (long long)asked.mcpu);
        cell_bar(w, parts, DASH_USERS, asked.mcpu, SMALL_BAR);
        cell(w, "%lldMi", mi(p->used.bytes));
    } else {
        cell(w, UNKNOWN);
        cell(w, "%lldm", (long long)asked.mcpu);
        cell(w, "%s", "");
        cell(w, UNKNOWN);
    }
    cell(w, "%lldMi", mi(asked.bytes));
    kjw_str(w, NULL, qos_class_name(p->qos));
    kjw_str(w, NULL, priority_class_name(p->priority));
    kjw_str(w, NULL, p->node);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* A glyph of a bar, in its colour; the rest as it is. Only bars have these glyphs: what a server
 * sent is cut down to names. */
static void put_coloured(const char *text, struct strbuf *out)
{
    const char *at = text;

    while (*at) {
        size_t i = 0;
        while (i < ARRAY_LEN(marks) && !str_starts(at, marks[i].glyph))
            i++;
        if (i == ARRAY_LEN(marks)) {
            strbuf_appendc(out, *at++);
            continue;
        }
        strbuf_appendf(out, "\033[%sm", marks[i].sgr);
        for (size_t n = strlen(marks[i].glyph); str_starts(at, marks[i].glyph); at += n)
            strbuf_append(out, marks[i].glyph);
        strbuf_append(out, "\033[0m");
    }
}

static void put_table(const struct top_view *v, const struct strbuf *json, size_t left_out,
                      struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct vec_of(struct ctl_table_row *) rows = { 0 };
    struct kerr err;
    struct table t;
    const struct kj_val *row;
    struct str key;

    int r = kj_parse(strbuf_str(json), json->len, 0, &doc, &err);
    assert(r == 0); /* we wrote it */
    ctl_table_init(&t, &(struct ctl_table_opts){ .no_headers = v->no_headers });
    r = ctl_table_learn(&t, kj_root(doc), &err);
    assert(r == 0);
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "rows")); kj_next(&it, &key, &row);)
        vec_push(&rows, ctl_table_row(&t, row, NULL));
    vec_foreach(&rows, i) {
        ctl_table_put(&t, rows.items[i], &text);
        free(rows.items[i]);
    }
    vec_fini(&rows);
    ctl_table_fini(&t);
    if (left_out)
        strbuf_appendf(&text, "... and %zu more\n", left_out);
    if (v->colour)
        put_coloured(strbuf_str(&text), out);
    else
        strbuf_appendn(out, strbuf_str(&text), text.len);
}

static void begin_table(struct kjw *w, const char *const *columns)
{
    kjw_obj(w, NULL);
    kjw_str(w, "kind", "Table");
    kjw_arr(w, "columnDefinitions");
    for (; *columns; columns++) {
        kjw_obj(w, NULL);
        kjw_str(w, "name", *columns);
        kjw_end(w);
    }
    kjw_end(w);
    kjw_arr(w, "rows");
}

static size_t rows_shown(const struct top_view *v, size_t n)
{
    return v->max_rows ? MIN(n, v->max_rows) : n;
}

static void begin_row(struct kjw *w)
{
    kjw_obj(w, NULL);
    kjw_arr(w, "cells");
}

static void end_row(struct kjw *w)
{
    kjw_end(w);
    kjw_end(w);
}

void top_nodes(const struct top_view *v, struct strbuf *out)
{
    static const char *const columns[] = { "NAME",
                                           "CPU(CORES)",
                                           "CPU(%)",
                                           BAR_HEADER,
                                           "MEMORY(BYTES)",
                                           "MEMORY(%)",
                                           "BATCH CPU(USED/ALLOCATABLE)",
                                           "BATCH",
                                           NULL };
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct nodevec nodes = { 0 };
    struct kjw w = kjw_to(&json);

    collect_nodes(v, &nodes);
    size_t n = rows_shown(v, nodes.n);
    begin_table(&w, columns);
    for (size_t i = 0; i < n; i++) {
        begin_row(&w);
        node_cells(&w, nodes.items[i]);
        end_row(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    put_table(v, &json, nodes.n - n, out);
    vec_fini(&nodes);
}

void top_pods(const struct top_view *v, struct strbuf *out)
{
    static const char *const columns[] = { "NAMESPACE", "NAME",          "CPU(CORES)", "REQUEST",
                                           "OF IT",     "MEMORY(BYTES)", "REQUEST",    "QOS",
                                           "PRIORITY",  "NODE",          NULL };
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct podvec pods = { 0 };
    struct kjw w = kjw_to(&json);

    collect_pods(v, &pods);
    size_t n = rows_shown(v, pods.n);
    begin_table(&w, v->with_ns ? columns : columns + 1);
    for (size_t i = 0; i < n; i++) {
        begin_row(&w);
        pod_cells(v, &w, &pods.items[i]);
        end_row(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    put_table(v, &json, pods.n - n, out);
    vec_fini(&pods);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_amount(struct kjw *w, const char *key, struct dash_amount a)
{
    kjw_obj(w, key);
    kjw_i64(w, "milliCPU", a.mcpu);
    kjw_i64(w, "memoryBytes", a.bytes);
    kjw_end(w);
}

void top_nodes_json(const struct top_view *v, struct strbuf *out)
{
    static const char *const users[] = { "prod", "mid", "batch", "system" };
    struct nodevec nodes = { 0 };
    struct kjw w = kjw_to(out);

    collect_nodes(v, &nodes);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "nodes");
    vec_foreach(&nodes, i) {
        const struct dash_node *n = nodes.items[i];
        kjw_obj(&w, NULL);
        kjw_str(&w, "name", n->name);
        kjw_bool(&w, "measured", n->is_fresh);
        if (n->reported)
            kjw_time(&w, "reported", n->reported);
        json_amount(&w, "capacity", n->capacity);
        json_amount(&w, "used", n->used);
        for (int u = 0; u < DASH_USERS; u++)
            json_amount(&w, users[u], n->by_user[u]);
        json_amount(&w, "batchAllocatable", n->batch_allocatable);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    strbuf_appendc(out, '\n');
    vec_fini(&nodes);
}

void top_pods_json(const struct top_view *v, struct strbuf *out)
{
    struct podvec pods = { 0 };
    struct kjw w = kjw_to(out);

    collect_pods(v, &pods);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "pods");
    vec_foreach(&pods, i) {
        const struct dash_pod_use *p = &pods.items[i];
        kjw_obj(&w, NULL);
        kjw_str(&w, "namespace", p->ns);
        kjw_str(&w, "name", p->name);
        kjw_str(&w, "node", p->node);
        kjw_str(&w, "qos", qos_class_name(p->qos));
        kjw_str(&w, "priorityClass", priority_class_name(p->priority));
        kjw_bool(&w, "measured", p->is_measured);
        json_amount(&w, "used", p->used);
        json_amount(&w, "requested", p->requested);
        json_amount(&w, "batchRequested", p->batch_requested);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    strbuf_appendc(out, '\n');
    vec_fini(&pods);
}
