/* domains.c - the domains of the rules, and the pods in them. */
#include "api/node.h"
#include "api/selector/selector.h"
#include "api/toleration.h"
#include "base/arena.h"
#include "scheduler/model/labels.h"
#include "scheduler/plugins/podtopologyspread/spread.h"

/* ---- which rows count ------------------------------------------------------------------------ */

enum { ROW_AFFINITY = 1, ROW_TAINTS = 2 };

static uint8_t policies_of(const struct spread_state *st, const struct ks_nodes *nodes,
                           uint32_t row, const struct pod *p)
{
    const struct node *n = nodes->node[row];
    bool taints = (nodes->flags[row] & KS_NODE_TAINT_HARD) &&
                  taints_untolerated(&n->spec.taints, &p->spec->tolerations, TAINT_HARD_EFFECTS, 0);
    unsigned facts = (nodematch_node(&st->match, n) ? ROW_AFFINITY : 0) | (taints ? 0 : ROW_TAINTS);

    return (uint8_t)(facts & st->honors);
}

static void policies_init(struct spread_state *st, const struct ks_cycle *c, const struct pod *p)
{
    for (uint32_t k = 0; k < st->n; k++)
        st->honors |= (uint8_t)((st->rules[k].honor_affinity ? ROW_AFFINITY : 0) |
                                (st->rules[k].honor_taints ? ROW_TAINTS : 0));
    st->match = nodematch_of(p, c->arena);
    st->facts = arena_zalloc(c->arena, c->nodes->n);
    for (uint32_t i = 0; st->honors && i < c->nodes->n; i++)
        st->facts[i] = policies_of(st, c->nodes, i, p);
}

static bool counts_in(const struct spread_rule *r, uint8_t facts)
{
    return (!r->honor_affinity || (facts & ROW_AFFINITY)) &&
           (!r->honor_taints || (facts & ROW_TAINTS));
}

/* ---- domains --------------------------------------------------------------------------------- */

struct numbering { /* of the domains of one rule */
    const struct ks_label *label;
    uint32_t *domain;      /* [id of the value]; 0: none yet */
    const uint8_t *facts;  /* [row] */
    const uint8_t *absent; /* [row] where a key is missing that must be there; NULL: none must */
};

static uint32_t domain_of(struct spread_rule *r, const struct numbering *m, uint32_t id)
{
    if (!m->domain[id]) {
        m->domain[id] = ++r->ndomains;
        r->ids[r->ndomains] = id;
    }
    return m->domain[id];
}

/* Domains that pods can count in get the first numbers. */
static void number_domains(struct spread_rule *r, uint32_t n, const struct numbering *m)
{
    const uint32_t *id = m->label->id;
    uint32_t empty = ks_label_id(m->label, "");

    for (uint32_t i = 0; i < n; i++)
        if (id[i] && !(m->absent && m->absent[i]) && counts_in(r, m->facts[i]))
            r->at[i] = r->into[i] = domain_of(r, m, id[i]);
    r->nknown = r->nmin = r->ndomains;
    for (uint32_t i = 0; i < n; i++)
        if (id[i] && !r->at[i])
            r->at[i] = domain_of(r, m, id[i]);
    r->empty = empty ? m->domain[empty] : 0;
    /* Where keys may be missing, a missing label is one with the value "". */
    for (uint32_t i = 0; i < n && !m->absent && r->empty; i++)
        if (!id[i] && counts_in(r, m->facts[i]))
            r->into[i] = r->empty;
}

static void rule_init(struct spread_rule *r, uint32_t n, const struct numbering *m, struct arena *a)
{
    r->serial = m->label->serial;
    r->at = arena_newn0(a, n, uint32_t);
    r->into = arena_newn0(a, n, uint32_t);
    r->pods = arena_newn0(a, n, int32_t);
    r->ids = arena_newn0(a, r->per_node ? 0 : m->label->n, uint32_t);
    if (r->per_node)
        for (uint32_t i = 0; i < n; i++)
            r->at[i] = m->label->id[i] != 0;
    else
        number_domains(r, n, m);
    r->count = arena_newn0(a, r->ndomains + 1, int32_t);
    r->count[0] = INT32_MAX;
}

