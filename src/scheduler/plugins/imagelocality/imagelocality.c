/* imagelocality.c - nodes that have the pod's images already are better (scheduler-core 8.10).
 *
 * An image counts by its size, and for less the fewer nodes have it: otherwise the first node that
 * pulled an image would get all its pods.
 */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/num.h"
#include "scheduler/plugins/imagelocality/images.h"
#include "scheduler/plugins/registry.h"

#define MIB         (INT64_C(1024) * 1024)
#define SUM_MIN     (23 * MIB)
#define SUM_MAX_PER (1000 * MIB)

static int image_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    (void)env, (void)args, (void)err;
    *ret_self = images_new();
    return 0;
}

static void image_destroy(void *self)
{
    images_free(self);
}

/* A name without a tag means the latest. A colon before the last slash belongs to a port. */
static const char *full_name(const char *name, struct arena *a)
{
    const char *colon = strrchr(name, ':'), *slash = strrchr(name, '/');
    bool tagged = colon && (!slash || colon > slash);
    return tagged ? name : arena_printf(a, "%s:latest", name);
}

static const struct image *find_image(const struct images *s, const struct container *c,
                                      struct arena *a)
{
    return images_find(s, full_name(c->image, a));
}

static void add_image(const struct image *i, uint32_t nodes, int64_t *sums)
{
    double spread = (double)i->n / (double)nodes;
    int64_t worth = i64_from_f64((double)i->size * spread);

    for (uint32_t k = 0; k < i->n; k++)
        sums[i->rows[k]] = i64_add_sat(sums[i->rows[k]], worth);
}

static int64_t score_of(int64_t sum, int64_t max)
{
    sum = sum > max ? max : sum;
    sum = sum < SUM_MIN ? SUM_MIN : sum;
    return KS_SCORE_MAX * (sum - SUM_MIN) / (max - SUM_MIN);
}

/* The scores of all rows; NULL when no node has any of the images. */
static int64_t *make_scores(struct images *s, const struct ks_cycle *c, const struct pod *p,
                            struct arena *a)
{
    const containerlist *lists[] = { &p->spec->init_containers, &p->spec->containers };
    int64_t max = SUM_MAX_PER * (lists[0]->n + lists[1]->n), *sums = NULL;

    images_sync(s, c->nodes);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (uint32_t i = 0; i < lists[l]->n; i++) {
            const struct image *image = find_image(s, &lists[l]->items[i], a);
            if (!image)
                continue;
            sums = sums ? sums : arena_newn0(a, c->nodes->n, int64_t);
            add_image(image, c->nodes->n, sums);
        }
    for (uint32_t row = 0; sums && row < c->nodes->n; row++)
        sums[row] = sums[row] ? score_of(sums[row], max) : 0;
    return sums;
}

/* Where no node has an image all scores are zero, and only people want to see them. */
static enum ks_code image_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_texts *why)
{
    (void)why;
    *ret_state = make_scores(self, c, p->pod, c->arena);
    return *ret_state || c->complete ? KS_SUCCESS : KS_SKIP;
}

static void image_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, int64_t *restrict out)
{
    const int64_t *scores = c->state;

    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = scores ? scores[i] : 0;
}

const struct ks_plugin ks_plugin_image_locality = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "ImageLocality",
    .reuse = KS_REUSE_LOCAL,
    .points = KS_AT(SCORE),
    .create = image_create,
    .destroy = image_destroy,
    .pre_score = image_pre_score,
    .score = image_score,
};
