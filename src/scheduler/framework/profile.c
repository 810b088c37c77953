/* profile.c - run the plugins of a profile over all nodes. */
#include "scheduler/framework/profile.h"

#include "base/arena.h"
#include "loop/loop.h"

static int check_plugin(const struct ks_plugin *pl, struct kerr *err)
{
    if (pl->abi != KS_PLUGIN_ABI || pl->size != sizeof *pl)
        return kerr_set(err, -EINVAL, "plugin %s was built for another scheduler",
                        str_or(pl->name, "(unnamed)"));
    if (pl->add_pod || pl->remove_pod || pl->post_filter || pl->permit || pl->pre_bind ||
        pl->post_bind)
        return kerr_set(err, -ENOTSUP, "plugin %s uses an extension point not served yet",
                        pl->name);
    if (pl->filter && !pl->reasons)
        return kerr_set(err, -EINVAL, "plugin %s filters without reasons", pl->name);
    return 0;
}

struct profile *profile_new(const struct ks_registered *table, struct kerr *err)
{
    CLEANUP(profile_free) struct profile *p = xnew0(struct profile);

    for (; table->plugin; table++) {
        const struct ks_plugin *pl = table->plugin;
        struct profile_slot *s = &p->slots[p->n];
        if (p->n == PROFILE_PLUGINS_MAX) {
            kerr_set(err, -E2BIG, "more than %d plugins", PROFILE_PLUGINS_MAX);
            return NULL;
        }
        if (check_plugin(pl, err) < 0)
            return NULL;
        if (pl->create && pl->create(NULL, &s->self, err) < 0) {
            kerr_wrap(err, "plugin %s", pl->name);
            return NULL;
        }
        s->plugin = pl;
        s->weight = table->weight;
        p->n++;
    }
    return take(p);
}

struct profile *profile_free(struct profile *p)
{
    for (uint32_t i = p ? p->n : 0; i-- > 0;)
        if (p->slots[i].plugin->destroy)
            p->slots[i].plugin->destroy(p->slots[i].self);
    free(p);
    return NULL;
}

int profile_slot(const struct profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (streq(p->slots[i].plugin->name, name))
            return (int)i;
    return -1;
}

int profile_pre_enqueue(const struct profile *p, const struct pod *pod, struct ks_texts *why)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct profile_slot *s = &p->slots[i];
        if (s->plugin->pre_enqueue && s->plugin->pre_enqueue(s->self, pod, why) != KS_SUCCESS)
            return (int)i;
    }
    return -1;
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* Rows that the plugin rejected first are marked with it. Bytes only: 32 rows an instruction. */
KOORD_CLONES static void mark(uint32_t n, uint8_t slot1, const uint8_t *restrict said,
                              uint8_t *restrict by, uint8_t *restrict why)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t first = (uint8_t) - (uint8_t)((by[i] == 0) & (said[i] != 0)); /* 0 or 255 */
        by[i] = (uint8_t)(by[i] | (first & slot1));
        why[i] = (uint8_t)(why[i] | (first & said[i]));
    }
}

KOORD_CLONES static uint32_t count_zero(uint32_t n, const uint8_t *a)
{
    uint32_t zero = 0;
    for (uint32_t i = 0; i < n; i++)
        zero += a[i] == 0;
    return zero;
}

static void note_rejectors(struct verdicts *v)
{
    bool seen[PROFILE_PLUGINS_MAX + 1] = { false };
    for (uint32_t i = 0; i < v->n; i++)
        seen[v->by[i]] = true;
    for (unsigned s = 0; s < PROFILE_PLUGINS_MAX; s++)
        v->rejectors |= (uint64_t)seen[s + 1] << s;
}

static const char *join_texts(const struct ks_texts *t)
{
    const char *all = "";
    for (uint32_t i = 0; i < t->n; i++)
        all = i ? arena_printf(t->arena, "%s, %s", all, t->items[i]) : t->items[i];
    return all;
}

/* false: rejected, and v says by whom. *ret_skip: slots that take no part in this attempt. */
static bool pre_filter(const struct profile *p, struct ks_cycle *c, const struct ks_pod *pod,
                       struct verdicts *v, uint64_t *ret_skip)
{
    *ret_skip = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct profile_slot *s = &p->slots[i];
        struct ks_texts why = { .arena = c->arena };
        if (!s->plugin->pre_filter)
            continue;
        c->state = NULL;
        enum ks_code code = s->plugin->pre_filter(s->self, c, pod, &v->state[i], &why);
        if (code == KS_SUCCESS)
            continue;
        if (code == KS_SKIP) {
            *ret_skip |= UINT64_C(1) << i;
            continue;
        }
        memset(v->by, (int)i + 1, v->n);
        v->rejectors = UINT64_C(1) << i;
        v->pre_filter_text = join_texts(&why);
        return false;
    }
    return true;
}

