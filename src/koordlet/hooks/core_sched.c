/* core_sched.c - cookies of core scheduling: who holds which. */
#include "koordlet/hooks/core_sched.h"

#include <stdio.h>

#include "api/protocol/slo.h"
#include "base/map.h"
#include "base/vec.h"

#define KEEP (300 * NSEC_PER_SEC)

struct pids vec_of(pid_t);

struct group {
    uint64_t cookie;
    struct pids pids; /* ascending */
    nsec_t used;
    char name[];
};
struct member { /* a container */
    char *group;
    nsec_t used;
    char key[]; /* uid/container ID */
};
struct core_sched {
    const struct core_sched_ops *ops;
    void *arg;
    struct map groups, members;
};

/* ---- life ------------------------------------------------------------------------------------ */

struct core_sched *core_sched_new(const struct core_sched_ops *ops, void *arg)
{
    struct core_sched *c = xnew0(struct core_sched);

    c->ops = ops;
    c->arg = arg;
    return c;
}

static void group_free(struct group *g)
{
    vec_fini(&g->pids);
    free(g);
}

static void member_free(struct member *m)
{
    free(m->group);
    free(m);
}

struct core_sched *core_sched_free(struct core_sched *c)
{
    if (!c)
        return NULL;
    map_foreach(&c->groups, e)
        group_free(e->value);
    map_foreach(&c->members, m)
        member_free(m->value);
    map_fini(&c->groups);
    map_fini(&c->members);
    free(c);
    return NULL;
}

bool core_sched_supported(const struct core_sched *c)
{
    uint64_t cookie;

    return c->ops->get(c->arg, 0, &cookie) == 0;
}

/* ---- the group of a pod ---------------------------------------------------------------------- */

bool core_sched_group(const struct rule_core_sched *r, const struct npod *p, struct arena *a,
                      const char **ret)
{
    const kstrmap *labels = &p->obj->meta.labels;
    enum qos_class qos = qos_raw(labels);
    struct core_sched_class class = qos == QOS_NONE ? r->kube[p->kube_qos] : r->pod[qos];
    enum core_sched_policy policy = core_sched_policy(labels);
    const char *id = str_or(kstrmap_get(labels, LABEL_CORE_SCHED_GROUP_ID), "");

    if (!r->enable || !class.enable || policy == CORE_SCHED_NONE || qos == QOS_SYSTEM)
        return false;
    if (policy == CORE_SCHED_EXCLUSIVE)
        id = p->uid;
    *ret = arena_printf(a, "%s%s", id, class.expeller ? "-expeller" : "");
    return true;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static bool group_has(const struct group *g, pid_t pid)
{
    vec_foreach(&g->pids, i)
        if (g->pids.items[i] == pid)
            return true;
    return false;
}

static void group_add(struct group *g, pid_t pid)
{
    size_t i = 0;

    while (i < g->pids.n && g->pids.items[i] < pid)
        i++;
    if (i == g->pids.n || g->pids.items[i] != pid)
        vec_insert(&g->pids, i, pid);
}

static void group_remove(struct group *g, pid_t pid)
{
    vec_foreach(&g->pids, i)
        if (g->pids.items[i] == pid) {
            vec_remove(&g->pids, i);
            return;
        }
}

/* NULL unless it can be used: it has a cookie and somebody who holds it. */
static struct group *group_find(const struct core_sched *c, const char *name)
{
    struct group *g = map_getz(&c->groups, name);

    return g && g->cookie && g->pids.n > 0 ? g : NULL;
}

static struct group *group_make(struct core_sched *c, const char *name, uint64_t cookie)
{
    struct group *g = map_getz(&c->groups, name);

    if (!g) {
        g = xcalloc(1, sizeof *g + strlen(name) + 1);
        memcpy(g->name, name, strlen(name) + 1);
        map_putz(&c->groups, g->name, g);
    }
    g->cookie = cookie;
    vec_clear(&g->pids);
    return g;
}

static void group_drop(struct core_sched *c, const char *name)
{
    struct group *g = map_removez(&c->groups, name);

    if (g)
        group_free(g);
}

static struct member *member_find(const struct core_sched *c, const char *uid, const char *id)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    strbuf_appendf(&key, "%s/%s", uid, id);
    return map_getz(&c->members, strbuf_str(&key));
}

static void member_set(struct core_sched *c, const char *uid, const char *id, const char *group,
                       nsec_t now)
{
    struct member *m = member_find(c, uid, id);

    if (!m) {
        size_t n = strlen(uid) + strlen(id) + 2;
        m = xcalloc(1, sizeof *m + n);
        snprintf(m->key, n, "%s/%s", uid, id);
        map_putz(&c->members, m->key, m);
    }
    if (!m->group || !streq(m->group, group)) {
        free(m->group);
        m->group = xstrdup(group);
    }
    m->used = now;
}

void core_sched_learn(struct core_sched *c, const char *uid, const char *container_id,
                      const char *group, const pid_t *pids, size_t n, nsec_t now)
{
    uint64_t found = 0, cookie;

    for (size_t i = 0; i < n; i++) {
        if (c->ops->get(c->arg, pids[i], &cookie) < 0 || cookie == 0 || (found && cookie != found))
            continue;
        struct group *g = group_find(c, group);
        if (g && g->cookie != cookie)
            return; /* somebody else's */
        g = g ? g : group_make(c, group, cookie);
        g->used = now;
        group_add(g, pids[i]);
        found = cookie;
    }
    if (found)
        member_set(c, uid, container_id, group, now);
}

