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

/* ---- what is kept with a shape --------------------------------------------------------------- */

struct locality {
    int64_t *scores;     /* [row]; NULL: no node has any of the images */
    uint64_t generation; /* of the images, when it was last found to hold */
    uint32_t n;
    struct wanted { /* an image of the pod */
        const char *name;
        uint64_t changed; /* 0: no node has it */
    } items[];
};

static uint64_t changed_of(const struct images *s, const char *name)
{
    const struct image *i = images_find(s, name);
    return i ? i->changed : 0;
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

static struct locality *locality_new(const struct pod *p, struct arena *a)
{
    const containerlist *lists[] = { &p->spec->init_containers, &p->spec->containers };
    size_t all = (size_t)lists[0]->n + lists[1]->n;
    struct locality *l = arena_zalloc(a, sizeof *l + all * sizeof *l->items);

    for (size_t k = 0; k < ARRAY_LEN(lists); k++)
        for (uint32_t i = 0; i < lists[k]->n; i++)
            l->items[l->n++].name = full_name(lists[k]->items[i].image, a);
    return l;
}

static void make_scores(const struct images *s, const struct ks_cycle *c, struct locality *l)
{
    int64_t max = SUM_MAX_PER * l->n;

    for (uint32_t i = 0; i < l->n; i++) {
        const struct image *image = images_find(s, l->items[i].name);
        if (!image)
            continue;
        l->items[i].changed = image->changed;
        l->scores = l->scores ? l->scores : arena_newn0(c->arena, c->nodes->n, int64_t);
        add_image(image, c->nodes->n, l->scores);
    }
    for (uint32_t row = 0; l->scores && row < c->nodes->n; row++)
        l->scores[row] = l->scores[row] ? score_of(l->scores[row], max) : 0;
    l->generation = images_generation(s);
}

/* ---- the plugin ------------------------------------------------------------------------------ */

/* Where no node has an image all scores are zero, and only people want to see them. */
static enum ks_code image_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_texts *why)
{
    struct locality *l = locality_new(p->pod, c->arena);

    (void)why;
    images_sync(self, c->nodes);
    make_scores(self, c, l);
    *ret_state = l;
    return l->scores || c->complete ? KS_SUCCESS : KS_SKIP;
}

/* The scores of all nodes change when an image of the pod comes to one of them, or leaves it. */
static bool image_refresh(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          const struct ks_dirty *d, bool *skip)
{
    struct locality *l = c->state;

    (void)p, (void)d, (void)skip;
    images_sync(self, c->nodes);
    if (l->generation == images_generation(self))
        return true;
    for (uint32_t i = 0; i < l->n; i++)
        if (changed_of(self, l->items[i].name) != l->items[i].changed)
            return false;
    l->generation = images_generation(self);
    return true;
}

static void image_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, int64_t *restrict out)
{
    const struct locality *l = c->state;

    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = l->scores ? l->scores[i] : 0;
}

const struct ks_plugin ks_plugin_image_locality = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "ImageLocality",
    .reuse = KS_REUSE_LOCAL,
    .points = KS_AT(SCORE),
    .create = image_create,
    .destroy = image_destroy,
    .refresh = image_refresh,
    .pre_score = image_pre_score,
    .score = image_score,
};