/* The rules of one action, over all rows. `lacking`: rows where a key is missing. */
static void rules_init(struct spread_rule *rules, uint32_t n, const struct ks_cycle *c,
                       const uint8_t *facts, bool all_keys, uint8_t *lacking)
{
    CLEANUP(arena_free) struct arena *tmp = arena_new();
    uint32_t rows = c->nodes->n;

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t *id = ks_label(c->nodes, rules[k].key)->id;
        for (uint32_t i = 0; i < rows; i++)
            lacking[i] |= id[i] == 0;
    }
    for (uint32_t k = 0; k < n; k++) {
        const struct ks_label *l = ks_label(c->nodes, rules[k].key);
        struct numbering m = { l, arena_newn0(tmp, l->n, uint32_t), facts,
                               all_keys ? lacking : NULL };
        rule_init(&rules[k], rows, &m, c->arena);
    }
}

/* Does the row lie where it lay? */
static bool rule_holds(const struct spread_rule *r, const struct ks_label *l, uint32_t row)
{
    uint32_t at = r->at[row], id = l->id[row];

    return at && !r->per_node ? r->ids[at] == id : !at == !id;
}

bool spread_rows_hold(const struct spread_state *st, const struct ks_cycle *c, const struct pod *p,
                      const uint32_t *rows, uint32_t n)
{
    for (uint32_t k = 0; n && k < st->n; k++) {
        const struct ks_label *l = ks_label(c->nodes, st->rules[k].key);
        if (l->serial != st->rules[k].serial)
            return false;
        for (uint32_t i = 0; i < n; i++)
            if (!rule_holds(&st->rules[k], l, rows[i]))
                return false;
    }
    for (uint32_t i = 0; st->honors && i < n; i++)
        if (policies_of(st, c->nodes, rows[i], p) != st->facts[rows[i]])
            return false;
    return true;
}

/* ---- counts ---------------------------------------------------------------------------------- */

KOORD_CLONES static int32_t smallest(uint32_t n, const int32_t *v)
{
    int32_t min = INT32_MAX;
    for (uint32_t i = 0; i < n; i++)
        min = v[i] < min ? v[i] : min;
    return min;
}

KOORD_CLONES static uint32_t count_equal(uint32_t n, const int32_t *v, int32_t value)
{
    uint32_t equal = 0;
    for (uint32_t i = 0; i < n; i++)
        equal += v[i] == value;
    return equal;
}

/* The minimum is exact whatever happens: looked for again only when the last domain left it. */
static void domain_add(struct spread_rule *r, uint32_t domain, int32_t by)
{
    int32_t before = r->count[domain], now = before + by;

    r->count[domain] = now;
    if (now < r->min) {
        r->min = now;
        r->nmin = 1;
        return;
    }
    r->nmin += (now == r->min);
    r->nmin -= (before == r->min);
    if (r->nmin == 0) {
        r->min = smallest(r->nknown, r->count + 1);
        r->nmin = count_equal(r->nknown, r->count + 1, r->min);
    }
}

static bool rule_matches(struct spread_rule *r, const kstrmap *labels)
{
    struct spread_memo *m = &r->memo[(uintptr_t)labels->items / 64 % SPREAD_MEMO];

    if (labels->n == 0)
        return labelsel_matches(r->selector, labels);
    if (m->labels != labels->items)
        *m = (struct spread_memo){ labels->items, labelsel_matches(r->selector, labels) };
    return m->matches;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || streq(a, b); /* mostly interned */
}

static void count_row(struct spread_state *st, const struct ks_podlist *pods, const char *ns)
{
    memset(st->now, 0, st->n * sizeof *st->now);
    for (uint32_t i = 0; i < pods->n; i++) {
        const struct objmeta *meta = &pods->items[i]->obj.meta;
        if (meta->deleted || !same_text(meta->ns, ns))
            continue;
        for (uint32_t k = 0; k < st->n; k++)
            st->now[k] += st->rules[k].counts && rule_matches(&st->rules[k], &meta->labels);
    }
}

