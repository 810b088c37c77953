/* probe_informer.c - informers, told and checked.
 *
 * Prints       add KEY RV, update KEY RV, delete KEY RV     what a handler was told
 *              synced N                                     the first list is in
 *              violation WHAT KEY                           what a handler must never be told
 * Reads        check      the server is listed anew and compared with cache and news, for up to 90
 *                         seconds until they agree: equal N, or differs WHAT
 *              stats      one line of name=value
 *              problem    what informer_problem() says, or none
 *              quit       as does the end of the input
 * With several kinds (--kind all: the whole table) KEY and N have the kind's label in front.
 */
#include <stdio.h>

#include "base/map.h"
#include "client/informer.h"
#include "loop/loop.h"
#include "json/kj.h"

#include "probe.h"

#define CHECK_LIMIT (90 * NSEC_PER_SEC)
#define CHECK_AGAIN (200 * NSEC_PER_MSEC)
enum { CHECK_PAGE = 500 };

/* What somebody who only listens believes. */
struct told {
    struct kobj *obj;
    char key[];
};

struct follower {
    struct followers *all;
    const struct kind *kind;
    struct informer *inf;
    struct map told; /* key -> struct told */
    char label[PROBE_LABEL_MAX + 2];
};

struct check { /* under way while until != 0 */
    nsec_t until;
    size_t at; /* which follower */
    size_t listed, total;
    char *token;
    struct strbuf wrong; /* the first difference; empty: none */
    struct kube_call *call;
    struct timer *again;
};

struct followers {
    struct probe *p;
    struct follower *items;
    size_t n;
    struct check check;
};

/* ---- the news ------------------------------------------------------------------------- */

static void say(const struct follower *f, const char *what, const struct kobj *o)
{
    char key[KOBJ_KEY_MAX];
    kobj_key(o, key, sizeof key);
    printf("%s %s%s %s\n", what, f->label, key, o->meta.resource_version);
}

static void violation(const struct follower *f, const char *what, const struct kobj *o)
{
    char key[KOBJ_KEY_MAX];
    kobj_key(o, key, sizeof key);
    printf("violation %s %s%s %s\n", what, f->label, key, o->meta.resource_version);
}

/* What was told of the object before; the caller's to unref. */
static struct kobj *forget(struct follower *f, const struct kobj *o)
{
    char key[KOBJ_KEY_MAX];
    size_t n = kobj_key(o, key, sizeof key);
    struct told *t = map_remove(&f->told, key, n);
    struct kobj *had = t ? t->obj : NULL;
    free(t);
    return had;
}

static void remember(struct follower *f, struct kobj *o)
{
    char key[KOBJ_KEY_MAX];
    size_t n = kobj_key(o, key, sizeof key);
    struct told *t = xmalloc(sizeof *t + n + 1);
    t->obj = kobj_ref(o);
    memcpy(t->key, key, n + 1);
    map_put(&f->told, t->key, n, t);
}

static void on_add(void *arg, struct kobj *o)
{
    struct follower *f = arg;
    CLEANUP(kobj_unref) struct kobj *had = forget(f, o);
    say(f, "add", o);
    if (had)
        violation(f, "added twice", o);
    remember(f, o);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct follower *f = arg;
    CLEANUP(kobj_unref) struct kobj *had = forget(f, o);
    say(f, "update", o);
    if (!had)
        violation(f, "update of what was never added", o);
    else if (had != old)
        violation(f, "update from a state that was never told", o);
    else if (strtoull(o->meta.resource_version, NULL, 10) <=
             strtoull(had->meta.resource_version, NULL, 10))
        violation(f, "update into the past", o);
    else if (!kuid_equal(had->meta.uid, o->meta.uid))
        violation(f, "update to another object", o);
    remember(f, o);
}

static void on_delete(void *arg, struct kobj *o)
{
    struct follower *f = arg;
    CLEANUP(kobj_unref) struct kobj *had = forget(f, o);
    say(f, "delete", o);
    if (!had)
        violation(f, "deletion of what was never added", o);
    else if (had != o)
        violation(f, "deletion of another state", o);
}

static void on_synced(void *arg)
{
    struct follower *f = arg;
    printf("synced %s%zu\n", f->label, informer_count(f->inf));
}

static const struct informer_handler handler = { on_add, on_update, on_delete, on_synced };