void profile_filter(const struct profile *p, struct ks_cycle *c, const struct ks_pod *pod,
                    struct verdicts *v)
{
    const uint32_t n = c->nodes->n;
    uint64_t skip;

    *v = (struct verdicts){ .n = n };
    v->by = arena_zalloc(c->arena, n);
    v->why = arena_zalloc(c->arena, n);
    v->state = arena_newn0(c->arena, p->n, void *);
    if (!pre_filter(p, c, pod, v, &skip))
        return;
    uint8_t *said = arena_zalloc(c->arena, n);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct profile_slot *s = &p->slots[i];
        if (!s->plugin->filter || (skip >> i & 1))
            continue;
        c->state = v->state[i];
        s->plugin->filter(s->self, c, pod, (struct ks_span){ 0, n }, v->by, said);
        mark(n, (uint8_t)(i + 1), said, v->by, v->why);
    }
    v->feasible = count_zero(n, v->by);
    if (v->feasible == 0)
        note_rejectors(v);
}

/* ---- score ----------------------------------------------------------------------------------- */

static void normalize(const uint8_t *skip, uint32_t n, int64_t *scores, bool reversed)
{
    int64_t max = 0;
    for (uint32_t i = 0; i < n; i++)
        max = !skip[i] && scores[i] > max ? scores[i] : max;
    for (uint32_t i = 0; i < n; i++) {
        int64_t s = max == 0 ? scores[i] : KS_SCORE_MAX * scores[i] / max;
        if (reversed)
            s = max == 0 ? KS_SCORE_MAX : KS_SCORE_MAX - s;
        scores[i] = skip[i] ? 0 : s;
    }
}

void ks_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                  int64_t *scores)
{
    (void)self, (void)c;
    normalize(skip, n, scores, false);
}

void ks_normalize_reversed(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                           int64_t *scores)
{
    (void)self, (void)c;
    normalize(skip, n, scores, true);
}

KOORD_CLONES static void add_weighted(uint32_t n, int64_t weight, const int64_t *restrict score,
                                      int64_t *restrict total)
{
    for (uint32_t i = 0; i < n; i++)
        total[i] += weight * score[i];
}

int64_t *profile_score(const struct profile *p, struct ks_cycle *c, const struct ks_pod *pod,
                       const struct verdicts *v)
{
    int64_t *total = arena_newn0(c->arena, v->n, int64_t);
    int64_t *score = arena_newn0(c->arena, v->n, int64_t);

    c->rejected = v->by;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct profile_slot *s = &p->slots[i];
        if (!s->plugin->score || s->weight == 0)
            continue;
        c->state = v->state[i];
        if (s->plugin->pre_score && s->plugin->pre_score(s->self, c, pod, &v->state[i]) == KS_SKIP)
            continue;
        c->state = v->state[i];
        s->plugin->score(s->self, c, pod, (struct ks_span){ 0, v->n }, score);
        if (s->plugin->normalize)
            s->plugin->normalize(s->self, c, v->by, v->n, score);
        add_weighted(v->n, s->weight, score, total);
    }
    return total;
}

uint32_t profile_pick(const struct verdicts *v, const int64_t *total, struct loop *l)
{
    int64_t best = INT64_MIN;
    uint64_t equals = 0;

    assert(v->feasible > 0);
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->by[i] || total[i] < best)
            continue;
        equals = total[i] > best ? 1 : equals + 1;
        best = total[i];
    }
    /* Upstream takes the first of the best, so a burst of replicas all favour one node; we draw. */
    uint64_t nth = equals > 1 ? loop_rand_below(l, equals) : 0;
    for (uint32_t i = 0; i < v->n; i++)
        if (!v->by[i] && total[i] == best && nth-- == 0)
            return i;
    return 0; /* not reached: there is a best one */
}

/* ---- reserve --------------------------------------------------------------------------------- */

static void unreserve_from(const struct profile *p, uint32_t n, const struct pod *pod,
                           const char *node)
{
    while (n-- > 0)
        if (p->slots[n].plugin->unreserve)
            p->slots[n].plugin->unreserve(p->slots[n].self, pod, node);
}

int profile_reserve(const struct profile *p, const struct pod *pod, const char *node,
                    struct ks_texts *why)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct profile_slot *s = &p->slots[i];
        if (!s->plugin->reserve || s->plugin->reserve(s->self, pod, node, why) == KS_SUCCESS)
            continue;
        unreserve_from(p, p->n, pod, node); /* all, as upstream: also those that came after */
        return (int)i;
    }
    return -1;
}

void profile_unreserve(const struct profile *p, const struct pod *pod, const char *node)
{
    unreserve_from(p, p->n, pod, node);
}
