/* sim_gang_judge.c - what must be true of gangs at every write, and when all is quiet. */
#include "sim_gang.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/protocol/gang.h"
#include "base/strbuf.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

void sim_die(const struct sim *s, const char *what, const char *name)
{
    fprintf(stderr, "seed %llu: %s: %s\n", (unsigned long long)s->seed, what, name);
    abort();
}

/* ---- what the server holds -------------------------------------------------------------------- */

/* "g3b-4": group 3, gang 1, member 4. */
static bool member_of(const char *name, int *group, int *gang, int *member)
{
    char which;

    if (sscanf(name, "g%d%c-%d", group, &which, member) != 3)
        return false;
    *gang = which - 'a';
    return *group < GROUPS && *gang < GANGS && *member < MEMBERS;
}

struct picture {
    struct sim *s;
    int used[NODES], low;
};

static void see_pod(void *arg, const char *ns, const char *name, const char *version)
{
    struct picture *p = arg;
    const char *text = fake_find(p->s->client.fake, PODS, name), *at;
    int group, gang, member;

    (void)ns, (void)version;
    at = text ? strstr(text, "\"nodeName\":\"n") : NULL;
    if (!at)
        return;
    int node = atoi(at + strlen("\"nodeName\":\"n"));
    if (++p->used[node] > CPUS)
        sim_die(p->s, "a node has more than it can hold", name);
    if (member_of(name, &group, &gang, &member))
        p->s->groups[group].gangs[gang].bound[member] = true;
    else if (*name == 'l')
        p->low++;
}

static struct picture picture_take(struct sim *s)
{
    struct picture p = { .s = s };

    for (int i = 0; i < GROUPS; i++)
        for (int k = 0; k < GANGS; k++)
            memset(s->groups[i].gangs[k].bound, 0, sizeof s->groups[i].gangs[k].bound);
    fake_each(s->client.fake, "pods", see_pod, &p);
    s->judged++;
    return p;
}

static int room_for_members(const struct picture *p, bool by_evictions)
{
    int room = by_evictions ? p->low : 0;

    for (int i = 0; i < p->s->nodes; i++)
        room += CPUS - p->used[i];
    return room;
}

static int count(const bool *items)
{
    int n = 0;

    for (int i = 0; i < MEMBERS; i++)
        n += items[i];
    return n;
}

static int total_bound(const struct group *g)
{
    int n = 0;

    for (int i = 0; i < g->n; i++)
        n += count(g->gangs[i].bound);
    return n;
}

static bool is_complete(const struct group *g)
{
    for (int i = 0; i < g->n; i++)
        if (count(g->gangs[i].bound) < g->gangs[i].min)
            return false;
    return true;
}

static bool is_free(const struct group *g)
{
    return g->policy == ONCE_SATISFIED && g->once;
}

/* The CPUs that a group would need now; 0: it wants nothing, or is not whole. */
static int needs(const struct group *g)
{
    int need = 0, pending = 0;
    bool enough = true;

    for (int i = 0; i < g->n; i++) {
        const struct gang *x = &g->gangs[i];
        int bound = count(x->bound), waits = count(x->pods) - bound;
        int counted = g->policy == WAITING_AND_RUNNING ? bound : 0;
        pending += waits;
        enough = enough && counted >= x->min;
        /* Enough must be there; and must wait, where those that run do not count. */
        if (!is_free(g) && (waits + counted < x->min || waits + bound < x->min))
            return 0;
        need += MAX(x->min - counted, 0);
    }
    if (pending == 0)
        return 0;
    return is_free(g) || enough ? 1 : need;
}

/* ---- at every write --------------------------------------------------------------------------- */

/* How many were permitted together with the pod of this Binding. */
static int permitted_with(const struct kj_val *binding)
{
    const struct kj_val *annotations = kj_path(binding, "metadata.annotations");
    const char *n = annotations ? kj_str(kj_get(annotations, ANNO_BIND_GANG_MEMBER_COUNT)) : NULL;

    return n ? atoi(n) : 1;
}

/* The picture is the one before this binding. What is not there cannot have been permitted; what
 * was permitted must satisfy the policy in every gang, and so in sum. */
static void judge_binding(struct sim *s, struct group *g, const char *pod,
                          const struct kj_val *body)
{
    int wanted = 0, n = permitted_with(body);

    for (int i = 0; i < g->n; i++) {
        const struct gang *x = &g->gangs[i];
        wanted += MAX(x->min - (g->policy == WAITING_AND_RUNNING ? count(x->bound) : 0), 0);
        if (count(x->pods) < x->min && !g->once && !g->disturbed)
            sim_die(s, "a member is bound before its gangs are whole", pod);
    }
    /* Members that come when others have their permits already say nothing of those, which are
     * bound before or still on their way. */
    bool later = n == 1 && (g->once || (int)scheduler_stats(s->s).binding >= wanted);
    if (!is_free(g) && !later && n < wanted)
        sim_die(s, "a member is bound before its group's policy holds", pod);
    g->once = true;
    g->permitted = MAX(g->permitted, n);
    g->arrived++;
    s->binds++;
    s->step_binds++;
}

