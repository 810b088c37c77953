/* diagnose.c - why no reservation did, and room for a pod at the cost of others
 * (sched-reservation 10, 11).
 */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/nodematch.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/reservation/state.h"

/* ---- counts ---------------------------------------------------------------------------------- */

struct named_count {
    const char *name;
    uint64_t n;
    struct named_count *next;
};
struct diagnosis {
    struct arena *arena;
    uint64_t owned, named, verdicts[MATCH_VERDICTS];
    struct named_count *taints, *reasons; /* in the order of their names */
    uint32_t *left; /* [row]: reservations whose owners match, without those that were rejected */
};

static void count(struct diagnosis *d, struct named_count **list, const char *name, uint64_t n)
{
    while (*list && strcmp((*list)->name, name) < 0)
        list = &(*list)->next;
    if (!*list || !streq((*list)->name, name)) {
        struct named_count *x = arena_new0(d->arena, struct named_count);
        *x = (struct named_count){ .name = arena_strdup(d->arena, name), .next = *list };
        *list = x;
    }
    (*list)->n += n;
}

static void judge(struct diagnosis *d, const struct match *m, const struct resv *r,
                  const struct node *node, uint32_t row)
{
    const struct taint *taint = NULL;
    enum match_verdict v = match_owned(m, r, node, &taint);

    d->owned++;
    d->verdicts[v]++;
    d->left[row] += v == MATCH_YES;
    d->named += v == MATCH_YES && !str_empty(m->affinity.name);
    if (v == MATCH_TAINTED)
        count(d, &d->taints,
              arena_printf(d->arena, "{%s: %s}", taint->key, str_or(taint->value, "")), 1);
}

static void judge_all(struct resv_plugin *x, struct diagnosis *d, struct attempt *a,
                      const struct match *m)
{
    const struct ks_nodes *nodes = a->cycle.nodes;
    const struct pod *p = a->pod.pod;
    const struct nodematch will = nodematch_of(p, a->arena);
    uint32_t n;
    struct resv **found = match_candidates(x->cache, p, a->arena, &n);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = resv_row_of(found[i], nodes);
        if (row != KS_NO_ROW && match_owner(found[i], p) && nodematch_node(&will, nodes->node[row]))
            judge(d, m, found[i], nodes->node[row], row);
    }
}

