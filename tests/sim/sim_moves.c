/* sim_moves.c - the surroundings of the simulations of the descheduler. */
#include "sim_moves.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "component/config.h"
#include "descheduler/config/config.h"
#include "descheduler/descheduler.h"
#include "scheduler/config/config.h"
#include "scheduler/scheduler.h"

void moves_die(const struct moves_sim *m, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "seed %llu at %lld s: ", (unsigned long long)m->seed,
            (long long)((loop_wall(m->s.loop) - WALL0) / SEC));
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
    abort();
}

unsigned moves_below(struct moves_sim *m, unsigned n)
{
    return (unsigned)loop_rand_below(m->s.loop, n);
}

/* ---- the programs ----------------------------------------------------------------------------- */

void moves_start_scheduler(struct moves_sim *m)
{
    const struct sched_config *c = m->sched_config->value;
    struct kerr err = { 0 };

    scheduler_free(m->scheduler);
    m->scheduler = scheduler_new(
        m->s.loop, m->s.faulty,
        &(struct scheduler_opts){ .profiles = c->made, .nprofiles = c->profiles.n }, &err);
    if (!m->scheduler)
        moves_die(m, "scheduler: %s", err.text);
    scheduler_start(m->scheduler);
}

void moves_start_descheduler(struct moves_sim *m)
{
    struct kerr err = { 0 };

    descheduler_free(m->descheduler);
    m->descheduler = descheduler_new(
        m->s.loop, m->s.faulty,
        &(struct descheduler_opts){ .config = m->config->value, .no_moves = !m->remembers }, &err);
    if (!m->descheduler)
        moves_die(m, "descheduler: %s", err.text);
    descheduler_watch(m->descheduler);
    descheduler_lead(m->descheduler);
}

void moves_configure(struct moves_sim *m, const char *text)
{
    struct kerr err = { 0 };

    if (config_parse(&desched_config_spec, text, strlen(text), "sim", &m->config, &err) < 0)
        moves_die(m, "%s", err.text);
    if (sched_config_chart(&m->sched_config, &err) < 0)
        moves_die(m, "%s", err.text);
}

/* ---- objects ---------------------------------------------------------------------------------- */

void moves_create(struct moves_sim *m, const char *fmt, ...)
{
    char body[2048];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    for (char *p = body; *p; p++)
        if (*p == '\'')
            *p = '"';
    int status = sim_create(&m->s, body);
    if (status != 201)
        moves_die(m, "create: %d: %s", status, body);
}

const struct kobj *moves_any_of(struct moves_sim *m, struct informer *inf)
{
    size_t n = informer_count(inf), it = 0;
    struct kobj *o = NULL;

    for (size_t skip = n ? moves_below(m, (unsigned)n) + 1 : 0; skip; skip--)
        o = informer_next(inf, &it);
    return o;
}

void moves_drop_any(struct moves_sim *m, struct informer *inf)
{
    const struct kobj *o = moves_any_of(m, inf);
    char name[64];

    if (!o)
        return;
    (void)snprintf(name, sizeof name, "%s", o->meta.name);
    (void)sim_delete(&m->s, informer_kind(inf), NULL, name, "{}");
}

/* ---- life ------------------------------------------------------------------------------------- */

static void start_cluster(struct moves_sim *m, const struct moves_shape *of)
{
    const struct hollow_shape shape = { .count = of->nodes };
    const struct cluster_opts o = { .deployment = true,
                                    .replicaset = true,
                                    .gc = true,
                                    .namespaces = true,
                                    .nodes = true,
                                    .pdb = true,
                                    .resourceclaims = true,
                                    .node_grace = 20 * MINUTE,
                                    .discovery_interval = 10 * MINUTE,
                                    .hollow = { .shapes = &shape,
                                                .nshapes = 1,
                                                .seed = m->seed,
                                                .metrics_interval = of->metrics_interval,
                                                .lease_interval = 5 * MINUTE } };
    sim_start(&m->s, &o);
    if (!sim_until(&m->s, 10 * MINUTE, sim_nodes_ready, NULL))
        moves_die(m, "nodes do not become ready");
}

void moves_begin(struct moves_sim *m, uint64_t seed, const struct moves_shape *shape)
{
    *m = (struct moves_sim){ .seed = seed };
    sim_init_koordinator(&m->s, seed);
    m->s.no_binder = true;
    judge_begin(m);
    start_cluster(m, shape);
}

void moves_end(struct moves_sim *m)
{
    descheduler_free(m->descheduler);
    scheduler_free(m->scheduler);
    sim_stop_cluster(&m->s);
    judge_end(m);
    config_unref(m->config);
    config_unref(m->sched_config);
    sim_fini(&m->s);
}

/* ---- runs ------------------------------------------------------------------------------------- */

/* Each run is a process of its own: they share no memory, and one that fails ends alone. */
static bool run_one(const struct moves_runs *r, uint64_t seed, bool tell)
{
    pid_t child = fork();

    if (child == 0) {
        r->run(seed, tell);
        fflush(NULL);
        _exit(0);
    }
    return child > 0;
}

/* 1 when the next run that ends has failed. */
static unsigned wait_for_one(void)
{
    int status = 0;

    return wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int moves_main(const struct moves_runs *r, int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = argc > 2                    ? strtoull(argv[2], NULL, 10)
                 : argc > 1                  ? 1
                 : getenv("KOORD_TEST_FULL") ? r->seeds_full
                                             : r->seeds;
    uint64_t at_once = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L), under_way = 0;
    unsigned failed = 0;

    /* The same run each time: the order of maps decides who draws which fault. */
    hash_set_key(1, 2);
    klog_set_level(-1);
    if (n == 1) {
        r->run(first, true);
    } else {
        for (uint64_t i = 0; i < n; i++) {
            if (under_way == at_once) {
                failed += wait_for_one();
                under_way--;
            }
            under_way += run_one(r, first + i, n <= 3);
        }
        for (; under_way; under_way--)
            failed += wait_for_one();
    }
    printf("%s: %llu passed, %u failed\n", r->name, (unsigned long long)(n - failed), failed);
    return failed != 0;
}
