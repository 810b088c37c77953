/* compose.c - one value from what several owners propose, within the rules of the kernel.
 *
 * The rules, as seen on Linux 6.18: on cgroup v1 a quota above that of an ancestor is EINVAL, and
 * so is lowering an ancestor's below it; a cpuset outside of the parent's is EACCES, narrowing a
 * parent's below a child's EBUSY. On both versions a burst above the quota is EINVAL, and a quota
 * below the burst too. cpu.idle 1 refuses cpu.shares, and 0 leaves 1024 there.
 */
#include "base/num.h"
#include "koordlet/executor/executor_int.h"
#include "koordlet/kernel/convert.h"

bool target_is_acting(const struct target *t)
{
    for (const struct proposal *p = t->proposals; p; p = p->next)
        if (p->owner != PLAN_KUBELET)
            return true;
    return false;
}

struct writer proposal_writer(const struct proposal *p)
{
    const struct npod *pod = p->at.pod;

    return (struct writer){
        .owner = plan_owner_name((enum plan_owner)p->owner),
        .reason = plan_owner_reason((enum plan_owner)p->owner),
        .ns = pod ? str_or(pod->obj->meta.ns, "") : "",
        .pod = pod ? pod->obj->meta.name : "",
        .container = str_or(p->at.container, ""),
    };
}

struct writer target_writer(const struct target *t)
{
    const struct proposal *p = t->proposals;

    if (t->once)
        return *t->once;
    while (p && p->next)
        p = p->next; /* the last owner decides */
    return p ? proposal_writer(p) : (struct writer){ "restore", "Restore", "", "", "" };
}

/* What will stand in the file: want, unless the kernel refuses that; else what is there. */
static const struct value *target_standing(struct executor *e, struct target *t)
{
    if (t->want.known && t->failures == 0)
        return &t->want;
    t->read = true;
    if (!t->is.known)
        target_read(e, t);
    return &t->is;
}

/* ---- proposals ------------------------------------------------------------------------------- */

static int64_t scaled(int64_t left, const struct proposal *p)
{
    if (left < 0)
        return left;
    return MAX(left, i64_muldiv(left, p->number, p->base));
}

/* The composed number and text; false: nothing is proposed. */
static bool compose(const struct target *t, int64_t *ret, const char **ret_text)
{
    bool any = false;

    *ret_text = NULL;
    for (const struct proposal *p = t->proposals; p; p = p->next)
        if (p->rule == PLAN_SET) {
            *ret = p->number;
            *ret_text = p->text;
            any = true;
        }
    for (const struct proposal *p = t->proposals; p; p = p->next)
        if (p->rule == PLAN_SCALE) {
            *ret = any ? scaled(*ret, p) : p->number;
            any = true;
        }
    for (const struct proposal *p = t->proposals; p; p = p->next)
        if (p->rule == PLAN_AT_MOST && (!any || value_compare(t->file, p->number, *ret) < 0)) {
            *ret = p->number;
            *ret_text = p->text;
            any = true;
        }
    return any;
}

/* ---- nobody proposes any more ---------------------------------------------------------------- */

static const char *neutral_line(struct executor *e, const struct target *t)
{
    if (t->file == PLAN_BLKIO_COST_QOS)
        return arena_printf(e->scratch, "%s enable=0", t->item);
    return arena_printf(e->scratch, "%s %lld", t->item, (long long)file_rules[t->file].neutral);
}

/* What is put back: what the kubelet wrote, the kernel's default, or what was there. */
static bool compose_release(struct executor *e, const struct target *t, int64_t *ret,
                            const char **ret_text)
{
    const struct file_rule *r = &file_rules[t->file];

    if (compose(t, ret, ret_text))
        return true;
    *ret_text = NULL;
    if (t->file == PLAN_RESCTRL_GROUP) {
        /* The groups of the classes stay, as upstream's do; a pod's goes with it. */
        *ret = 0;
        return strncmp(t->dir->path, "koordlet-", 9) == 0;
    }
    if (r->has_neutral) {
        *ret = r->neutral;
        if (r->kind == VALUE_LINE)
            *ret_text = neutral_line(e, t);
        return true;
    }
    *ret = t->first.number;
    *ret_text = t->first.text;
    return t->first.known && (!t->first.text || *t->first.text); /* nothing cannot be written */
}

/* ---- the kernel's rules ---------------------------------------------------------------------- */

/* The least quota above this directory; -1: none. */
static int64_t quota_above(struct executor *e, const struct target *t)
{
    int64_t least = -1;

    for (struct target_dir *d = t->dir->parent; d && d->depth > 0; d = d->parent) {
        const struct value *v = target_standing(e, target_in(d, PLAN_CPU_QUOTA, NULL));
        if (v->known && v->number >= 0 && (least < 0 || v->number < least))
            least = v->number;
    }
    return least;
}

