/* metrics_text.c - the text exposition format 0.0.4, as Prometheus' Go client writes it. */
#include "component/metrics.h"

#include <math.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "component/metrics_int.h"

#define OVERFLOW_NAME "koord_metrics_overflow_total"

/* ---- numbers --------------------------------------------------------------------------------- */

/* Go's 'g' in its shortest form: the number is 0.DIGITS * 10^point, and an exponent is written
 * below 1e-4 and from 1e+06 on, however many digits there are. */
static void put_digits(struct strbuf *out, const char *digits, int n, int point)
{
    int exp = point - 1;

    if (exp < -4 || exp >= 6) {
        strbuf_appendc(out, digits[0]);
        if (n > 1)
            strbuf_appendf(out, ".%.*s", n - 1, digits + 1);
        strbuf_appendf(out, "e%c%02d", exp < 0 ? '-' : '+', abs(exp));
        return;
    }
    if (point <= 0)
        strbuf_appendf(out, "0.%.*s%.*s", -point, "0000", n, digits);
    else if (point >= n)
        strbuf_appendf(out, "%.*s%.*s", n, digits, point - n, "000000");
    else
        strbuf_appendf(out, "%.*s.%.*s", point, digits, n - point, digits + point);
}

void metrics_append_f64(struct strbuf *out, double v)
{
    char text[40], digits[40];
    int n = 0, point = 0, exp = 0;
    bool after = false;

    if (isnan(v) || isinf(v)) {
        strbuf_append(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (fabs(v) < 1e6 && v == (double)(int)v) {
        strbuf_append_i64(out, (int)v);
        return;
    }
    /* The shortest digits come from base; only their arrangement is different here. */
    text[f64_format(v, text, sizeof text - 1)] = '\0';
    if (v < 0)
        strbuf_appendc(out, '-');
    for (const char *p = text; *p; p++) {
        if (*p == 'e' || *p == 'E') {
            exp = atoi(p + 1);
            break;
        }
        if (*p == '.')
            after = true;
        if (*p < '0' || *p > '9')
            continue;
        if (n == 0 && *p == '0') {
            point -= after;
            continue;
        }
        digits[n++] = *p;
        point += !after;
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    put_digits(out, digits, n, point + exp);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_escaped(struct strbuf *out, const char *s, bool quotes)
{
    for (;;) {
        size_t n = strcspn(s, quotes ? "\\\n\"" : "\\\n");
        strbuf_appendn(out, s, n);
        s += n;
        if (!*s)
            return;
        strbuf_appendc(out, '\\');
        strbuf_appendc(out, *s == '\n' ? 'n' : *s);
        s++;
    }
}

static void put_header(struct strbuf *out, const struct metric_desc *d)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };

    if (d->help) {
        strbuf_appendf(out, "# HELP %s ", d->name);
        put_escaped(out, d->help, false);
        strbuf_appendc(out, '\n');
    }
    strbuf_appendf(out, "# TYPE %s %s\n", d->name, types[d->type]);
}

/* name{label="value",...,le="..."}, without a value yet; le NULL: none. */
static void put_name(struct strbuf *out, const struct metric *f, const char *const *values,
                     const char *suffix, const double *le)
{
    char open = '{';

    strbuf_append(out, f->desc->name);
    strbuf_append(out, suffix);
    for (size_t i = 0; i < f->nlabels; i++) {
        strbuf_appendf(out, "%c%s=\"", open, f->desc->labels[f->order[i]]);
        put_escaped(out, values[f->order[i]], true);
        strbuf_appendc(out, '"');
        open = ',';
    }
    if (le) {
        strbuf_appendf(out, "%cle=\"", open);
        metrics_append_f64(out, *le);
        strbuf_appendc(out, '"');
        open = ',';
    }
    strbuf_append(out, open == ',' ? "} " : " ");
}

static void put_series(struct strbuf *out, const struct metric *f, const struct metric_child *c,
                       const char *suffix, const double *le)
{
    const char *values[METRIC_LABELS_MAX];

    for (size_t i = 0; i < f->nlabels; i++)
        values[i] = child_value(c, i);
    put_name(out, f, values, suffix, le);
}

static void put_number(struct strbuf *out, double v)
{
    metrics_append_f64(out, v);
    strbuf_appendc(out, '\n');
}

static void put_histogram(struct strbuf *out, const struct metric *f, const struct metric_child *c)
{
    const struct histogram *h = &c->histogram;
    const double inf = INFINITY;
    uint64_t sum = 0;

    for (uint32_t i = 0; i <= h->n; i++) {
        sum += h->counts[i];
        put_series(out, f, c, "_bucket", i < h->n ? &h->bounds[i] : &inf);
        strbuf_appendf(out, "%llu\n", (unsigned long long)sum);
    }
    put_series(out, f, c, "_sum", NULL);
    put_number(out, h->sum);
    put_series(out, f, c, "_count", NULL);
    strbuf_appendf(out, "%llu\n", (unsigned long long)sum);
}

static void put_child(struct strbuf *out, const struct metric *f, const struct metric_child *c)
{
    if (f->desc->type == METRIC_HISTOGRAM) {
        put_histogram(out, f, c);
        return;
    }
    put_series(out, f, c, "", NULL);
    put_number(out, c->counter.v); /* a gauge's v lies there too */
}

/* ---- sorting --------------------------------------------------------------------------------- */

struct row {
    const struct metric *f;
    const struct metric_child *c;
};
struct rows vec_of(struct row);
struct families vec_of(const struct metric *);

static int by_values(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    for (size_t i = 0; i < x->f->nlabels && i < y->f->nlabels; i++) {
        int r = strcmp(child_value(x->c, x->f->order[i]), child_value(y->c, y->f->order[i]));
        if (r)
            return r;
    }
    return (x->f->nlabels > y->f->nlabels) - (x->f->nlabels < y->f->nlabels);
}

static int by_name(const void *a, const void *b)
{
    const struct metric *const *x = a, *const *y = b;
    return strcmp((*x)->desc->name, (*y)->desc->name);
}

struct told { /* where the rows of a metric go, and whether the header still has to */
    struct strbuf *out;
    const struct metric *f;
    bool headed;
};

static void put_told(void *arg, const char *const *values, double v)
{
    struct told *t = arg;

    if (!t->headed)
        put_header(t->out, t->f->desc);
    t->headed = true;
    put_name(t->out, t->f, values, "", NULL);
    put_number(t->out, v);
}

/* The metrics of one name, one of each registry that has it. */
static void put_family(struct strbuf *out, const struct metric *const *same, size_t n,
                       struct rows *rows)
{
    vec_clear(rows);
    for (size_t i = 0; i < n; i++) {
        if (same[i]->desc->type != same[0]->desc->type)
            continue; /* a name has one type in the text; two components disagree */
        map_foreach(&same[i]->children, e)
            vec_push(rows, ((struct row){ same[i], e->value }));
    }
    if (rows->n > 0) {
        qsort(rows->items, rows->n, sizeof *rows->items, by_values);
        put_header(out, same[0]->desc);
    }
    vec_foreach(rows, i)
        put_child(out, rows->items[i].f, rows->items[i].c);
    struct told t = { out, NULL, rows->n > 0 };
    for (size_t i = 0; i < n; i++) {
        t.f = same[i];
        if (t.f->rows && t.f->desc->type == same[0]->desc->type)
            t.f->rows(t.f->rows_arg, put_told, &t);
    }
}

static bool any_overflow(const struct families *all)
{
    vec_foreach(all, i)
        if (all->items[i]->overflow)
            return true;
    return false;
}

static void put_overflow(struct strbuf *out, const struct families *all)
{
    static const struct metric_desc desc = {
        OVERFLOW_NAME,
        "Number of times a metric was asked for label values beyond the number it keeps.",
        METRIC_COUNTER,
    };

    put_header(out, &desc);
    vec_foreach(all, i) {
        if (!all->items[i]->overflow)
            continue;
        strbuf_appendf(out, OVERFLOW_NAME "{metric=\"%s\"} ", all->items[i]->desc->name);
        put_number(out, (double)all->items[i]->overflow);
    }
}

void metrics_write(struct metrics *const *regs, size_t n, struct strbuf *out)
{
    struct families all = { 0 };
    struct rows rows = { 0 };

    for (size_t i = 0; i < n; i++) {
        vec_foreach(&regs[i]->hooks, h)
            regs[i]->hooks.items[h].fn(regs[i]->hooks.items[h].arg);
        map_foreach(&regs[i]->by_name, e)
            vec_push(&all, e->value);
    }
    if (all.n)
        qsort(all.items, all.n, sizeof *all.items, by_name);
    bool overflow = any_overflow(&all);
    for (size_t i = 0, same; i < all.n; i += same) {
        const char *name = all.items[i]->desc->name;
        for (same = 1; i + same < all.n && streq(all.items[i + same]->desc->name, name); same++)
            ;
        if (overflow && strcmp(name, OVERFLOW_NAME) > 0) {
            put_overflow(out, &all);
            overflow = false;
        }
        put_family(out, &all.items[i], same, &rows);
    }
    if (overflow)
        put_overflow(out, &all);
    vec_fini(&rows);
    vec_fini(&all);
}
