/* discovery.c - rounds of questions about kinds, and looking them up. */
#include "client/discovery.h"

#include <stdlib.h>
#include <strings.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/backoff.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "json/kj.h"

#define ROUND_EVERY (30 * NSEC_PER_SEC)
#define ROUND_SOON  (500 * NSEC_PER_MSEC)
enum { TRIES = 3 }; /* of a question whose answer gets lost */

struct entry {
    struct served_kind k;
    size_t order;  /* of its group in the server's list; core: 0 */
    uint64_t seen; /* the last round that named it, or could not tell */
};
struct asking { /* one question of the round under way */
    struct discovery *d;
    struct kube_call *call;
    struct asking *next;
    char *group_version; /* NULL: the list of groups */
    size_t order;
    unsigned tries;
};
struct listener {
    discovery_fn fn;
    void *arg;
};
struct failures {
    struct strbuf text;
    size_t n;
};
struct discovery {
    struct kube *kube;
    struct arena *arena;                 /* names of kinds, for ever */
    struct vec_of(struct entry *) kinds; /* by order */
    struct vec_of(struct listener) listeners;
    struct asking *asking;
    struct timer *timer; /* to the next round */
    struct backoff backoff;
    nsec_t timeout, interval;
    uint64_t round;
    bool repeats, again; /* again: soon, whatever this round finds */
    bool complete, failed, gone;
    struct kerr problem;
    struct failures now, last; /* of the round under way, and of the one before */
};

/* ---- what a server says ---------------------------------------------------------------------- */

static bool has_verb(const struct kj_val *res, const char *verb)
{
    const struct kj_val *v;
    struct str key;

    for (struct kj_iter it = kj_iter(kj_get(res, "verbs")); kj_next(&it, &key, &v);)
        if (streq(kj_str_or(v, ""), verb))
            return true;
    return false;
}

static struct entry *find_plural(const struct discovery *d, struct str group, const char *plural)
{
    vec_foreach(&d->kinds, i) {
        struct entry *e = d->kinds.items[i];
        if (str_eqz(group, e->k.kind.group) && streq(e->k.kind.plural, plural))
            return e;
    }
    return NULL;
}

/* "po,pod" */
static const char *short_names(const struct kj_val *res, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct kj_val *v;
    struct str key;

    for (struct kj_iter it = kj_iter(kj_get(res, "shortNames")); kj_next(&it, &key, &v);)
        strbuf_appendf(&out, "%s%s", out.len ? "," : "", kj_str_or(v, ""));
    return out.len ? arena_strdup(a, strbuf_str(&out)) : NULL;
}

static struct entry *add_kind(struct discovery *d, struct str group, struct str version,
                              const struct kj_val *res)
{
    struct entry *e = xnew0(struct entry);

    e->k.kind = (struct kind){ .group = arena_strndup(d->arena, group.p, group.n),
                               .version = arena_strndup(d->arena, version.p, version.n),
                               .kind = arena_strdup(d->arena, kj_str_or(kj_get(res, "kind"), "")),
                               .plural = arena_strdup(d->arena, kj_str_or(kj_get(res, "name"), "")),
                               .namespaced = kj_bool(kj_get(res, "namespaced"), false),
                               .short_names = short_names(res, d->arena),
                               .schema = &kobj_schema };
    e->k.singular = arena_strdup(d->arena, kj_str_or(kj_get(res, "singularName"), ""));
    vec_push(&d->kinds, e);
    return e;
}

static void learn(struct discovery *d, const struct asking *q, const struct kj_val *res)
{
    const char *plural = kj_str_or(kj_get(res, "name"), ""), *gv = q->group_version;
    const char *slash = strchr(gv, '/');
    struct str group = { gv, slash ? (size_t)(slash - gv) : 0 };

    if (!*plural || strchr(plural, '/') || str_empty(kj_str(kj_get(res, "kind"))))
        return; /* a subresource */
    struct entry *e = find_plural(d, group, plural);
    if (!e)
        e = add_kind(d, group, str_of(slash ? slash + 1 : gv), res);
    e->order = q->order;
    e->seen = d->round;
    e->k.list = has_verb(res, "list");
    e->k.watch = has_verb(res, "watch");
    e->k.delete_one = has_verb(res, "delete");
    e->k.delete_collection = has_verb(res, "deletecollection");
}

/* ---- a round --------------------------------------------------------------------------------- */

static void begin_round(struct discovery *d);

static void on_timer(struct loop *l, void *arg)
{
    struct discovery *d = arg;

    (void)l;
    d->timer = NULL;
    begin_round(d);
}

