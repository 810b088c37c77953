/* sim_gang.c - gangs and groups of gangs, in both modes, with all policies, made by PodGroups or by
 * annotations, beside pods that may be evicted for them, on one scheduler after the other, with
 * faults. The judge is described in sim_gang.h.
 *
 * usage: sim_gang [FIRST [COUNT]]; a run is its seed. Every pod asks for one CPU, so that a gang
 * fits when as many CPUs are free as it has members to place.
 */
#include "sim_gang.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/protocol/gang.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "sim_seeds.h"
#include "json/kj.h"

#define NODES_PATH "/api/v1/nodes"
#define PODGROUPS  "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/ns/podgroups"
#define BACKOFF    (11 * SEC)        /* the longest, and a second for whole seconds */
#define NO_FLUSH   (24 * 3600 * SEC) /* longer than a run */
enum { STEPS = 60, SEEDS = 500, SHARED = 50 };
/* They found faults that nothing smaller shows: room was made or kept for other members than those
 * that were tried next. */
static const uint64_t past[] = { 3726, 30033 };

static const struct ks_registered plugins[] = {
    { &ks_plugin_scheduling_gates, 0, true },   { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_unschedulable, 0, true }, { &ks_plugin_fit, 1, true },
    { &ks_plugin_coscheduling, 0, true },       { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },     { NULL, 0, false },
};
static const char *const policies[POLICIES] = { "once-satisfied", "only-waiting",
                                                "waiting-and-running" };

static unsigned below(struct sim *s, unsigned n)
{
    return (unsigned)loop_rand_below(s->client.loop, n);
}

/* ---- what happens ------------------------------------------------------------------------------ */

static void put_pod(struct sim *s, int group, int gang, int member)
{
    struct group *g = &s->groups[group];
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char name[24];

    if (g->gangs[gang].pods[member])
        return;
    (void)snprintf(name, sizeof name, "g%d%c-%d", group, 'a' + gang, member);
    strbuf_append(&b, "{\"metadata\":{");
    if (g->by_podgroup) {
        strbuf_appendf(&b, "\"labels\":{\"%s\":\"g%d%c\"}", LABEL_POD_GROUP, group, 'a' + gang);
    } else {
        strbuf_appendf(&b,
                       "\"annotations\":{\"%s\":\"g%d%c\",\"%s\":\"%d\",\"%s\":\"%s\",\"%s\":"
                       "\"%s\",\"%s\":\"[",
                       ANNO_GANG_NAME, group, 'a' + gang, ANNO_GANG_MIN_AVAILABLE,
                       g->gangs[gang].min, ANNO_GANG_MODE, g->strict ? "Strict" : "NonStrict",
                       ANNO_GANG_MATCH_POLICY, policies[g->policy], ANNO_GANG_GROUPS);
        for (int i = 0; i < g->n; i++)
            strbuf_appendf(&b, "%s\\\"ns/g%d%c\\\"", i ? "," : "", group, 'a' + i);
        strbuf_append(&b, "]\"}");
    }
    strbuf_append(&b, "},\"spec\":{\"priority\":100,\"schedulerName\":\"koord-scheduler\","
                      "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
                      "\"1\"}}}]}}");
    g->gangs[gang].pods[member] = true;
    fake_put(s->client.fake, PODS, name, strbuf_str(&b));
}

static void put_podgroup(struct sim *s, int group, int gang)
{
    const struct group *g = &s->groups[group];
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char name[24];

    (void)snprintf(name, sizeof name, "g%d%c", group, 'a' + gang);
    strbuf_appendf(&b, "{\"metadata\":{\"annotations\":{\"%s\":\"%s\",\"%s\":\"%s\",\"%s\":\"[",
                   ANNO_GANG_MODE, g->strict ? "Strict" : "NonStrict", ANNO_GANG_MATCH_POLICY,
                   policies[g->policy], ANNO_GANG_GROUPS);
    for (int i = 0; i < g->n; i++)
        strbuf_appendf(&b, "%s\\\"ns/g%d%c\\\"", i ? "," : "", group, 'a' + i);
    strbuf_appendf(&b, "]\"}},\"spec\":{\"minMember\":%d}}", g->gangs[gang].min);
    fake_put(s->client.fake, PODGROUPS, name, strbuf_str(&b));
}

