/* models.c - training and predictions. */
#include <math.h>

#include "base/num.h"
#include "koordlet/predict/models_int.h"

#define HOUR   (3600 * NSEC_PER_SEC)
#define MINUTE (60 * NSEC_PER_SEC)
enum { AHEAD_HALF_LIVES = 10 };

const char *model_of_class(enum priority_class c)
{
    static const char *const names[PRIO_COUNT] = {
        [PRIO_NONE] = "__node-__",           [PRIO_PROD] = "__node-koord-prod__",
        [PRIO_MID] = "__node-koord-mid__",   [PRIO_BATCH] = "__node-koord-batch__",
        [PRIO_FREE] = "__node-koord-free__",
    };
    return names[c];
}

struct models_options models_options_default(void)
{
    return (struct models_options){ .cpu_half_life = 12 * HOUR,
                                    .memory_half_life = 24 * HOUR,
                                    .expiration = 30 * MINUTE,
                                    .checkpoint_interval = 10 * MINUTE };
}

/* ---- life ------------------------------------------------------------------------------------ */

struct model *model_new(const struct models *m, const char *uid)
{
    struct histogram_options cpu = histogram_cpu(m->o.cpu_half_life);
    struct histogram_options memory = histogram_memory(m->o.memory_half_life);
    struct model *model = xnew0(struct model);

    *model = (struct model){ .uid = xstrdup(uid),
                             .cpu = histogram_new(&cpu, NULL),
                             .memory = histogram_new(&memory, NULL) };
    return model;
}

struct model *model_free(struct model *model)
{
    if (!model)
        return NULL;
    free(model->uid);
    histogram_free(model->cpu);
    histogram_free(model->memory);
    return mem_free(model);
}

struct models *models_new(const struct models_options *o)
{
    struct models *m = xnew0(struct models);
    assert(o->cpu_half_life > 0 && o->memory_half_life > 0);
    m->o = *o;
    return m;
}

struct models *models_free(struct models *m)
{
    if (!m)
        return NULL;
    map_foreach(&m->by_uid, e)
        model_free(e->value);
    map_fini(&m->by_uid);
    return mem_free(m);
}

size_t models_count(const struct models *m)
{
    return m->by_uid.n;
}

bool models_have(const struct models *m, const char *uid)
{
    return map_getz(&m->by_uid, uid) != NULL;
}

/* ---- training -------------------------------------------------------------------------------- */

/* The clock was far ahead, and was set right: what was learned then would outweigh all that is to
 * come. */
static bool is_ahead(const struct models *m, const struct model *model, nsec_t now)
{
    return i64_sub_sat(model->updated, now) / AHEAD_HALF_LIVES > m->o.cpu_half_life;
}

static void train(struct models *m, const char *uid, double cpu, double memory, nsec_t now)
{
    struct model *model = map_getz(&m->by_uid, uid);

    if (model && is_ahead(m, model, now)) {
        map_removez(&m->by_uid, uid);
        model = model_free(model);
    }
    if (!model) {
        model = model_new(m, uid);
        map_putz(&m->by_uid, model->uid, model);
    }
    histogram_add(model->cpu, cpu, 1, now);
    histogram_add(model->memory, memory, 1, now);
    model->updated = now;
}

static void usage_add(struct usage *sum, struct usage u)
{
    sum->cpu += u.cpu;
    sum->memory += u.memory;
}

void models_train(struct models *m, nsec_t now, const struct pod_usage *pods, size_t n,
                  struct usage node)
{
    struct usage classes[PRIO_COUNT] = { 0 }, all = { 0 };

    for (size_t i = 0; i < n; i++) {
        if (!pods[i].used.known)
            continue;
        train(m, pods[i].uid, pods[i].used.cpu, pods[i].used.memory, now);
        usage_add(&classes[pods[i].class], pods[i].used);
        usage_add(&all, pods[i].used);
    }
    if (node.known)
        train(m, MODEL_NODE, node.cpu, node.memory, now);
    else
        node = (struct usage){ 0 };
    for (int c = 0; c < PRIO_COUNT; c++)
        train(m, model_of_class((enum priority_class)c), classes[c].cpu, classes[c].memory, now);
    train(m, MODEL_SYSTEM, fmax(node.cpu - all.cpu, 0), fmax(node.memory - all.memory, 0), now);
}

/* One that expired, or NULL. */
static struct model *find_expired(const struct models *m, nsec_t now)
{
    map_foreach(&m->by_uid, e) {
        struct model *model = e->value;
        nsec_t age = i64_sub_sat(now, model->updated);
        /* Below zero: it was trained by a clock that was set back since. */
        if (age > m->o.expiration || age < -m->o.expiration)
            return model;
    }
    return NULL;
}

void models_expire(struct models *m, nsec_t now, models_drop_fn fn, void *arg)
{
    for (struct model *old; (old = find_expired(m, now));) {
        if (fn)
            fn(arg, old->uid);
        map_removez(&m->by_uid, old->uid);
        model_free(old);
    }
}

/* ---- predictions ----------------------------------------------------------------------------- */

static struct amounts predict_at(const struct model *model, double p)
{
    return (struct amounts){
        .cpu = i64_from_f64(histogram_percentile(model->cpu, p) * 1000),
        .memory = i64_from_f64(histogram_percentile(model->memory, p)),
    };
}

int models_predict(const struct models *m, const char *uid, struct prediction *ret,
                   struct kerr *err)
{
    const struct model *model = map_getz(&m->by_uid, uid);

    if (!model)
        return kerr_set(err, -ENOENT, "UID %s not found in predict server", uid);
    *ret = (struct prediction){ .p60 = predict_at(model, 0.6),
                                .p90 = predict_at(model, 0.9),
                                .p95 = predict_at(model, 0.95),
                                .p98 = predict_at(model, 0.98),
                                .max = predict_at(model, 1) };
    return 0;
}

static int predict(const void *arg, const char *uid, struct prediction *ret, struct kerr *err)
{
    return models_predict(arg, uid, ret, err);
}

struct predictor models_predictor(const struct models *m)
{
    return (struct predictor){ predict, m };
}