static void next_round(struct discovery *d, nsec_t wait)
{
    timer_cancel(d->timer);
    d->timer = loop_after(d->kube->loop, wait, on_timer, d);
}

static int by_order(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return strcmp(x->k.kind.plural, y->k.kind.plural);
}

static void end_round(struct discovery *d)
{
    bool soon = d->again || d->gone;

    struct failures before = d->last;

    d->last = d->now;
    d->now = before;
    strbuf_reset(&d->now.text);
    d->now.n = 0;
    d->complete = !d->failed;
    d->again = false;
    /* Not before: who looks in the middle of a round must not miss a kind. */
    vec_foreach(&d->kinds, i)
        d->kinds.items[i]->k.served = d->kinds.items[i]->seen == d->round;
    if (d->kinds.n)
        qsort(d->kinds.items, d->kinds.n, sizeof *d->kinds.items, by_order);
    if (d->complete || d->gone)
        backoff_reset(&d->backoff);
    if (d->repeats)
        next_round(d, soon          ? ROUND_SOON
                      : d->complete ? d->interval
                                    : backoff_next(&d->backoff, d->kube->loop));
    vec_foreach(&d->listeners, i)
        d->listeners.items[i].fn(d->listeners.items[i].arg);
}

static void asking_free(struct asking *q)
{
    for (struct asking **p = &q->d->asking; *p; p = &(*p)->next) {
        if (*p == q) {
            *p = q->next;
            break;
        }
    }
    free(q->group_version);
    free(q);
}

static void send(struct asking *q);
static void ask(struct discovery *d, const char *group_version, size_t order);

/* What could not be asked for is served as before. */
static void keep_kinds(struct discovery *d, const struct asking *q)
{
    const char *slash = q->group_version ? strchr(q->group_version, '/') : NULL;
    struct str group = { q->group_version, slash ? (size_t)(slash - q->group_version) : 0 };

    vec_foreach(&d->kinds, i) {
        struct entry *e = d->kinds.items[i];
        bool concerned = q->group_version ? str_eqz(group, e->k.kind.group) : *e->k.kind.group;
        if (e->k.served && concerned)
            e->seen = d->round;
    }
}

static void note_failure(struct asking *q, const struct kerr *err)
{
    struct discovery *d = q->d;
    bool is_group = q->group_version && strchr(q->group_version, '/');

    keep_kinds(d, q);
    d->failed = true;
    strbuf_appendf(&d->now.text, "%s%s: %s", d->now.n++ ? ", " : "",
                   str_or(q->group_version, "groups"), err->text);
    /* A group that is coming or going is asked for again soon. */
    d->gone = d->gone || (is_group && err->reason == KR_NOT_FOUND);
    if (d->problem.code == 0 && !(is_group && err->reason != KR_NONE))
        d->problem = *err;
    KLOG_I(2, "Failed to discover the kinds of a group",
           KV_S("group", str_or(q->group_version, "all")), KV_S("err", err->text));
}

static void take_groups(struct discovery *d, const struct kj_val *groups)
{
    const struct kj_val *group;
    struct str key;
    size_t order = 0;

    for (struct kj_iter it = kj_iter(groups); kj_next(&it, &key, &group);) {
        const char *gv = kj_str(kj_path(group, "preferredVersion.groupVersion"));
        if (gv && strchr(gv, '/'))
            ask(d, gv, ++order);
    }
}

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct asking *q = arg;
    struct discovery *d = q->d;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr bad = { 0 };
    const struct kj_val *res;
    struct str key;

    if (!err && kj_parse(r->body, r->n, 0, &doc, &bad) < 0) {
        kerr_wrap(&bad, "answer about the kinds of %s", str_or(q->group_version, "all groups"));
        err = &bad;
    }
    /* A round asks for every group: one would hardly be complete where some answers get lost. Who
     * asks for one round is told at once. */
    if (err && err->reason == KR_NONE && d->repeats && ++q->tries < TRIES) {
        send(q);
        return;
    }
    if (err)
        note_failure(q, err);
    else if (!q->group_version)
        take_groups(d, kj_get(kj_root(doc), "groups"));
    else
        for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "resources"));
             kj_next(&it, &key, &res);)
            learn(d, q, res);
    asking_free(q);
    if (!d->asking)
        end_round(d);
}

static void send(struct asking *q)
{
    const char *gv = q->group_version;
    CLEANUP(mem_free)
    char *path = !gv               ? xstrdup("/apis")
                 : strchr(gv, '/') ? xasprintf("/apis/%s", gv)
                                   : xasprintf("/api/%s", gv);

    q->call =
        kube_do(q->d->kube,
                &(struct kube_req){ .verb = KUBE_GET, .raw_path = path, .timeout = q->d->timeout },
                on_answer, q);
}