static void recount_row(struct spread_state *st, const struct ks_cycle *c, const struct pod *p,
                        uint32_t row)
{
    count_row(st, &c->nodes->pods[row], p->obj.meta.ns);
    for (uint32_t k = 0; k < st->n; k++) {
        struct spread_rule *r = &st->rules[k];
        int32_t by = st->now[k] - r->pods[row];
        r->pods[row] = st->now[k];
        if (by && r->into[row])
            domain_add(r, r->into[row], by);
    }
}

static void memos_clear(struct spread_state *st)
{
    for (uint32_t k = 0; k < st->n; k++)
        memset(st->rules[k].memo, 0, sizeof st->rules[k].memo);
}

void spread_recount(struct spread_state *st, const struct ks_cycle *c, const struct pod *p,
                    const uint32_t *rows, uint32_t n)
{
    memos_clear(st);
    for (uint32_t i = 0; i < n && st->n; i++)
        recount_row(st, c, p, rows[i]);
}

/* As upstream: also pods that are being deleted, and those of an empty selector. */
void spread_shift(struct spread_state *st, const struct pod *p, const struct pod *other,
                  uint32_t row, int32_t by)
{
    if (!same_text(other->obj.meta.ns, p->obj.meta.ns))
        return;
    for (uint32_t k = 0; k < st->nhard; k++) {
        struct spread_rule *r = &st->rules[k];
        if (r->into[row] && labelsel_matches(r->selector, &other->obj.meta.labels))
            domain_add(r, r->into[row], by);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_rules(struct spread_state *st, const struct spread_rules *more, struct arena *a)
{
    struct spread_rule *all = arena_newn0(a, st->n + more->n, struct spread_rule);

    for (uint32_t i = 0; i < st->n; i++)
        all[i] = st->rules[i];
    for (uint32_t i = 0; i < more->n; i++)
        all[st->n + i] = more->items[i];
    st->rules = all;
    st->n += more->n;
}

/* Soft rules that cannot be understood are nobody's business before the scores. */
static int collect_rules(struct spread_state *st, const struct spread *s, const struct pod *p,
                         struct arena *a, struct kerr *err)
{
    struct spread_rules hard = { 0 }, soft = { 0 };
    struct kerr soft_err = { 0 };
    int code = spread_rules_of(s, p, SPREAD_DO_NOT_SCHEDULE, a, &hard, err);

    if (code < 0)
        return code;
    if (spread_rules_of(s, p, SPREAD_SCHEDULE_ANYWAY, a, &soft, &soft_err) < 0)
        st->soft_failed = arena_strdup(a, soft_err.text);
    add_rules(st, &hard, a);
    st->nhard = hard.n;
    add_rules(st, &soft, a);
    return 0;
}

struct spread_state *spread_state_new(const struct spread *s, const struct ks_cycle *c,
                                      const struct pod *p, struct kerr *err)
{
    struct spread_state *st = arena_new0(c->arena, struct spread_state);

    if (collect_rules(st, s, p, c->arena, err) < 0)
        return NULL;
    if (st->n == 0)
        return st;
    CLEANUP(arena_free) struct arena *tmp = arena_new();
    uint8_t *lacking = arena_zalloc(tmp, c->nodes->n);
    bool all_keys = p->spec->topology_spread_constraints.n > 0 || !s->system;
    st->now = arena_newn0(c->arena, st->n, int32_t);
    st->ignored = arena_zalloc(c->arena, c->nodes->n);
    policies_init(st, c, p);
    rules_init(st->rules, st->nhard, c, st->facts, true, lacking);
    rules_init(st->rules + st->nhard, st->n - st->nhard, c, st->facts, all_keys, st->ignored);
    if (!all_keys)
        memset(st->ignored, 0, c->nodes->n);
    for (uint32_t i = 0; i < c->nodes->n; i++)
        recount_row(st, c, p, i);
    return st;
}