/* ---- cookies --------------------------------------------------------------------------------- */

/* Hands the cookie of from to those of the pids that do not have it. */
static void share(struct core_sched *c, struct group *g, pid_t from, const pid_t *pids, size_t n)
{
    CLEANUP(mem_free) pid_t *to = xnewn0(n + 1, pid_t);
    CLEANUP(mem_free) bool *ok = xnewn0(n + 1, bool);
    size_t count = 0;
    uint64_t cookie;

    for (size_t i = 0; i < n; i++) {
        if (c->ops->get(c->arg, pids[i], &cookie) < 0)
            continue;
        if (cookie == g->cookie)
            group_add(g, pids[i]);
        else
            to[count++] = pids[i];
    }
    if (count > 0)
        c->ops->share(c->arg, from, to, count, ok);
    for (size_t i = 0; i < count; i++)
        if (ok[i])
            group_add(g, to[i]);
}

/* The first remembered process that still holds the cookie; those that do not are dropped. */
static pid_t sibling(struct core_sched *c, struct group *g)
{
    uint64_t cookie;

    while (g->pids.n > 0) {
        pid_t pid = g->pids.items[0];
        if (c->ops->get(c->arg, pid, &cookie) == 0 && cookie == g->cookie)
            return pid;
        group_remove(g, pid);
    }
    return 0;
}

static bool any_readable(struct core_sched *c, const pid_t *pids, size_t n)
{
    uint64_t cookie;

    for (size_t i = 0; i < n; i++)
        if (c->ops->get(c->arg, pids[i], &cookie) == 0)
            return true;
    return false;
}

static uint64_t add(struct core_sched *c, const char *name, const pid_t *pids, size_t n, nsec_t now)
{
    uint64_t cookie = 0;

    if (c->ops->create(c->arg, pids[0]) < 0 || c->ops->get(c->arg, pids[0], &cookie) < 0 ||
        cookie == 0)
        return 0;
    struct group *g = group_make(c, name, cookie);
    g->used = now;
    group_add(g, pids[0]);
    share(c, g, pids[0], pids + 1, n - 1);
    return cookie;
}

static uint64_t enable(struct core_sched *c, const char *name, const pid_t *pids, size_t n,
                       nsec_t now)
{
    struct group *g = group_find(c, name);
    size_t known = 0;

    for (size_t i = 0; g && i < n; i++)
        known += group_has(g, pids[i]);
    if (g && known == n) {
        g->used = now;
        return g->cookie;
    }
    if (g) {
        if (!any_readable(c, pids, n))
            return 0;
        pid_t from = sibling(c, g);
        if (from) {
            share(c, g, from, pids, n);
            g->used = now;
            return g->cookie;
        }
        group_drop(c, name);
    }
    return add(c, name, pids, n, now);
}

/* The agent itself has no cookie: sharing "from 0" hands out none. */
size_t core_sched_clear(struct core_sched *c, const pid_t *pids, size_t n)
{
    CLEANUP(mem_free) pid_t *to = xnewn0(n + 1, pid_t);
    CLEANUP(mem_free) bool *ok = xnewn0(n + 1, bool);
    size_t count = 0;
    uint64_t cookie;

    for (size_t i = 0; i < n; i++)
        if (c->ops->get(c->arg, pids[i], &cookie) == 0 && cookie != 0)
            to[count++] = pids[i];
    if (count > 0)
        c->ops->share(c->arg, 0, to, count, ok);
    return count;
}

static void disable(struct core_sched *c, const char *uid, const char *id, const pid_t *pids,
                    size_t n)
{
    struct member *m = member_find(c, uid, id);

    if (!m)
        return;
    struct group *g = map_getz(&c->groups, m->group);
    core_sched_clear(c, pids, n);
    for (size_t i = 0; g && i < n; i++)
        group_remove(g, pids[i]);
    if (g && g->pids.n == 0)
        group_drop(c, m->group);
    map_removez(&c->members, m->key);
    member_free(m);
}

uint64_t core_sched_put(struct core_sched *c, const char *uid, const char *container_id,
                        const char *group, const pid_t *pids, size_t n, nsec_t now)
{
    if (n == 0)
        return 0;
    const struct member *m = member_find(c, uid, container_id);
    if (!group || (m && !streq(m->group, group)))
        disable(c, uid, container_id, pids, n);
    if (!group)
        return 0;
    uint64_t cookie = enable(c, group, pids, n, now);
    if (cookie)
        member_set(c, uid, container_id, group, now);
    return cookie;
}

void core_sched_sweep(struct core_sched *c, nsec_t now)
{
    struct vec_of(struct group *) groups = { 0 };
    struct vec_of(struct member *) members = { 0 };

    map_foreach(&c->groups, e) {
        struct group *g = e->value;
        if (now - g->used > KEEP)
            vec_push(&groups, g);
    }
    map_foreach(&c->members, f) {
        struct member *m = f->value;
        if (now - m->used > KEEP)
            vec_push(&members, m);
    }
    vec_foreach(&groups, i)
        group_drop(c, groups.items[i]->name);
    vec_foreach(&members, i) {
        map_removez(&c->members, members.items[i]->key);
        member_free(members.items[i]);
    }
    vec_fini(&groups);
    vec_fini(&members);
}

size_t core_sched_members(const struct core_sched *c, const char *group, const pid_t **ret,
                          uint64_t *ret_cookie)
{
    const struct group *g = map_getz(&c->groups, group);

    if (!g)
        return 0;
    *ret = g->pids.items;
    *ret_cookie = g->cookie;
    return g->pids.n;
}