/* ---- check ---------------------------------------------------------------------------- */

static void check_kind(struct followers *all);

static void check_fini(struct check *c)
{
    kube_cancel(c->call);
    timer_cancel(c->again);
    free(c->token);
    strbuf_fini(&c->wrong);
    *c = (struct check){ 0 };
}

static void compare_item(struct followers *all, const struct kj_val *item)
{
    struct check *c = &all->check;
    const struct follower *f = &all->items[c->at];
    const struct kj_val *meta = kj_get(item, "metadata");
    const char *ns = kj_str(kj_get(meta, "namespace"));
    const char *version = kj_str_or(kj_get(meta, "resourceVersion"), "");
    char key[KOBJ_KEY_MAX];

    (void)snprintf(key, sizeof key, "%s%s%s", str_or(ns, ""), ns ? "/" : "",
                   kj_str_or(kj_get(meta, "name"), ""));
    const struct kobj *cached = informer_get(f->inf, key);
    const struct told *told = map_getz(&f->told, key);
    c->listed++;
    if (c->wrong.len)
        return;
    if (!cached)
        strbuf_appendf(&c->wrong, "%s%s: missing", f->label, key);
    else if (!streq(cached->meta.resource_version, version))
        strbuf_appendf(&c->wrong, "%s%s: %s in the cache, %s at the server", f->label, key,
                       cached->meta.resource_version, version);
    else if (!told || told->obj != cached)
        strbuf_appendf(&c->wrong, "%s%s: not what was told", f->label, key);
}

static void compare_sizes(struct followers *all)
{
    struct check *c = &all->check;
    const struct follower *f = &all->items[c->at];
    size_t cached = informer_count(f->inf);

    if (c->wrong.len)
        return;
    if (!informer_synced(f->inf))
        strbuf_appendf(&c->wrong, "%snot synced", f->label);
    else if (cached != c->listed || f->told.n != c->listed)
        strbuf_appendf(&c->wrong, "%s%zu objects at the server, %zu in the cache, %u told",
                       f->label, c->listed, cached, f->told.n);
}

static void check_again(struct loop *l, void *arg)
{
    struct followers *all = arg;
    (void)l;
    all->check.again = NULL;
    check_kind(all);
}

/* All of one kind was compared, or could not be. */
static void check_judge(struct followers *all)
{
    struct check *c = &all->check;

    if (c->wrong.len && loop_mono(all->p->loop) < c->until) {
        c->again = loop_after(all->p->loop, CHECK_AGAIN, check_again, all);
        return;
    }
    c->total += c->listed;
    if (!c->wrong.len && ++c->at < all->n) {
        check_kind(all);
        return;
    }
    if (c->wrong.len)
        printf("differs %s\n", strbuf_str(&c->wrong));
    else
        printf("equal %zu\n", c->total);
    check_fini(c);
}

static void check_page(struct followers *all);

static void on_page(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct followers *all = arg;
    struct check *c = &all->check;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr bad = { 0 };
    const struct kj_val *item;
    struct str key;

    c->call = NULL;
    if (!err && kj_parse_insitu(r->body, r->n, 0, &doc, &bad) < 0)
        err = &bad;
    if (err) {
        strbuf_appendf(&c->wrong, "%slist: %s", all->items[c->at].label, err->text);
        check_judge(all);
        return;
    }
    struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items"));
    while (kj_next(&it, &key, &item))
        compare_item(all, item);
    const char *more = kj_str_or(kj_path(kj_root(doc), "metadata.continue"), "");
    free(c->token);
    c->token = *more ? xstrdup(more) : NULL;
    if (c->token) {
        check_page(all);
        return;
    }
    compare_sizes(all);
    check_judge(all);
}

static void check_page(struct followers *all)
{
    struct check *c = &all->check;
    struct kube_req r = {
        .verb = KUBE_LIST,
        .kind = all->items[c->at].kind,
        .ns = all->p->o.ns,
        .label_selector = all->p->o.selector,
        .limit = CHECK_PAGE,
        .continue_token = c->token,
    };
    c->call = kube_do(all->p->kube, &r, on_page, all);
}

static void check_kind(struct followers *all)
{
    struct check *c = &all->check;
    free(take(c->token));
    strbuf_reset(&c->wrong);
    c->listed = 0;
    check_page(all);
}

