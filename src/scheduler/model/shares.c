/* shares.c - room that one pod of a node keeps for others. */
#include "scheduler/model/shares.h"

#include "scheduler/model/nodecache_int.h"
#include "scheduler/model/rowdata_int.h"

struct share {
    struct kuid uid; /* first: uidmap; of the taker */
    char *uid_text;
    struct holder *holder;
    struct share *next, **link; /* of the holder's */
    struct requests amount;     /* names are its own */
    struct cpod *taker;         /* NULL: it is not in the cache */
    bool taken;                 /* it is on its node, and counts */
};
struct holder {
    struct kuid uid; /* first: uidmap */
    char *uid_text;
    struct cpod *pod;      /* NULL: it is not in the cache */
    struct requests full;  /* what it requests */
    struct requests taken; /* of that, by all takers that count */
    struct share *shares;
};

/* ---- amounts --------------------------------------------------------------------------------- */

static struct requests copy_names(const struct requests *r)
{
    struct requests copy = requests_copy(r);

    for (uint32_t i = 0; i < copy.nmore; i++)
        copy.more[i].name = xstrdup(copy.more[i].name);
    return copy;
}

static void free_names(struct requests *r)
{
    for (uint32_t i = 0; i < r->nmore; i++)
        free((char *)r->more[i].name);
    requests_fini(r);
}

static struct ks_request *find(const struct requests *r, const char *name)
{
    for (uint32_t i = 0; i < r->nmore; i++)
        if (streq(r->more[i].name, name))
            return &r->more[i];
    return NULL;
}

static int64_t left(int64_t full, int64_t taken)
{
    return full > taken ? full - taken : 0;
}

/* Only what the holder has can be taken from it: other names are of no interest. */
static void sum_up(struct holder *h, const struct requests *amount, int sign)
{
    struct requests *t = &h->taken;

    for (int i = 0; i < KS_FIXED; i++)
        t->fixed[i] += sign * amount->fixed[i];
    t->mcpu_nz += sign * amount->mcpu_nz;
    t->memory_nz += sign * amount->memory_nz;
    for (uint32_t i = 0; i < t->nmore; i++) {
        const struct ks_request *x = find(amount, t->more[i].name);
        t->more[i].count += x ? sign * x->count : 0;
    }
}

/* What is left becomes what the holder counts for. */
static void count_rest(struct holder *h)
{
    struct requests *r = &h->pod->requests;

    for (int i = 0; i < KS_FIXED; i++)
        r->fixed[i] = left(h->full.fixed[i], h->taken.fixed[i]);
    r->mcpu_nz = left(h->full.mcpu_nz, h->taken.mcpu_nz);
    r->memory_nz = left(h->full.memory_nz, h->taken.memory_nz);
    for (uint32_t i = 0; i < r->nmore; i++)
        r->more[i].count = left(h->full.more[i].count, h->taken.more[i].count);
}

/* ---- a holder, and its takers ---------------------------------------------------------------- */

/* Its takers are counted for the names that it has now. */
static void bind_holder(struct holder *h, struct cpod *p)
{
    h->pod = p;
    h->full = requests_copy(&p->requests);
    requests_fini(&h->taken);
    h->taken = requests_copy(&p->requests);
    memset(h->taken.fixed, 0, sizeof h->taken.fixed);
    h->taken.mcpu_nz = h->taken.memory_nz = 0;
    for (uint32_t i = 0; i < h->taken.nmore; i++)
        h->taken.more[i].count = 0;
    for (const struct share *s = h->shares; s; s = s->next)
        if (s->taken)
            sum_up(h, &s->amount, 1);
    count_rest(h);
}

static void unbind_holder(struct holder *h)
{
    requests_fini(&h->full);
    h->pod = NULL;
}

/* The holder counts for more or less than before. */
static void recount_holder(struct nodecache *c, struct holder *h)
{
    struct cpod *p = h->pod;
    bool counts = p && !p->away && p->node && p->node->obj;

    if (!p)
        return;
    if (counts && !p->huge && !p->node->nhuge)
        columns_add(&c->cols, p->node->row, &p->requests, -1);
    count_rest(h);
    if (!counts)
        return;
    if (p->huge || p->node->nhuge)
        nodecache_recount(c, p->node);
    else
        columns_add(&c->cols, p->node->row, &p->requests, 1);
    if (c->cols.silent)
        rowsets_used(c, p->node->row);
}

