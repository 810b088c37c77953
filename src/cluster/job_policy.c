/* job_policy.c - what a Job's policies say: whether a failed pod counts, fails its index or the
 * Job, and which indexes suffice for success.
 */
#include "cluster/job.h"

/* ---- failures ------------------------------------------------------------------------------ */

static bool has_value(const struct job_exit_codes *e, int32_t code)
{
    for (uint32_t i = 0; i < e->values.n; i++)
        if (e->values.items[i] == code)
            return true;
    return false;
}

/* The first container that ended with an error to which the rule applies. */
static const struct container_status *match_codes(const struct job_exit_codes *e,
                                                  const containerstatuslist *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct container_terminated *t = l->items[i].state.terminated;
        if (!t || t->exit_code == 0 || (e->container && !streq(e->container, l->items[i].name)))
            continue;
        if (has_value(e, t->exit_code) == streq(e->op, "In"))
            return &l->items[i];
    }
    return NULL;
}

static const struct condition *match_conditions(const conditionlist *want, const struct pod *p)
{
    for (uint32_t i = 0; i < want->n; i++) {
        const struct condition *c = condition_find(&p->status.conditions, want->items[i].type);
        uint8_t status = want->items[i].status ? want->items[i].status : COND_TRUE;
        if (c && c->status == status)
            return c;
    }
    return NULL;
}

static enum job_action action_of(const struct job_failure_rule *r)
{
    return streq(r->action, "FailJob")     ? JOB_FAIL_JOB
           : streq(r->action, "FailIndex") ? JOB_FAIL_INDEX
           : streq(r->action, "Ignore")    ? JOB_IGNORE
                                           : JOB_COUNT;
}

static bool match_rule(const struct job_failure_rule *r, uint32_t number, const struct pod *p,
                       struct arena *a, const char **ret_why)
{
    const char *ns = p->obj.meta.ns, *name = p->obj.meta.name;
    const struct container_status *c = NULL;
    const struct condition *cond;

    if (r->exit_codes) {
        c = match_codes(r->exit_codes, &p->status.container_statuses);
        c = c ? c : match_codes(r->exit_codes, &p->status.init_container_statuses);
        if (c && ret_why)
            *ret_why = arena_printf(
                a,
                "Container %s for pod %s/%s failed with exit code %d matching %s rule at index %u",
                c->name, ns, name, c->state.terminated->exit_code, r->action, number);
        return c != NULL;
    }
    cond = match_conditions(&r->conditions, p);
    if (cond && ret_why)
        *ret_why = arena_printf(a, "Pod %s/%s has condition %s matching %s rule at index %u", ns,
                                name, cond->type, r->action, number);
    return cond != NULL;
}

enum job_action job_policy_match(const struct job *j, const struct pod *p, struct arena *a,
                                 const char **ret_why)
{
    const struct job_failure_policy *policy = j->spec.failure_policy;

    for (uint32_t i = 0; policy && i < policy->rules.n; i++)
        if (match_rule(&policy->rules.items[i], i, p, a, ret_why))
            return action_of(&policy->rules.items[i]);
    return JOB_COUNT;
}

/* ---- success ------------------------------------------------------------------------------- */

static bool is_met(const struct jview *v, const struct job_success_rule *r)
{
    jrangevec asked = { 0 };

    if (!r->indexes)
        return r->count.set && v->succeeded >= r->count.v;
    jranges_parse(&asked, r->indexes, v->completions);
    jranges_settle(&asked);
    int64_t all = jranges_count(&asked), done = jranges_count_common(&asked, &v->done_set);
    vec_fini(&asked);
    return r->count.set ? done >= r->count.v : all > 0 && done == all;
}

int64_t job_success_rule(const struct jview *v)
{
    const struct job_success_policy *policy = v->j->spec.success_policy;

    for (uint32_t i = 0; policy && v->indexed && i < policy->rules.n; i++)
        if (is_met(v, &policy->rules.items[i]))
            return i;
    return -1;
}
