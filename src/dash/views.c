/* views.c - JSON of the whole cluster: state, minutes, nodes. */
#include "dash/views.h"

#include <ctype.h>

#include "json/kj.h"

#define MINUTE (60 * NSEC_PER_SEC)
static const char *const state_names[] = { "listing", "well", "forbidden", "absent", "lost" };
static const char *const user_names[] = { "prod", "mid", "batch", "system" };

static int64_t mib(int64_t bytes)
{
    return bytes >> 20;
}

void view_amount(struct kjw *w, const char *key, struct dash_amount a)
{
    kjw_arr(w, key);
    kjw_i64(w, NULL, a.mcpu);
    kjw_i64(w, NULL, mib(a.bytes));
    kjw_end(w);
}

/* ---- state ----------------------------------------------------------------------------------- */

static void put_sums(struct kjw *w, const struct dash_sums *s)
{
    kjw_obj(w, "sums");
    view_amount(w, "capacity", s->capacity);
    view_amount(w, "used", s->used);
    for (int i = 0; i < DASH_USERS; i++)
        view_amount(w, user_names[i], s->by_user[i]);
    view_amount(w, "batchAllocatable", s->batch_allocatable);
    view_amount(w, "batchRequested", s->batch_requested);
    kjw_i64(w, "nodes", s->nodes);
    kjw_i64(w, "reporting", s->reporting);
    kjw_i64(w, "pods", s->pods);
    kjw_i64(w, "pending", s->pending);
    kjw_end(w);
}

static void put_source(struct kjw *w, const struct dash_source *s)
{
    kjw_obj(w, NULL);
    kjw_str(w, "resource", s->resource);
    kjw_str(w, "group", s->group);
    kjw_str(w, "state", state_names[s->state]);
    kjw_str(w, "problem", s->problem);
    kjw_end(w);
}

void view_state(struct dash *d, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    struct dash_source s;

    dash_settle(d);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "sources");
    for (size_t i = 0; dash_source(d, i, &s); i++)
        put_source(&w, &s);
    kjw_end(&w);
    put_sums(&w, &d->sums);
    kjw_end(&w);
}

/* ---- minutes --------------------------------------------------------------------------------- */

static void put_minute(struct kjw *w, const struct dash_minute *m)
{
    const struct dash_sums *s = &m->sums;

    kjw_arr(w, NULL);
    kjw_i64(w, NULL, m->at / MINUTE);
    kjw_i64(w, NULL, s->capacity.mcpu);
    for (int i = 0; i < DASH_USERS; i++)
        kjw_i64(w, NULL, s->by_user[i].mcpu);
    kjw_i64(w, NULL, mib(s->capacity.bytes));
    for (int i = 0; i < DASH_USERS; i++)
        kjw_i64(w, NULL, mib(s->by_user[i].bytes));
    kjw_end(w);
}

bool view_minutes(struct dash *d, nsec_t after, nsec_t *ret_last, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    const struct dash_minute *m;
    bool any = false;

    kjw_arr(&w, NULL);
    for (size_t i = 0; (m = series_at(&d->series, i)); i++) {
        if (m->at <= after)
            continue;
        put_minute(&w, m);
        *ret_last = m->at;
        any = true;
    }
    kjw_end(&w);
    return any;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Digits count as numbers: node-2 before node-10. */
static int natural_cmp(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            if (n != m)
                return n < m ? -1 : 1;
            int c = memcmp(a, b, n);
            if (c)
                return c;
            a += n;
            b += m;
            if (!*a || !*b)
                break;
        }
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int rows_by_name(const void *x, const void *y)
{
    const struct row *a = *(const struct row *const *)x, *b = *(const struct row *const *)y;
    int c = natural_cmp(a->name, b->name);
    return c ? c : strcmp(a->name, b->name); /* n01 and n1 are two */
}

struct row **view_rows(struct dash *d, size_t *ret_n)
{
    struct row **rows;
    size_t n = 0;

    dash_settle(d);
    rows = xnewn0(d->rows.n + 1, struct row *);
    map_foreach(&d->rows, e) {
        struct row *r = e->value;
        if (r->node)
            rows[n++] = r;
    }
    qsort(rows, n, sizeof *rows, rows_by_name);
    *ret_n = n;
    return rows;
}

static void put_row(struct kjw *w, const struct dash_node *n)
{
    kjw_arr(w, NULL);
    kjw_str(w, NULL, n->name);
    kjw_i64(w, NULL, n->is_fresh | n->is_ready << 1 | n->is_unschedulable << 2);
    kjw_i64(w, NULL, n->capacity.mcpu);
    for (int i = 0; i < DASH_USERS; i++)
        kjw_i64(w, NULL, n->by_user[i].mcpu);
    kjw_i64(w, NULL, mib(n->capacity.bytes));
    kjw_i64(w, NULL, mib(n->used.bytes));
    kjw_i64(w, NULL, n->batch_allocatable.mcpu);
    kjw_i64(w, NULL, n->pods);
    kjw_i64(w, NULL, n->used.mcpu);
    kjw_end(w);
}

void view_nodes(struct row *const *rows, size_t n, bool is_first, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_bool(&w, "first", is_first);
    kjw_arr(&w, "rows");
    for (size_t i = 0; i < n; i++)
        put_row(&w, &rows[i]->n);
    kjw_end(&w);
    kjw_end(&w);
}
