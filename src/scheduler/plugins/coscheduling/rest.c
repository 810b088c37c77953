/* rest.c - gangs as JSON: GET .../Coscheduling/gangs and gang/:namespace/:name (sched-gang 5). */
#include "api/kobj.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/observe.h"
#include "json/kj.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* As upstream writes a set: {"key":{}}. */
static void write_set(struct kjw *w, const char *key, const char **items, size_t n)
{
    if (n)
        qsort(items, n, sizeof *items, by_text);
    kjw_obj(w, key);
    for (size_t i = 0; i < n; i++) {
        kjw_obj(w, items[i]);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_members(struct kjw *w, const char *key, const struct gang *g, int state,
                          struct arena *a)
{
    const char **keys = arena_newn0(a, g->members.n + 1, const char *);
    size_t n = 0;

    vec_foreach(&g->members, i)
        if (state < 0 || g->members.items[i]->state == (enum member_state)state)
            keys[n++] = member_key(g->members.items[i], a);
    write_set(w, key, keys, n);
}

static void write_list(struct kjw *w, const char *key, char *const *items, uint32_t n,
                       const char *self)
{
    kjw_arr(w, key);
    for (uint32_t i = 0; i < n; i++)
        kjw_str(w, NULL, items[i]);
    if (n == 0)
        kjw_str(w, NULL, self);
    kjw_end(w);
}

static void write_binding(struct kjw *w, const struct gangs *s, const struct gang_group *g,
                          struct arena *a)
{
    struct vec_of(const char *) uids = { 0 };

    for (uint32_t i = 0; g && g->binding && i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        for (size_t k = 0; gang && k < gang->members.n; k++) {
            const struct gang_member *m = gang->members.items[k];
            char *uid = arena_alloc(a, KUID_TEXT_MAX, 1);
            if (m->binding != g->binding)
                continue;
            kuid_format(m->uid, uid, KUID_TEXT_MAX);
            vec_push(&uids, uid);
        }
    }
    write_set(w, "BindingMemberPods", uids.items, uids.n);
    vec_fini(&uids);
}

static void write_group(struct kjw *w, const struct gangs *s, const struct gang *gang,
                        struct arena *a)
{
    const struct gang_group *g = gang->group;
    const char **waiting = arena_newn0(a, g ? g->n + 1 : 1, const char *);
    uint32_t n = 0;

    for (uint32_t i = 0; g && i < g->n; i++)
        if (g->waits[i])
            waiting[n++] = g->ids[i];
    kjw_obj(w, "gangGroupInfo");
    kjw_bool(w, "Initialized", g);
    kjw_str(w, "GangGroupId", g ? g->id : "");
    write_list(w, "GangGroup", g ? g->ids : NULL, g ? g->n : 0, gang->id);
    kjw_bool(w, "OnceResourceSatisfied", g && g->once_satisfied);
    write_set(w, "WaitingGangIDs", waiting, n);
    kjw_str(w, "RepresentativePodKey",
            g && g->representative ? member_key(g->representative, a) : "");
    write_binding(w, s, g, a);
    kjw_end(w);
}

static void write_gang(struct kjw *w, const char *key, const struct gangs *s, const struct gang *g,
                       struct arena *a)
{
    kjw_obj(w, key);
    kjw_str(w, "name", g->id);
    kjw_i64(w, "waitTime", g->spec.waiting_time_ns);
    kjw_time(w, "createTime", g->created);
    kjw_str(w, "mode", gang_mode_name(g->spec.mode));
    kjw_str(w, "gangMatchPolicy", gang_match_policy_name(g->spec.match_policy));
    kjw_i64(w, "minRequiredNumber", g->spec.min_available);
    kjw_i64(w, "totalChildrenNum", g->spec.total_number);
    write_list(w, "gangGroup", g->group ? g->group->ids : NULL, g->group ? g->group->n : 0, g->id);
    write_members(w, "children", g, -1, a);
    write_members(w, "pendingChildren", g, MEMBER_PENDING, a);
    write_members(w, "waitingForBindChildren", g, MEMBER_WAITING, a);
    write_members(w, "boundChildren", g, MEMBER_BOUND, a);
    kjw_bool(w, "onceResourceSatisfied", g->group && g->group->once_satisfied);
    write_group(w, s, g, a);
    kjw_str(w, "gangFrom", g->by_podgroup ? "GangFromPodGroupCrd" : "GangFromPodAnnotation");
    kjw_bool(w, "hasGangInit", g->ready);
    kjw_end(w);
}

/* ---- diagnosis ------------------------------------------------------------------------------- */

static int by_node(const void *a, const void *b)
{
    return strcmp(((const struct ks_job_slot *)a)->node, ((const struct ks_job_slot *)b)->node);
}

bool gangs_job(const struct gangs *s, const struct pod *p, struct arena *a, struct ks_job *ret)
{
    const struct gang_member *m = gangs_member(s, p->obj.meta.uid);
    const struct gang_group *g = m ? m->gang->group : NULL;
    uint32_t n = 0;

    if (!g)
        return false;
    *ret = (struct ks_job){
        .key = m->gang->id,
        .waiting = group_count(s, g, MEMBER_WAITING),
        .follows = s->round && s->round->group == g && s->round->failure,
    };
    ret->slots = arena_newn0(a, ret->waiting + 1, struct ks_job_slot);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        for (size_t k = 0; gang && k < gang->members.n; k++)
            if (gang->members.items[k]->state == MEMBER_WAITING)
                ret->slots[n++] = (struct ks_job_slot){ gang->members.items[k]->node, 1 };
    }
    qsort(ret->slots, n, sizeof *ret->slots, by_node);
    for (uint32_t i = 0; i < n; i++) {
        if (ret->nslots && streq(ret->slots[ret->nslots - 1].node, ret->slots[i].node))
            ret->slots[ret->nslots - 1].n++;
        else
            ret->slots[ret->nslots++] = ret->slots[i];
    }
    return true;
}

/* ---- REST paths ------------------------------------------------------------------------------ */

static int get_one(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    const struct gangs *s = service;
    const char *id = gang_id(g->params[0], g->params[1], g->arena);
    const struct gang *gang = gangs_find(s, id);

    if (!gang)
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "cannot find gang %s", id);
    write_gang(w, NULL, s, gang, g->arena);
    return 0;
}

static int get_all(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    const struct gangs *s = service;
    const char **ids = arena_newn0(g->arena, s->by_id.n + 1, const char *);
    size_t n = 0;

    (void)err;
    map_foreach(&s->by_id, e)
        ids[n++] = e->key;
    qsort(ids, n, sizeof *ids, by_text);
    kjw_obj(w, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct gang *gang = gangs_find(s, ids[i]);
        if (gang)
            write_gang(w, gang->id, s, gang, g->arena);
    }
    kjw_end(w);
    return 0;
}

const struct ks_path gangs_paths[] = {
    { "gang/:namespace/:name", get_one },
    { "gangs", get_all },
    { NULL, NULL },
};
