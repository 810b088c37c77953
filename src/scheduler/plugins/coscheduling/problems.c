/* problems.c - what is wrong with the description of a gang, for people: everything that cannot be
 * used falls back to a default, which they should know (sched-gang 1.3). */
#include "api/protocol/gang.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/num.h"
#include "scheduler/plugins/coscheduling/gangs_int.h"

static const char *text_of(const struct objmeta *m, const char *key)
{
    return kstrmap_get(&m->annotations, key);
}

static const char *bad_total(const struct objmeta *m, int32_t min, struct arena *a)
{
    const char *text = text_of(m, ANNO_GANG_TOTAL_NUMBER);
    int64_t total;

    if (!text)
        return NULL;
    if (i64_parse(text, strlen(text), &total) < 0)
        return arena_printf(a, "%s: \"%s\" is not a whole number: the minimum counts",
                            ANNO_GANG_TOTAL_NUMBER, text);
    return total < min ? arena_printf(a, "%s: %s is below the minimum of %d, which counts",
                                      ANNO_GANG_TOTAL_NUMBER, text, min)
                       : NULL;
}

static const char *bad_wait(const struct objmeta *m, struct arena *a)
{
    const char *text = text_of(m, ANNO_GANG_WAITING_TIME);
    nsec_t wait;

    if (!text || (kdur_parse(text, strlen(text), &wait, NULL) == 0 && wait > 0))
        return NULL;
    return arena_printf(a, "%s: \"%s\" is not a positive duration: defaultTimeout counts",
                        ANNO_GANG_WAITING_TIME, text);
}

static const char *bad_groups(const struct objmeta *m, const char *id, struct arena *a)
{
    struct strlist_value groups;
    struct kerr err = { 0 };

    if (str_empty(text_of(m, ANNO_GANG_GROUPS)))
        return NULL;
    if (gang_groups_read(&m->annotations, a, &groups, &err) < 0)
        return arena_printf(a, "%s: the gang stands alone", err.text);
    for (uint32_t i = 0; i < groups.v.n; i++)
        if (streq(groups.v.items[i], id))
            return NULL;
    return arena_printf(a, "%s: %s is not among them", ANNO_GANG_GROUPS, id);
}

const char *gang_problem(const struct objmeta *m, const struct gang *g, struct arena *a)
{
    const char *mode = text_of(m, ANNO_GANG_MODE), *policy = text_of(m, ANNO_GANG_MATCH_POLICY);
    enum gang_match_policy unread;

    if (g->spec.min_available < 1)
        return arena_printf(a, "%s: %d: nobody is waited for",
                            g->by_podgroup ? "spec.minMember" : ANNO_GANG_MIN_AVAILABLE,
                            g->spec.min_available);
    if (mode && !streq(mode, "Strict") && !streq(mode, "NonStrict"))
        return arena_printf(a, "%s: \"%s\" is neither Strict nor NonStrict: Strict counts",
                            ANNO_GANG_MODE, mode);
    if (!str_empty(policy) && !gang_match_policy_parse(policy, &unread))
        return arena_printf(a, "%s: \"%s\" is unknown: %s counts", ANNO_GANG_MATCH_POLICY, policy,
                            gang_match_policy_name(g->spec.match_policy));
    const char *problem = bad_groups(m, g->id, a);
    if (!problem)
        problem = bad_total(m, g->spec.min_available, a);
    return problem || g->by_podgroup ? problem : bad_wait(m, a);
}

const char *gang_group_problem(const struct gangs *s, const struct gang *g, struct arena *a)
{
    for (uint32_t i = 0; g->group && i < g->group->n; i++) {
        const struct gang *other = group_gang(s, g->group, i);
        if (!other)
            return arena_printf(a, "%s: %s does not exist: %s waits for it", ANNO_GANG_GROUPS,
                                g->group->ids[i], g->id);
        if (other->ready && other->group != g->group)
            return arena_printf(a,
                                "%s: %s says [%s], and %s says [%s]: each waits for those that it "
                                "names itself",
                                ANNO_GANG_GROUPS, g->id, g->group->id, other->id, other->group->id);
    }
    return NULL;
}

const char *gang_no_minimum(const struct objmeta *m, struct arena *a)
{
    const char *text = kstrmap_get(&m->labels, LABEL_POD_GROUP_MIN_AVAILABLE_OLD);
    const char *key = text ? LABEL_POD_GROUP_MIN_AVAILABLE_OLD : ANNO_GANG_MIN_AVAILABLE;
    int64_t min;

    if (!str_empty(kstrmap_get(&m->labels, LABEL_POD_GROUP)))
        return NULL;
    text = text ? text : text_of(m, ANNO_GANG_MIN_AVAILABLE);
    if (!text)
        return arena_printf(a, "%s is missing: the gang waits for a pod that has it", key);
    if (i64_parse(text, strlen(text), &min) < 0 || min < INT32_MIN || min > INT32_MAX)
        return arena_printf(a,
                            "%s: \"%s\" is not a whole number of 32 bits: the gang waits for a pod "
                            "that has one",
                            key, text);
    return NULL;
}