/* "v1" at /api/v1, "apps/v1" at /apis/apps/v1; NULL: which groups there are. */
static void ask(struct discovery *d, const char *group_version, size_t order)
{
    struct asking *q = xnew0(struct asking);

    *q = (struct asking){ .d = d, .next = d->asking, .order = order };
    q->group_version = group_version ? xstrdup(group_version) : NULL;
    d->asking = q;
    send(q);
}

static void begin_round(struct discovery *d)
{
    d->round++;
    d->failed = d->gone = false;
    d->problem = (struct kerr){ 0 };
    ask(d, "v1", 0);
    ask(d, NULL, 0);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct discovery *discovery_new(struct kube *k)
{
    struct discovery *d = xnew0(struct discovery);

    d->kube = k;
    d->arena = arena_new();
    d->backoff = (struct backoff){
        .initial = ROUND_SOON, .max = 10 * NSEC_PER_SEC, .factor = 2.0, .jitter = 0.5
    };
    return d;
}

struct discovery *discovery_free(struct discovery *d)
{
    if (!d)
        return NULL;
    timer_cancel(d->timer);
    while (d->asking) {
        kube_cancel(d->asking->call);
        asking_free(d->asking);
    }
    vec_foreach(&d->kinds, i)
        free(d->kinds.items[i]);
    vec_fini(&d->kinds);
    vec_fini(&d->listeners);
    strbuf_fini(&d->now.text);
    strbuf_fini(&d->last.text);
    arena_free(d->arena);
    free(d);
    return NULL;
}

void discovery_on_round(struct discovery *d, discovery_fn fn, void *arg)
{
    struct listener l = { fn, arg };
    vec_push(&d->listeners, l);
}

void discovery_start(struct discovery *d, nsec_t interval)
{
    d->interval = interval ? interval : ROUND_EVERY;
    d->repeats = true;
    begin_round(d);
}

void discovery_ask(struct discovery *d, nsec_t timeout)
{
    d->timeout = timeout;
    begin_round(d);
}

void discovery_refresh(struct discovery *d)
{
    if (!d->repeats)
        return;
    if (d->asking)
        d->again = true; /* this round may have missed it */
    else
        next_round(d, ROUND_SOON);
}

bool discovery_complete(const struct discovery *d)
{
    return d->complete;
}

const struct kerr *discovery_problem(const struct discovery *d)
{
    return d->problem.code ? &d->problem : NULL;
}

size_t discovery_failed_groups(const struct discovery *d, const char **ret)
{
    *ret = strbuf_str(&d->last.text);
    return d->last.n;
}

/* ---- looking up ------------------------------------------------------------------------------ */

size_t discovery_count(const struct discovery *d)
{
    return d->kinds.n;
}

struct served_kind *discovery_at(const struct discovery *d, size_t i)
{
    return &d->kinds.items[i]->k;
}

struct served_kind *discovery_find(const struct discovery *d, const char *api_version,
                                   const char *kind)
{
    const char *slash = strchr(api_version, '/');
    struct str group = { api_version, slash ? (size_t)(slash - api_version) : 0 };

    vec_foreach(&d->kinds, i) {
        struct served_kind *k = &d->kinds.items[i]->k;
        if (str_eqz(group, k->kind.group) && streq(k->kind.kind, kind))
            return k;
    }
    return NULL;
}

static bool word_is(struct str word, const char *name)
{
    return word.n > 0 && strlen(name) == word.n && strncasecmp(name, word.p, word.n) == 0;
}

static bool is_short_name(struct str word, const char *names)
{
    for (const char *p = names; p && *p;) {
        size_t n = strcspn(p, ",");
        if (n == word.n && strncasecmp(p, word.p, n) == 0)
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

struct served_kind *discovery_find_word(const struct discovery *d, const char *word)
{
    const char *dot = strchr(word, '.');
    struct str noun = { word, dot ? (size_t)(dot - word) : strlen(word) };

    vec_foreach(&d->kinds, i) {
        struct served_kind *k = &d->kinds.items[i]->k;
        if (!k->served || (dot && !streq(k->kind.group, dot + 1)))
            continue;
        if (word_is(noun, k->kind.plural) || word_is(noun, k->singular) ||
            word_is(noun, k->kind.kind) || is_short_name(noun, k->kind.short_names))
            return k;
    }
    return NULL;
}