static void check_start(struct followers *all)
{
    if (all->check.until)
        return;
    all->check.until = loop_mono(all->p->loop) + CHECK_LIMIT;
    check_kind(all);
}

/* ---- commands ------------------------------------------------------------------------- */

static void print_stats(const struct followers *all)
{
    struct informer_stats sum = { 0 };
    struct kube_http_stats h = kube_http_stats(all->p->kube);

    for (size_t i = 0; i < all->n; i++) {
        struct informer_stats s = informer_stats(all->items[i].inf);
        sum.lists += s.lists;
        sum.watches += s.watches;
        sum.events += s.events;
        sum.duplicates += s.duplicates;
        sum.decode_errors += s.decode_errors;
        sum.relists_gone += s.relists_gone;
        sum.objects += s.objects;
        sum.bytes += s.bytes;
    }
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        { "lists", sum.lists },
        { "watches", sum.watches },
        { "events", sum.events },
        { "duplicates", sum.duplicates },
        { "decode_errors", sum.decode_errors },
        { "relists_gone", sum.relists_gone },
        { "objects", sum.objects },
        { "bytes", sum.bytes },
        { "requests", h.requests },
        { "retries", h.retries },
        { "token_refreshes", h.token_refreshes },
    };
    printf("stats");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        printf(" %s=%llu", rows[i].name, (unsigned long long)rows[i].value);
    printf("\n");
}

static void print_problem(const struct followers *all)
{
    const char *problem = NULL;
    for (size_t i = 0; i < all->n && !problem; i++)
        problem = informer_problem(all->items[i].inf);
    printf("problem %s\n", str_or(problem, "none"));
}

static void on_line(void *arg, char *line)
{
    struct followers *all = arg;
    if (!line || streq(line, "quit"))
        loop_stop(all->p->loop);
    else if (streq(line, "check"))
        check_start(all);
    else if (streq(line, "stats"))
        print_stats(all);
    else if (streq(line, "problem"))
        print_problem(all);
    else
        printf("unknown %s\n", line);
}

/* ---- life ----------------------------------------------------------------------------- */

static void follow(struct followers *all, const struct kind *k)
{
    all->items[all->n++] = (struct follower){ .all = all, .kind = k };
}

static int choose_kinds(struct followers *all, struct kerr *err)
{
    const struct words *kinds = &all->p->o.kinds;
    size_t known = 0;

    while (kind_at(known))
        known++;
    all->items = xnewn0(kinds->n + known, struct follower);
    if (kinds->n == 1 && streq(kinds->items[0], "all")) {
        for (size_t i = 0; i < known; i++)
            follow(all, kind_at(i));
        return 0;
    }
    vec_foreach(kinds, i) {
        const struct kind *k;
        if (probe_find_kind(kinds->items[i], &k, err) < 0)
            return err->code;
        follow(all, k);
    }
    return all->n > 0 ? 0 : kerr_set(err, -EINVAL, "--kind is required");
}

static int start(struct probe *p, void **ret_state, struct kerr *err)
{
    struct followers *all = xnew0(struct followers);
    char label[PROBE_LABEL_MAX];

    *ret_state = all;
    all->p = p;
    if (choose_kinds(all, err) < 0)
        return err->code;
    for (size_t i = 0; i < all->n; i++) {
        struct follower *f = &all->items[i];
        struct informer_opts o = {
            .kind = f->kind,
            .ns = p->o.ns,
            .label_selector = p->o.selector,
            .page = p->o.page,
        };
        if (all->n > 1)
            (void)snprintf(f->label, sizeof f->label,
                           "%s:", probe_kind_label(f->kind, label, sizeof label));
        f->inf = informer_new(p->kube, &o);
        informer_add_handler(f->inf, &handler, f);
        informer_start(f->inf);
    }
    return probe_read_lines(p, on_line, all, err);
}

static void end(void *state)
{
    struct followers *all = state;
    if (!all)
        return;
    check_fini(&all->check);
    for (size_t i = 0; i < all->n; i++) {
        struct follower *f = &all->items[i];
        informer_free(f->inf);
        map_foreach(&f->told, e) {
            struct told *t = e->value;
            kobj_unref(t->obj);
            free(t);
        }
        map_fini(&f->told);
    }
    free(all->items);
    free(all);
}

const struct probe_verb probe_informer = { "informer", start, end };