/* Of the others the node was not good enough. */
static void judge_nodes(struct diagnosis *d, struct attempt *a)
{
    for (uint32_t row = 0; row < a->n; row++) {
        struct ks_texts texts = { .arena = a->arena };
        uint32_t left = d->left[row];
        if (left == 0 || a->code != KS_SUCCESS || !a->by || !a->by[row])
            continue;
        attempt_texts(a, row, &texts);
        for (uint32_t i = 0; i < texts.n; i++)
            left -= left && str_starts(texts.items[i], "Reservation(s) ");
        for (uint32_t i = 0; left && i < texts.n; i++)
            if (!str_starts(texts.items[i], "Reservation(s) "))
                count(d, &d->reasons, texts.items[i], left);
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

static void tell(struct ks_texts *why, uint64_t n, const char *text)
{
    if (n)
        ks_texts_addf(why, "%llu Reservation(s) %s", (unsigned long long)n, text);
}

static void diagnose(struct resv_plugin *x, struct attempt *a, const struct match *m,
                     struct ks_texts *why)
{
    struct diagnosis d = { .arena = a->arena };

    d.left = arena_newn0(a->arena, a->n, uint32_t);
    if (!m->ignores)
        judge_all(x, &d, a, m);
    if (d.owned == 0 && !m->has_affinity)
        return;
    judge_nodes(&d, a);
    tell(why, d.named, "exactly matches the requested reservation name");
    tell(why, d.verdicts[MATCH_OTHER_NAME], "didn't match the requested reservation name");
    tell(why, d.verdicts[MATCH_AFFINITY], "didn't match affinity rules");
    tell(why, d.verdicts[MATCH_UNSCHEDULABLE], "is unschedulable");
    tell(why, d.verdicts[MATCH_NOT_EXACT], "is not exact matched");
    for (const struct named_count *t = d.taints; t; t = t->next)
        tell(why, t->n, arena_printf(a->arena, "had untolerated taint %s", t->name));
    for (const struct named_count *t = d.reasons; t; t = t->next)
        tell(why, t->n, arena_printf(a->arena, "for node reason that %s", t->name));
    ks_texts_addf(why, "%llu Reservation(s) matched owner total", (unsigned long long)d.owned);
}

/* ---- making room ----------------------------------------------------------------------------- */

static bool may_evict(void *arg, const struct attempt *a, const struct pod *victim, uint32_t row)
{
    const struct resv_plugin *x = arg;

    (void)row;
    return pod_priority(victim) < pod_priority(a->pod.pod) &&
           !label_is_true(&victim->obj.meta.labels, LABEL_DISABLE_PREEMPTIBLE) &&
           !reservations_is_reserve_pod(x->cache, victim);
}

static enum ks_code plan(void *self, struct attempt *a, struct preemption *ret,
                         struct ks_texts *why)
{
    struct resv_plugin *x = self;
    const struct resv_state *st = a->cycle.state;
    enum ks_code code = KS_UNSCHEDULABLE;

    if (x->args->preemption.v) {
        const struct preemption_rules rules = {
            .arg = x,
            .may_evict = may_evict,
            .budgets = x->budgets,
            .percentage = x->args->percentage.v,
            .absolute = x->args->absolute.v,
        };
        code = preemption_plan(&rules, a, ret, why);
    }
    if (code != KS_UNSCHEDULABLE)
        return code;
    struct match m;
    if (st)
        m = st->m;
    else if (match_init(&m, a->pod.pod, a->arena, NULL) < 0)
        return code;
    if (!reservations_is_reserve_pod(x->cache, a->pod.pod))
        diagnose(x, a, &m, why);
    return code;
}

/* ---- the event (10) --------------------------------------------------------------------------- */

enum part { PART_TOTAL, PART_NAME, PART_NODE, PART_MORE, PART_NONE };

static bool has_prefix(struct str s, struct str prefix)
{
    return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

static enum part part_of(struct str item)
{
    size_t digits = 0;

    while (digits < item.n && item.p[digits] >= '0' && item.p[digits] <= '9')
        digits++;
    struct str rest = { item.p + digits, item.n - digits };
    if (digits == 0 || !has_prefix(rest, STR(" Reservation(s) ")))
        return PART_NONE;
    rest = (struct str){ rest.p + 16, rest.n - 16 };
    if (has_prefix(rest, STR("matched owner total")))
        return PART_TOTAL;
    if (has_prefix(rest, STR("exactly matches the requested reservation name")))
        return PART_NAME;
    return has_prefix(rest, STR("for node reason that")) ? PART_NODE : PART_MORE;
}

static struct str trimmed(struct str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '.'))
        s = (struct str){ s.p + 1, s.n - 1 };
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '.'))
        s.n--;
    return s;
}

/* The next item of a text that has commas, or ends of sentences, between them. */
static bool next_item(struct str *text, struct str *item)
{
    size_t i = 0;

    if (text->n == 0)
        return false;
    while (i < text->n && text->p[i] != ',' &&
           !(text->p[i] == '.' && i + 1 < text->n && text->p[i + 1] == ' '))
        i++;
    *item = trimmed((struct str){ text->p, i });
    size_t skip = MIN(i + 1, text->n);
    *text = (struct str){ text->p + skip, text->n - skip };
    return true;
}

static void append_items(struct str text, enum part want, struct strbuf *out, bool *any)
{
    struct str item;

    while (next_item(&text, &item)) {
        if (part_of(item) != want)
            continue;
        strbuf_appendf(out, "%s%.*s", *any ? ", " : "", (int)item.n, item.p);
        *any = true;
    }
}

bool diagnose_event(const char *message, struct strbuf *out)
{
    const char *start = strstr(message, " nodes are available: ");
    struct str item, total = { 0 };
    bool any = false;

    if (!str_starts(message, "0/") || !start)
        return false;
    struct str text = str_of(start + strlen(" nodes are available: ")), all = text;
    while (next_item(&all, &item))
        if (part_of(item) == PART_TOTAL)
            total = item;
    if (total.n == 0)
        return false;
    int digits = (int)((const char *)memchr(total.p, ' ', total.n) - total.p);
    strbuf_appendf(out, "0/%.*s reservations are available: ", digits, total.p);
    append_items(text, PART_NAME, out, &any);
    append_items(text, PART_MORE, out, &any);
    append_items(text, PART_NODE, out, &any);
    strbuf_append(out, ".");
    return true;
}

static void after(void *self, const struct pod *p, const struct post_filter_outcome *o)
{
    const struct resv_plugin *x = self;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (x->env.scheduler && o->code != KS_SUCCESS &&
        kstrmap_get(&p->obj.meta.annotations, ANNO_RESERVATION_AFFINITY) &&
        diagnose_event(o->message, &text))
        ks_warn(&x->env, p, "FailedScheduling-Reservation", strbuf_str(&text));
}

const struct ks_post_filter resv_post_filter = { .plan = plan, .after = after };
