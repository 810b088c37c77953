/* bench_migration.c - what arbitration costs: many waiting jobs, judged at once.
 *
 *     bench_migration JOBS ROUNDS
 *
 * Jobs for pods of a tenth as many workloads on a tenth as many nodes, half of which may not be
 * moved now. Prints JSON: milliseconds of CPU for a round, with the tally of all jobs made anew;
 * the shortest and the median of all rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/workload.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "descheduler/framework/plugin.h"
#include "descheduler/migration/arbitrate.h"
#include "descheduler/migration/workloads.h"
#include "json/kj.h"

struct fixture {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct vec_of(struct kobj *) jobs, pods, sets;
    struct map set_by_name;
    unsigned n;
};

static struct kobj *object(struct fixture *f, const struct kind *k, const struct strbuf *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kj_parse(json->data, json->len, 0, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), f->scratch, &o, &err) < 0) {
        fprintf(stderr, "bench_migration: %s\n", err.text);
        exit(1);
    }
    return o;
}

static void make_set(struct fixture *f, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(
        &b,
        "{\"metadata\":{\"name\":\"set-%u\",\"namespace\":\"ns\",\"uid\":\"00000000-0000-"
        "4000-8000-%012u\"},\"spec\":{\"replicas\":20}}",
        i, i);
    struct kobj *o = object(f, &kind_replicaset, &b);
    vec_push(&f->sets, o);
    map_putz(&f->set_by_name, o->meta.name, o);
}

static void make_pod(struct fixture *f, unsigned i, unsigned sets)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(
        &b,
        "{\"metadata\":{\"name\":\"pod-%u\",\"namespace\":\"ns\",\"uid\":\"00000000-0000-"
        "4000-9000-%012u\",\"creationTimestamp\":\"2026-01-01T00:00:%02uZ\","
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
        "\"set-%u\",\"uid\":\"00000000-0000-4000-8000-%012u\",\"controller\":true}]},"
        "\"spec\":{\"nodeName\":\"node-%u\",\"priority\":%u,\"schedulerName\":"
        "\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":"
        "\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        i, i, i % 60, i % sets, i % sets, i % sets, 5000 + i % 4 * 1000);
    vec_push(&f->pods, object(f, &kind_pod, &b));
}

static void make_job(struct fixture *f, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(
        &b,
        "{\"metadata\":{\"name\":\"job-%u\",\"uid\":\"00000000-0000-4000-a000-%012u\","
        "\"creationTimestamp\":\"2026-01-01T01:00:%02uZ\"},\"spec\":{\"podRef\":{"
        "\"namespace\":\"ns\",\"name\":\"pod-%u\",\"uid\":\"00000000-0000-4000-9000-%012u\""
        "}}}",
        i, i, i % 60, i, i);
    vec_push(&f->jobs, object(f, &kind_podmigrationjob, &b));
}

static void fixture_fini(struct fixture *f)
{
    vec_foreach(&f->jobs, i)
        kobj_unref(f->jobs.items[i]);
    vec_foreach(&f->pods, i)
        kobj_unref(f->pods.items[i]);
    vec_foreach(&f->sets, i)
        kobj_unref(f->sets.items[i]);
    vec_fini(&f->jobs);
    vec_fini(&f->pods);
    vec_fini(&f->sets);
    map_fini(&f->set_by_name);
    kj_scratch_free(f->scratch);
    intern_free(f->strings);
}

/* ---- workloads ------------------------------------------------------------------------------- */

static enum workload_known get(void *arg, const struct kind *k, const char *ns, const char *name,
                               const struct kobj **ret)
{
    struct fixture *f = arg;

    (void)ns;
    *ret = k == &kind_replicaset ? map_getz(&f->set_by_name, name) : NULL;
    return *ret ? WORKLOAD_FOUND : WORKLOAD_NONE;
}

/* Pod number i is of set i % sets: as an index would find them. */
static void owned(void *arg, const struct kind *k, struct kuid owner, kobjvec *out)
{
    struct fixture *f = arg;
    char uid[KUID_TEXT_MAX];

    if (k != &kind_pod)
        return;
    kuid_format(owner, uid, sizeof uid);
    for (size_t i = strtoul(uid + 24, NULL, 10); i < f->pods.n; i += f->sets.n)
        vec_push(out, f->pods.items[i]);
}

static enum workload_known scale(void *arg, const char *ns, const struct owner_ref *owner,
                                 int32_t *ret_replicas)
{
    (void)arg, (void)ns, (void)owner, (void)ret_replicas;
    return WORKLOAD_NONE;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may run beside us */
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static struct migration_args *make_args(struct arena *a)
{
    static const char text[] = "{\"maxMigratingGlobally\":500,\"maxMigratingPerNode\":5}";
    struct migration_args *args = arena_new0(a, struct migration_args);
    struct kerr err = { 0 };

    if (kj_decode_text(&migration_args_schema, text, sizeof text - 1, KJ_STRICT, a, args, &err) < 0)
        exit(1);
    kj_default(&migration_args_schema, a, args);
    if (migration_kd_args.check(args, a, &err) < 0)
        exit(1);
    return args;
}

static double one_round(struct fixture *f, const struct migration_args *args, size_t *ret_passed)
{
    const struct workload_source source = { f, get, owned, scale };
    struct candidate *all = xnewn0(f->n, struct candidate);
    double began = now_ms();

    struct workloads *workloads = workloads_new(&source);
    struct jobtally *tally = jobtally_new();
    for (unsigned i = 0; i < f->n; i++) {
        all[i] = (struct candidate){ .job = podmigrationjob_of(f->jobs.items[i]),
                                     .pod = pod_of(f->pods.items[i]) };
        jobtally_add(tally, all[i].job, all[i].pod, false);
    }
    const struct checks c = { args, workloads, tally };
    arbitrate(&c, tally, all, f->n);
    double took = now_ms() - began;

    *ret_passed = 0;
    for (unsigned i = 0; i < f->n; i++)
        *ret_passed += all[i].verdict == VERDICT_PASS;
    jobtally_free(tally);
    workloads_free(workloads);
    free(all);
    return took;
}

int main(int argc, char **argv)
{
    struct fixture f = { 0 };
    CLEANUP(arena_free) struct arena *a = arena_new();
    unsigned rounds = argc == 3 ? (unsigned)atoi(argv[2]) : 0, sets;
    size_t passed = 0;

    f.n = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
    sets = f.n / 10;
    if (!rounds || !sets) {
        fprintf(stderr, "usage: bench_migration JOBS ROUNDS\n");
        return 2;
    }
    f.strings = intern_new();
    f.scratch = kj_scratch_new(f.strings);
    for (unsigned i = 0; i < sets; i++)
        make_set(&f, i);
    for (unsigned i = 0; i < f.n; i++) {
        make_pod(&f, i, sets);
        make_job(&f, i);
    }
    const struct migration_args *args = make_args(a);
    double *took = xnewn0(rounds, double);
    for (unsigned i = 0; i < rounds; i++)
        took[i] = one_round(&f, args, &passed);
    qsort(took, rounds, sizeof *took, by_value);
    printf("{\"jobs\":%u,\"passed\":%zu,\"median_ms\":%.3f,\"min_ms\":%.3f}\n", f.n, passed,
           took[rounds / 2], took[0]);
    free(took);
    fixture_fini(&f);
    return 0;
}