static int64_t fit_quota(struct executor *e, const struct target *t, int64_t quota)
{
    if (e->env.host->version == CGROUP_V2 || quota < 0)
        return quota;
    int64_t above = quota_above(e, t);
    return above >= 0 && above < quota ? above : quota;
}

static int64_t fit_burst(struct executor *e, struct target *t, int64_t burst)
{
    if (e->burst_above_quota)
        return burst;
    struct target *q = target_in(t->dir, PLAN_CPU_QUOTA, NULL);
    const struct value *quota = target_standing(e, q);
    if (!quota->known)
        return burst;
    /* A pod that is resized in place: the kubelet cannot lower the quota below the burst, so the
     * burst goes first. */
    const struct proposal *kubelet = q->proposals;
    if (!target_is_acting(q) && kubelet && kubelet->number >= 0)
        burst = MIN(burst, kubelet->number);
    /* Without a quota the kernel takes any burst, and then refuses the quota that comes later. */
    return quota->number < 0 ? 0 : MIN(burst, quota->number);
}

/* The CPUs that all directories above will have: one without a plan gives way to those above it.
 * false: not known. */
static bool cpus_above(struct executor *e, const struct target *t, struct cpuset *ret)
{
    bool any = false;

    for (struct target_dir *d = t->dir->parent; d; d = d->parent) {
        const struct value *v = target_standing(e, target_in(d, PLAN_CPUSET_CPUS, NULL));
        struct cpuset one, both;
        if (!v->known || cpus_parse(v->text, strlen(v->text), &one, NULL) < 0)
            continue;
        both = any ? cpuset_intersect(ret, &one) : one;
        /* Nothing in common: who is lowered to it gets all of the upper one. */
        *ret = cpuset_is_empty(&both) ? one : both;
        any = true;
    }
    return any && !cpuset_is_empty(ret);
}

static const char *fit_cpus(struct executor *e, struct target *t, const char *text)
{
    struct cpuset mine, above;

    if (e->env.host->version == CGROUP_V2 || !cpus_above(e, t, &above) ||
        cpus_parse(text, strlen(text), &mine, NULL) < 0 || cpuset_subset(&mine, &above))
        return text;
    struct cpuset both = cpuset_intersect(&mine, &above);
    return cpuset_format(cpuset_is_empty(&both) ? &above : &both, e->scratch);
}

static bool is_idle_class(struct executor *e, const struct target *t)
{
    struct target *idle = target_of(t->dir, PLAN_CPU_IDLE_CLASS, NULL);

    if (!idle)
        return false;
    const struct value *v = target_standing(e, idle);
    return v->known && v->number == 1;
}

/* false: nothing is to be written. */
static bool fit(struct executor *e, struct target *t, int64_t *number, const char **text)
{
    int64_t weight;

    switch ((int)t->file) {
    case PLAN_CPU_QUOTA: *number = fit_quota(e, t, *number); return true;
    case PLAN_CPU_BURST_US: *number = fit_burst(e, t, *number); return true;
    case PLAN_CPUSET_CPUS:
        if (!*text || !**text)
            return false; /* a cpuset without CPUs takes no task: ENOSPC */
        *text = fit_cpus(e, t, *text);
        return true;
    case PLAN_CPU_SHARES:
        if (is_idle_class(e, t))
            return false;
        if (e->env.host->version == CGROUP_V2 && shares_to_weight(*number, &weight, NULL) == 0)
            *number = weight;
        return true;
    default: break;
    }
    if (file_rules[t->file].kind == VALUE_TEXT && !*text)
        *text = arena_printf(e->scratch, "%lld", (long long)*number);
    return true;
}

/* A directory without a plan between those that have one: it keeps what it has as far as those
 * above it allow. */
static bool compose_between(struct executor *e, struct target *t, int64_t *ret,
                            const char **ret_text)
{
    if (e->env.host->version == CGROUP_V2 || t->dir->depth == 0 ||
        (t->file != PLAN_CPU_QUOTA && t->file != PLAN_CPUSET_CPUS))
        return false;
    if (!t->is.known && target_read(e, t) < 0)
        return false;
    *ret = t->is.number;
    *ret_text = t->is.text;
    return true;
}

void target_compose(struct executor *e, struct target *t)
{
    int64_t number = 0;
    const char *text = NULL;
    bool any = target_is_acting(t) ? compose(t, &number, &text)
                                   : (t->owned && compose_release(e, t, &number, &text)) ||
                                         compose_between(e, t, &number, &text);

    if (any && fit(e, t, &number, &text))
        value_set(&t->want, number, text);
    else
        value_forget(&t->want);
    if (!any)
        t->owned = false;
    arena_reset(e->scratch);
}