/* A pod is told that it has to go: it makes room for a group that will have enough of it, the one
 * that the message names or, where one pod made the plan, any. With faults the scheduler may not
 * know yet what the server has. */
static void judge_victim(struct sim *s, const char *pod, const struct kj_val *body)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct picture p = picture_take(s);
    int room = room_for_members(&p, true), only = -1;

    kj_write(body, 0, &text);
    if (s->faulty || !strstr(strbuf_str(&text), "DisruptionTarget"))
        return;
    const char *named = strstr(strbuf_str(&text), "preemptor: ns/g");
    if (named)
        only = atoi(named + strlen("preemptor: ns/g"));
    for (int i = 0; i < GROUPS; i++) {
        int need = only < 0 || only == i ? needs(&s->groups[i]) : 0;
        if (need && need <= room)
            return;
    }
    sim_die(s, "a pod is evicted for a group that would not fit", pod);
}

static void judge_eviction(struct sim *s, const char *pod)
{
    if (*pod != 'l')
        sim_die(s, "a member was evicted", pod);
    s->evicted++;
    s->step_evicted++;
}

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct sim *s = arg;
    const char *pod = strstr(target, "/pods/");
    int group, gang, member;

    (void)agent;
    if (strstr(target, "/events"))
        return;
    if (scheduler_stats(s->s).waiting)
        sim_die(s, "members wait between two turns", target);
    if (!pod)
        return;
    pod += strlen("/pods/");
    if (streq(method, "DELETE"))
        judge_eviction(s, pod);
    else if (streq(method, "PATCH") && *pod == 'l')
        judge_victim(s, pod, body);
    else if (strstr(target, "/binding") && member_of(pod, &group, &gang, &member))
        judge_binding(s, &s->groups[group], pod, body);
    (void)picture_take(s);
}

void judge_start(struct sim *s)
{
    fake_on_write(s->client.fake, on_write, s);
}

void judge_step(struct sim *s)
{
    s->step_binds = s->step_evicted = 0;
    for (int i = 0; i < GROUPS; i++)
        s->groups[i].permitted = s->groups[i].arrived = 0;
}

void judge_successor(struct sim *s)
{
    (void)picture_take(s);
    for (int i = 0; i < GROUPS; i++)
        s->groups[i].once = total_bound(&s->groups[i]) > 0;
}

void judge_deleted(struct group *g)
{
    int left = 0;

    for (int i = 0; i < g->n; i++)
        left += count(g->gangs[i].pods);
    g->disturbed = true;
    g->once = g->once && (g->by_podgroup || left > 0);
}

/* ---- when all is quiet ------------------------------------------------------------------------ */

static void judge_whole(struct sim *s)
{
    char name[48];

    for (int i = 0; i < GROUPS; i++) {
        const struct group *g = &s->groups[i];
        (void)snprintf(name, sizeof name, "g%d, %d of %d", i, g->arrived, g->permitted);
        if (g->n && !g->disturbed && total_bound(g) && !is_complete(g))
            sim_die(s, "a group is bound in part", name);
        if (g->arrived < g->permitted)
            sim_die(s, "members were permitted and not bound", name);
    }
}

static void judge_held(struct sim *s)
{
    const struct scheduler_stats x = scheduler_stats(s->s);

    if (x.waiting || x.assumed)
        sim_die(s, "room is held", "by members on their way");
    if (x.nominated)
        sim_die(s, "room is held", "by nomination");
}

static void judge_left(struct sim *s, const struct picture *p)
{
    int room = room_for_members(p, s->preempts);
    char name[64];

    for (int i = 0; i < GROUPS; i++) {
        int need = needs(&s->groups[i]);
        (void)snprintf(name, sizeof name, "g%d needs %d of %d", i, need, room);
        if (need && need <= room)
            sim_die(s, "a group that fits is left waiting", name);
        s->complete += s->groups[i].n && is_complete(&s->groups[i]);
    }
}

void judge_rest(struct sim *s)
{
    const struct picture p = picture_take(s);

    judge_whole(s);
    judge_left(s, &p);
    judge_held(s);
    if (s->step_evicted > s->step_binds)
        sim_die(s, "pods were evicted in vain", "");
}

void judge_end(struct sim *s)
{
    const struct picture p = picture_take(s);
    struct kerr err = { 0 };

    judge_left(s, &p);
    judge_held(s);
    if (scheduler_verify(s->s, &err) < 0)
        sim_die(s, "the cache is wrong", err.text);
}
