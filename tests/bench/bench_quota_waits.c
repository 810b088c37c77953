/* bench_quota_waits.c - what the end of one pod costs while 100,000 pods wait in 1,000 quotas.
 *
 *     bench_quota_waits        one line: microseconds of CPU for the event and for looking who has
 *                              more room; nobody has
 */
#include <stdio.h>
#include <time.h>

#include "api/koord/quota.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "json/kj.h"

enum { TOPS = 10, QUOTAS = 1000, PODS = 100000, ENDED = 10000 };

struct bench {
    struct loop *loop;
    struct objects *objects;
    struct kj_scratch *scratch;
    struct arena *arena;
    struct quotas *quotas;
    struct vec_of(struct kobj *) all;
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* one thread that never waits */
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* It lives as long as the bench. */
static struct kobj *object(struct bench *b, const struct kind *k, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kj_parse(json, strlen(json), KJ_RAW_NUMBERS, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), b->scratch, &o, &err) < 0) {
        fprintf(stderr, "%s: %s\n", json, err.text);
        exit(1);
    }
    vec_push(&b->all, o);
    return o;
}

static void put_quota(struct bench *b, const char *name, const char *parent, bool is_parent)
{
    objects_put(
        b->objects,
        object(b, &kind_elasticquota,
               arena_printf(b->arena,
                            "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                            "\"" LABEL_QUOTA_PARENT "\":\"%s\",\"" LABEL_QUOTA_IS_PARENT
                            "\":\"%s\"}},\"spec\":{\"max\":{\"cpu\":\"%d\",\"memory\":"
                            "\"%dGi\"}}}",
                            name, parent, is_parent ? "true" : "false", is_parent ? 100000 : 2,
                            is_parent ? 100000 : 2)));
}

static const struct pod *pod(struct bench *b, unsigned number, const char *quota, const char *cpu)
{
    return pod_of(object(
        b, &kind_pod,
        arena_printf(b->arena,
                     "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"n\",\"uid\":\"00000000-0000-"
                     "4000-8000-%012u\",\"labels\":{\"" LABEL_QUOTA_NAME "\":\"%s\"}},\"spec\":{"
                     "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\","
                     "\"memory\":\"1Mi\"}}}]}}",
                     number, number, quota, cpu)));
}

static void make_quotas(struct bench *b)
{
    for (int i = 0; i < TOPS; i++)
        put_quota(b, arena_printf(b->arena, "top-%d", i), QUOTA_ROOT_NAME, true);
    for (int i = 0; i <= QUOTAS; i++) /* nobody waits in the last one */
        put_quota(b, arena_printf(b->arena, "q-%d", i), arena_printf(b->arena, "top-%d", i % TOPS),
                  false);
}

int main(void)
{
    struct bench b = { .loop = loop_new_virtual(0, 1),
                       .objects = objects_new(),
                       .arena = arena_new() };
    struct intern *strings = intern_new();
    struct quota_args args = { .ns = "koordinator-system", .runtime = { true, true } };
    struct ks_env env = { .loop = b.loop, .objects = b.objects };
    const struct ks_pod_handler *on = quotas_service.pods;
    const struct pod *ended[ENDED], **pods = xnewn0(PODS, const struct pod *);
    struct resqty total[] = { { "cpu", qty_from_i64(1000000, QTY_DECIMAL_SI) },
                              { "memory", qty_from_i64(INT64_C(1) << 50, QTY_BINARY_SI) } };
    struct kerr err = { 0 };
    void *made = NULL;

    b.scratch = kj_scratch_new(strings);
    make_quotas(&b);
    if (quotas_service.create(&env, &args, &made, &err) < 0)
        return 1;
    b.quotas = made;
    forest_add_total(b.quotas->forest, &(reslist){ total, 2 }, 1);
    for (unsigned i = 0; i < PODS; i++) {
        const struct pod *p = pod(&b, i, arena_printf(b.arena, "q-%u", i % QUOTAS), "1900m");
        if (i < QUOTAS)
            on->placed(made, NULL, p); /* its quota is full */
        else
            on->pending(made, NULL, p);
        pods[i] = p;
    }
    for (unsigned i = 0; i < ENDED; i++) {
        ended[i] = pod(&b, PODS + i, arena_printf(b.arena, "q-%d", QUOTAS), "1m");
        on->placed(made, NULL, ended[i]);
    }
    loop_advance(b.loop, NSEC_PER_SEC);
    for (unsigned i = QUOTAS; i < PODS; i++)
        (void)quotas_wait(b.quotas, pods[i]);
    double began = now_us();
    for (unsigned i = 0; i < ENDED; i++) {
        on->gone(made, ended[i]);
        loop_advance(b.loop, NSEC_PER_MSEC);
    }
    printf("waits us=%.1f quotas=%zu\n", (now_us() - began) / ENDED, b.quotas->waits.n);
    free(pods);
    quotas_service.destroy(made);
    objects_free(b.objects);
    vec_foreach(&b.all, i)
        kobj_unref(b.all.items[i]);
    vec_fini(&b.all);
    kj_scratch_free(b.scratch);
    intern_free(strings);
    arena_free(b.arena);
    loop_free(b.loop);
    return 0;
}
