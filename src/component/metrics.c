/* metrics.c - metrics and their children. */
#include "component/metrics.h"

#include <ctype.h>

#include "base/strbuf.h"
#include "component/metrics_int.h"

const double metrics_buckets[11] = { .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10 };

/* ---- registry -------------------------------------------------------------------------------- */

struct metrics *metrics_new(void)
{
    return xnew0(struct metrics);
}

static void metric_free(struct metric *f)
{
    metric_clear(f);
    map_fini(&f->children);
    free(f->sink);
    free(f);
}

struct metrics *metrics_free(struct metrics *m)
{
    if (!m)
        return NULL;
    map_foreach(&m->by_name, e)
        metric_free(e->value);
    map_fini(&m->by_name);
    vec_fini(&m->hooks);
    process_metrics_free(m->process);
    free(m);
    return NULL;
}

static bool is_name(const char *s, bool colons)
{
    if (isdigit((unsigned char)*s) || !*s)
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && !(colons && *s == ':'))
            return false;
    return true;
}

static size_t count_labels(const struct metric_desc *d)
{
    size_t n = 0;
    while (d->labels[n])
        n++;
    return n;
}

static bool same_shape(const struct metric *f, const struct metric_desc *d)
{
    if (f->desc->type != d->type || f->nlabels != count_labels(d))
        return false;
    for (size_t i = 0; i < f->nlabels; i++)
        if (!streq(f->desc->labels[i], d->labels[i]))
            return false;
    return true;
}

static void order_labels(struct metric *f)
{
    for (size_t i = 0; i < f->nlabels; i++) {
        size_t at = i;
        assert(is_name(f->desc->labels[i], false));
        for (; at > 0 && strcmp(f->desc->labels[f->order[at - 1]], f->desc->labels[i]) > 0; at--)
            f->order[at] = f->order[at - 1];
        f->order[at] = (uint8_t)i;
    }
}

static struct metric_child *child_get(struct metric *f, const char *const *values);

struct metric *metrics_add(struct metrics *m, const struct metric_desc *d)
{
    struct metric *f = map_getz(&m->by_name, d->name);

    if (f) {
        assert(same_shape(f, d));
        return f;
    }
    assert(is_name(d->name, true) && count_labels(d) <= METRIC_LABELS_MAX);
    f = xnew0(struct metric);
    f->desc = d;
    f->nlabels = count_labels(d);
    order_labels(f);
    map_putz(&m->by_name, d->name, f);
    if (f->nlabels == 0)
        (void)child_get(f, NULL);
    return f;
}

void metric_set_rows(struct metric *f, metric_rows_fn fn, void *arg)
{
    assert(f->nlabels > 0 && f->desc->type != METRIC_HISTOGRAM);
    f->rows = fn;
    f->rows_arg = arg;
}

void metrics_on_scrape(struct metrics *m, scrape_fn fn, void *arg)
{
    vec_push(&m->hooks, ((struct scrape_hook){ fn, arg }));
}

void metrics_off_scrape(struct metrics *m, scrape_fn fn, void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->hooks.n; i++)
        if (m->hooks.items[i].fn != fn || m->hooks.items[i].arg != arg)
            m->hooks.items[kept++] = m->hooks.items[i];
    m->hooks.n = kept;
}

/* ---- children -------------------------------------------------------------------------------- */

/* One block: the child, its buckets, its key. */
static struct metric_child *child_new(const struct metric *f, const char *key, size_t key_len)
{
    const struct metric_desc *d = f->desc;
    size_t nbuckets = 0;
    const double *bounds = NULL;

    if (d->type == METRIC_HISTOGRAM) {
        bounds = d->buckets ? d->buckets : metrics_buckets;
        nbuckets = d->buckets ? d->nbuckets : ARRAY_LEN(metrics_buckets);
    }
    size_t counts = bounds ? (nbuckets + 1) * sizeof(uint64_t) : 0;
    struct metric_child *c = xcalloc(1, sizeof *c + counts + key_len);
    char *rest = (char *)(c + 1);
    if (bounds)
        c->histogram = (struct histogram){ .bounds = bounds,
                                           .counts = (uint64_t *)(void *)rest,
                                           .n = (uint32_t)nbuckets };
    c->key = rest + counts;
    c->key_len = (uint32_t)key_len;
    if (key_len)
        memcpy(c->key, key, key_len);
    return c;
}

static void make_key(const struct metric *f, const char *const *values, struct strbuf *key)
{
    for (size_t i = 0; i < f->nlabels; i++)
        strbuf_appendn(key, values[i], strlen(values[i]) + 1);
}

static struct metric_child *child_get(struct metric *f, const char *const *values)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;
    unsigned max = f->desc->max_children ? f->desc->max_children : METRIC_CHILDREN;

    make_key(f, values, &key);
    struct metric_child *c = map_get(&f->children, strbuf_str(&key), key.len);
    if (c)
        return c;
    if (f->children.n >= max) {
        f->overflow++;
        if (!f->sink)
            f->sink = child_new(f, NULL, 0);
        return f->sink;
    }
    c = child_new(f, strbuf_str(&key), key.len);
    map_put(&f->children, c->key, c->key_len, c);
    return c;
}

struct counter *metric_counter(struct metric *f, const char *const *values)
{
    assert(f->desc->type == METRIC_COUNTER);
    return &child_get(f, values)->counter;
}

struct gauge *metric_gauge(struct metric *f, const char *const *values)
{
    assert(f->desc->type == METRIC_GAUGE);
    return &child_get(f, values)->gauge;
}

struct histogram *metric_histogram(struct metric *f, const char *const *values)
{
    assert(f->desc->type == METRIC_HISTOGRAM);
    return &child_get(f, values)->histogram;
}

bool metric_remove(struct metric *f, const char *const *values)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    make_key(f, values, &key);
    struct metric_child *c = map_remove(&f->children, strbuf_str(&key), key.len);
    free(c);
    return c;
}

size_t metric_remove_where(struct metric *f, const char *label, const char *value)
{
    struct vec_of(struct metric_child *) gone = { 0 };
    size_t at = 0;

    while (at < f->nlabels && !streq(f->desc->labels[at], label))
        at++;
    assert(at < f->nlabels);
    map_foreach(&f->children, e)
        if (streq(child_value(e->value, at), value))
            vec_push(&gone, e->value);
    vec_foreach(&gone, i) {
        struct metric_child *c = gone.items[i];
        map_remove(&f->children, c->key, c->key_len);
        free(c);
    }
    size_t n = gone.n;
    vec_fini(&gone);
    return n;
}

void metric_clear(struct metric *f)
{
    map_foreach(&f->children, e)
        free(e->value);
    map_fini(&f->children);
    f->children = (struct map){ 0 };
}

size_t metric_children(const struct metric *f)
{
    return f->children.n;
}