static void new_group(struct sim *s)
{
    int i = 0;

    while (i < GROUPS && s->groups[i].n)
        i++;
    if (i == GROUPS)
        return;
    struct group *g = &s->groups[i];
    *g = (struct group){ .n = 1 + (int)below(s, GANGS),
                         .policy = (enum policy)below(s, POLICIES),
                         .strict = below(s, 2),
                         .by_podgroup = below(s, 2) };
    for (int k = 0; k < g->n; k++) {
        g->gangs[k].min = 1 + (int)below(s, MEMBERS);
        if (g->by_podgroup)
            put_podgroup(s, i, k);
    }
    for (int k = 0; k < g->n; k++)
        for (int m = 0; m < g->gangs[k].min; m++)
            if (below(s, 8))
                put_pod(s, i, k, m);
}

static void put_node(struct sim *s)
{
    char name[16];

    if (s->nodes == NODES)
        return;
    (void)snprintf(name, sizeof name, "n%d", s->nodes++);
    fake_put(s->client.fake, NODES_PATH, name,
             "{\"status\":{\"allocatable\":{\"cpu\":\"6\",\"memory\":\"64Gi\",\"pods\":\"60\"}}}");
}

static void put_low(struct sim *s)
{
    char name[16];

    (void)snprintf(name, sizeof name, "l%d", s->nlow++);
    fake_put(s->client.fake, PODS, name,
             "{\"spec\":{\"priority\":1,\"schedulerName\":\"koord-scheduler\",\"containers\":[{"
             "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
}

static void delete_some(struct sim *s)
{
    int i = (int)below(s, GROUPS), k = (int)below(s, GANGS), m = (int)below(s, MEMBERS);
    struct group *g = &s->groups[i];
    char name[24];

    if (k >= g->n || !g->gangs[k].pods[m])
        return;
    (void)snprintf(name, sizeof name, "g%d%c-%d", i, 'a' + k, m);
    g->gangs[k].pods[m] = false;
    judge_deleted(g);
    fake_delete(s->client.fake, PODS, name);
}

/* All of it goes: its room is free, and another may have its name. */
static void delete_group(struct sim *s)
{
    int i = (int)below(s, GROUPS);
    struct group *g = &s->groups[i];
    char name[24];

    for (int k = 0; k < g->n; k++) {
        for (int m = 0; m < MEMBERS; m++) {
            (void)snprintf(name, sizeof name, "g%d%c-%d", i, 'a' + k, m);
            if (g->gangs[k].pods[m])
                fake_delete(s->client.fake, PODS, name);
        }
        (void)snprintf(name, sizeof name, "g%d%c", i, 'a' + k);
        if (g->by_podgroup)
            fake_delete(s->client.fake, PODGROUPS, name);
    }
    client_fixture_run(&s->client, BACKOFF); /* whatever was on its way to the server has arrived */
    *g = (struct group){ 0 };
}

static void scheduler_born(struct sim *s)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = s->preempts ? "{\"enablePreemption\":true}" : "{}";
    struct profile_config c = profile_config_default(plugins, "koord-scheduler", a);
    struct profile_args given = { "Coscheduling", NULL };
    struct kerr err = { 0 };
    void *args = NULL;

    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0 ||
        args_decode(ks_plugin_coscheduling.args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                    &args, &err) < 0)
        sim_die(s, "no args", err.text);
    given.args = args;
    c.args = &given;
    c.nargs = 1;
    s->s = scheduler_new(s->client.loop, s->client.kube,
                         &(struct scheduler_opts){ .plugins = plugins,
                                                   .profiles = &c,
                                                   .nprofiles = 1,
                                                   .unschedulable_max = NO_FLUSH,
                                                   .verify_reuse = true },
                         &err);
    if (!s->s)
        sim_die(s, "no scheduler", err.text);
    scheduler_start(s->s);
}

static void disturb_all(struct sim *s)
{
    for (int i = 0; i < GROUPS; i++)
        s->groups[i].disturbed = true;
}

