/* util.c - small things that several controllers need. */
#include <stdio.h>

#include "cluster/internal.h"

void name_suffix(struct loop *l, char out[6])
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    for (int i = 0; i < 5; i++)
        out[i] = letters[loop_rand_below(l, sizeof letters - 1)];
    out[5] = '\0';
}

void hash_name(const char *text, size_t n, char out[HASH_NAME_MAX])
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t h = hash_stable(text, n);
    char digits[HASH_NAME_MAX];
    size_t i = 0;

    (void)snprintf(digits, sizeof digits, "%u", (unsigned)(h ^ (h >> 32)));
    for (; digits[i]; i++)
        out[i] = letters[(unsigned char)digits[i] % (sizeof letters - 1)];
    out[i] = '\0';
}

bool pod_is_active(const struct pod *p)
{
    return !pod_is_terminal(p) && p->obj.meta.deleted == 0;
}

bool pod_is_refused(const struct pod *p)
{
    bool removed = p->status.phase == POD_PENDING && p->obj.meta.deleted != 0;

    if (str_empty(p->node_name) || (p->status.phase != POD_FAILED && !removed))
        return false;
    for (uint32_t i = 0; i < p->status.container_statuses.n; i++) {
        const struct container_status *c = &p->status.container_statuses.items[i];
        if (c->state.running || c->state.terminated || c->restart_count > 0)
            return false;
    }
    return true;
}

bool pod_is_available(const struct pod *p, nsec_t min_ready, nsec_t now, nsec_t *ret_wait)
{
    const struct condition *ready = condition_find(&p->status.conditions, "Ready");

    *ret_wait = 0;
    if (!ready || ready->status != COND_TRUE)
        return false;
    nsec_t then = i64_add_sat(ready->last_transition_time, min_ready);
    if (min_ready == 0 || then <= now)
        return true;
    *ret_wait = then - now;
    return false;
}