static void count_share(struct nodecache *c, struct share *s, bool taken)
{
    if (s->taken == taken)
        return;
    s->taken = taken;
    if (!s->holder->pod)
        return;
    sum_up(s->holder, &s->amount, taken ? 1 : -1);
    recount_holder(c, s->holder);
}

void shares_pod_moved(struct nodecache *c, struct cpod *p, bool came)
{
    if (p->share)
        count_share(c, p->share, came);
}

void shares_pod_new(struct nodecache *c, struct cpod *p)
{
    struct holder *h = uidmap_get(&c->holders, p->uid);

    p->share = uidmap_get(&c->shares, p->uid);
    if (p->share)
        p->share->taker = p;
    if (h)
        bind_holder(h, p);
    p->holder = h;
}

void shares_pod_gone(struct cpod *p)
{
    if (p->share)
        p->share->taker = NULL;
    if (p->holder)
        unbind_holder(p->holder);
    p->share = NULL;
    p->holder = NULL;
}

/* ---- who shares with whom -------------------------------------------------------------------- */

static struct holder *holder_get(struct nodecache *c, struct kuid uid)
{
    struct holder *h = uidmap_get(&c->holders, uid);

    if (h)
        return h;
    h = xnew0(struct holder);
    h->uid = uidmap_own(uid, &h->uid_text);
    uidmap_put(&c->holders, h);
    struct cpod *p = uidmap_get(&c->pods, uid);
    if (p) {
        p->holder = h;
        bind_holder(h, p);
    }
    return h;
}

static void holder_put(struct nodecache *c, struct holder *h)
{
    if (h->shares)
        return;
    uidmap_remove(&c->holders, h->uid);
    if (h->pod) {
        h->pod->holder = NULL;
        requests_fini(&h->full);
    }
    requests_fini(&h->taken);
    free(h->uid_text);
    free(h);
}

static void share_drop(struct nodecache *c, struct share *s)
{
    count_share(c, s, false);
    uidmap_remove(&c->shares, s->uid);
    if (s->taker)
        s->taker->share = NULL;
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    holder_put(c, s->holder);
    free_names(&s->amount);
    free(s->uid_text);
    free(s);
}

void ks_share_set(const struct ks_nodes *n, struct kuid pod, struct kuid holder,
                  const struct requests *amount)
{
    struct nodecache *c = n->of->reading->cache;
    struct share *s = xnew0(struct share);

    ks_share_clear(n, pod);
    s->uid = uidmap_own(pod, &s->uid_text);
    s->amount = copy_names(amount);
    s->holder = holder_get(c, holder);
    s->next = s->holder->shares;
    s->link = &s->holder->shares;
    if (s->next)
        s->next->link = &s->next;
    *s->link = s;
    uidmap_put(&c->shares, s);
    s->taker = uidmap_get(&c->pods, pod);
    if (!s->taker)
        return;
    s->taker->share = s;
    count_share(c, s, !s->taker->away);
}

void ks_share_clear(const struct ks_nodes *n, struct kuid pod)
{
    struct nodecache *c = n->of->reading->cache;
    struct share *s = uidmap_get(&c->shares, pod);

    if (s)
        share_drop(c, s);
}

void shares_fini(struct nodecache *c)
{
    struct share *s;

    for (size_t it = 0; (s = uidmap_next(&c->shares, &it)); it = 0)
        share_drop(c, s);
    uidmap_fini(&c->shares);
    uidmap_fini(&c->holders);
}

int shares_verify(const struct nodecache *c, struct kerr *err)
{
    const struct holder *h;

    for (size_t it = 0; (h = uidmap_next(&c->holders, &it));) {
        int64_t taken = 0;
        for (const struct share *s = h->shares; s; s = s->next)
            taken += s->taker ? s->amount.fixed[KS_MCPU] : 0;
        if (h->pod && h->pod->requests.fixed[KS_MCPU] != left(h->full.fixed[KS_MCPU], taken))
            return kerr_set(err, -EBADMSG, "%s keeps %lld mcpu for others, counted %lld",
                            h->pod->pod->meta.name, (long long)left(h->full.fixed[KS_MCPU], taken),
                            (long long)h->pod->requests.fixed[KS_MCPU]);
    }
    return 0;
}