static void break_something(struct sim *s)
{
    switch (below(s, 4)) {
    case 0: fake_break_connections(s->client.fake); break;
    case 1: fake_compact(s->client.fake); break;
    case 2: fake_answer_next(s->client.fake, 1 + (int)below(s, 5), 409, -1); break;
    case 3: fake_answer_next(s->client.fake, 1 + (int)below(s, 5), 500, -1); break;
    }
}

static void change_something(struct sim *s)
{
    int i = (int)below(s, GROUPS), k = (int)below(s, GANGS);

    switch (below(s, 16)) {
    case 0:
    case 1:
    case 2: new_group(s); break;
    case 3:
    case 4:
    case 5:
    case 6:
        if (k < s->groups[i].n)
            put_pod(s, i, k, (int)below(s, MEMBERS));
        break;
    case 7: put_low(s); break;
    case 8: put_low(s); break;
    case 9: put_node(s); break;
    case 10: delete_some(s); break;
    case 11: delete_group(s); break;
    case 12:
        if (k < s->groups[i].n && s->groups[i].by_podgroup && s->groups[i].gangs[k].min > 1) {
            s->groups[i].gangs[k].min--;
            put_podgroup(s, i, k);
        }
        break;
    case 13: fake_end_watches(s->client.fake); break;
    case 14:
        if (s->faulty)
            break_something(s);
        break;
    case 15: /* killed, and another one comes */
        if (!s->faulty || below(s, 3))
            break;
        scheduler_free(s->s);
        judge_successor(s);
        scheduler_born(s);
        break;
    }
}

static void set_faults(struct sim *s, bool on)
{
    struct http_faults f = { 0 };

    if (on)
        f = (struct http_faults){ .refuse = 20,
                                  .lose_answer = 40,
                                  .reset = 20,
                                  .status_500 = 20,
                                  .status_503 = 10,
                                  .status_429 = 10,
                                  .slow = 200,
                                  .slow_max = 3 * SEC };
    http_fault_set(s->client.faulty, &f);
}

/* ---- a run ------------------------------------------------------------------------------------ */

static void run(uint64_t seed, struct sim *sum)
{
    struct sim s = { .seed = seed, .faulty = seed % 3 != 0, .preempts = seed % 2 };

    hash_set_key(seed, 1); /* it decides the order of maps */
    client_fixture_init(&s.client, seed);
    judge_start(&s);
    put_node(&s);
    put_node(&s);
    scheduler_born(&s);
    set_faults(&s, s.faulty);
    for (int i = 0; i < STEPS; i++) {
        judge_step(&s);
        change_something(&s);
        client_fixture_run(&s.client, (nsec_t)below(&s, 4000) * NSEC_PER_MSEC);
        if (s.faulty) {
            disturb_all(&s);
            continue;
        }
        client_fixture_run(&s.client, BACKOFF);
        judge_rest(&s);
    }
    set_faults(&s, false);
    fake_answer_next(s.client.fake, 0, 0, -1);
    client_fixture_run(&s.client, 70 * SEC); /* watches that were lost are back */
    client_fixture_run(&s.client, BACKOFF);
    judge_end(&s);
    scheduler_free(s.s);
    client_fixture_fini(&s.client);
    sum->judged += s.judged;
    sum->binds += s.binds;
    sum->complete += s.complete;
    sum->evicted += s.evicted;
}

/* Runs [first, first + n). Returns how many things are wrong with them. */
static int run_all(uint64_t first, uint64_t n)
{
    struct sim sum = { 0 };

    for (uint64_t i = 0; i < n; i++)
        run(first + i, &sum);
    printf("%llu runs: %u pictures judged, %u bindings, %u complete groups, %u evictions\n",
           (unsigned long long)n, sum.judged, sum.binds, sum.complete, sum.evicted);
    bool idle = n >= 10 && (!sum.complete || !sum.evicted); /* nothing is proved by nothing */
    printf("sim_gang: %llu passed, %d failed\n", (unsigned long long)(idle ? 0 : n), idle);
    return idle;
}

int main(int argc, char **argv)
{
    static const struct sim_seeds seeds = { SEEDS, 10000, SHARED, run_all };

    for (size_t i = 0; argc == 1 && i < ARRAY_LEN(past); i++)
        if (run_all(past[i], 1))
            return 1;
    return sim_seeds_main(&seeds, argc, argv);
}
