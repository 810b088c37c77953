/* server.c - timers of training, expiry and checkpoints. */
#include "koordlet/predict/server.h"

#include "base/klog.h"
#include "base/num.h"
#include "component/metrics.h"
#include "koordlet/metriccache/store.h"
#include "koordlet/predict/files.h"
#include "koordlet/states/snapshot.h"
#include "loop/loop.h"

/* Housekeeping follows the first training by this much, so that what is written is new. */
#define STEP_AFTER (2 * NSEC_PER_SEC)
#define STEP_EVERY (60 * NSEC_PER_SEC)
/* The first training waits for samples of node and pods, looking this often. */
#define FIRST_EVERY NSEC_PER_SEC
/* Less is what clocks do all the time. */
#define CLOCK_JUMP (60 * NSEC_PER_SEC)

struct predict_server {
    struct predict_env env;
    struct models *models;
    struct checkpoint_files *files;
    struct vec_of(struct pod_usage) usages;
    struct window cpu, memory;
    struct timer *training, *step;
    nsec_t started;      /* this and ages_from on the monotonic clock */
    nsec_t ages_from;    /* ages by the wall clock mean nothing before */
    nsec_t clock_offset; /* of the wall clock to the monotonic one, at the last step */
    bool trained;
};

static struct models_options models_options_of(const struct predict_options *o)
{
    return (struct models_options){
        .cpu_half_life = o->cpu_half_life,
        .memory_half_life = o->memory_half_life,
        .expiration = o->expiration,
        .checkpoint_interval = o->checkpoint,
    };
}

struct predict_server *predict_server_new(const struct predict_env *env)
{
    struct predict_server *s = xnew0(struct predict_server);
    const struct models_options o = models_options_of(env->o);

    s->env = *env;
    s->models = models_new(&o);
    s->files = checkpoint_files_new(env->loop, env->o->checkpoint_dir, env->metrics);
    return s;
}

struct predict_server *predict_server_free(struct predict_server *s)
{
    if (!s)
        return NULL;
    timer_cancel(s->training);
    timer_cancel(s->step);
    checkpoint_files_free(s->files);
    models_free(s->models);
    vec_fini(&s->usages);
    window_fini(&s->cpu);
    window_fini(&s->memory);
    free(s);
    return NULL;
}

void predict_server_stop(struct predict_server *s, void (*done)(void *arg), void *arg)
{
    s->training = timer_cancel(s->training);
    s->step = timer_cancel(s->step);
    checkpoint_files_stop(s->files, done, arg);
}

bool predict_server_trained(const struct predict_server *s)
{
    return s->trained;
}

const struct models *predict_server_models(const struct predict_server *s)
{
    return s->models;
}

struct reclaim_options predict_server_reclaim(const struct predict_server *s)
{
    return (struct reclaim_options){ s->env.o->cold_start, s->env.o->margin_percent };
}

/* ---- training -------------------------------------------------------------------------------- */

/* The 90th percentile of both over the last interval. */
static struct usage used(struct predict_server *s, enum metric_kind cpu, enum metric_kind memory,
                         const char *const *labels, int64_t from, int64_t to)
{
    struct usage u = { 0 };
    struct kerr err;

    window_reset(&s->cpu);
    window_reset(&s->memory);
    metriccache_query(s->env.mc, cpu, labels, from, to, &s->cpu);
    metriccache_query(s->env.mc, memory, labels, from, to, &s->memory);
    u.known = window_aggregate(&s->cpu, WINDOW_P90, &u.cpu, &err) == 0 &&
              window_aggregate(&s->memory, WINDOW_P90, &u.memory, &err) == 0;
    return u;
}

/* Classes and the system are what pods and node add up to, and the node's samples come a round
 * before those of pods: learned of one alone, they would be zeros and the whole node. Pods of which
 * nothing is to come (they ended) hold this up for one interval only. */
static bool is_measured(const struct predict_server *s, bool node, size_t pods)
{
    if (node && (pods > 0 || s->usages.n == 0))
        return true;
    return (node || pods > 0) && loop_mono(s->env.loop) - s->started >= s->env.o->training;
}

/* false: too little was measured yet, and nothing is learned of that. */
static bool train(struct predict_server *s)
{
    const struct podset *pods = snapshots_get(s->env.snapshots)->pods;
    nsec_t now = loop_wall(s->env.loop);
    int64_t to = now / NSEC_PER_MSEC, from = (now - s->env.o->training) / NSEC_PER_MSEC;
    struct usage node = used(s, M_NODE_CPU, M_NODE_MEMORY, NULL, from, to);
    size_t measured = 0;

    vec_clear(&s->usages);
    for (uint32_t i = 0; pods && i < pods->n; i++) {
        const struct npod *p = pods->pods[i];
        const char *const labels[] = { p->uid };
        struct usage u = used(s, M_POD_CPU, M_POD_MEMORY, labels, from, to);
        measured += u.known;
        vec_push(&s->usages, ((struct pod_usage){ p->uid, p->priority, u }));
    }
    if (!s->trained && !is_measured(s, node.known, measured))
        return false;
    models_train(s->models, now, s->usages.items, s->usages.n, node);
    return s->trained = true;
}

/* ---- expiry and checkpoints ------------------------------------------------------------------ */

static void on_dropped(void *arg, const char *uid)
{
    struct predict_server *s = arg;
    checkpoint_files_remove(s->files, uid);
}

static void save_due(struct predict_server *s)
{
    nsec_t now = loop_wall(s->env.loop);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const char *uid;
    struct kerr err;

    for (int64_t i = 0; i < s->env.o->checkpoint_max_per_step; i++) {
        if (!(uid = models_next_checkpoint(s->models, now)))
            break;
        strbuf_reset(&text);
        if (models_encode(s->models, uid, now, &text, &err) == 0)
            checkpoint_files_save(s->files, uid, text.data, text.len);
    }
    checkpoint_files_flush(s->files);
}

static nsec_t clock_offset(const struct loop *l)
{
    return loop_wall(l) - loop_mono(l);
}

/* What is still there gets a whole expiration to be trained in: the time before the start, and the
 * one that the clock left out, are nobody's age. */
static void count_ages_anew(struct predict_server *s)
{
    s->clock_offset = clock_offset(s->env.loop);
    s->ages_from = i64_add_sat(loop_mono(s->env.loop), s->env.o->expiration);
}

static void look_at_clock(struct predict_server *s)
{
    nsec_t now = clock_offset(s->env.loop), by = i64_sub_sat(now, s->clock_offset);

    s->clock_offset = now;
    if (by > CLOCK_JUMP || by < -CLOCK_JUMP)
        count_ages_anew(s);
}

static void on_step(struct loop *l, void *arg)
{
    struct predict_server *s = arg;

    s->step = loop_after(l, STEP_EVERY, on_step, s);
    look_at_clock(s);
    if (loop_mono(l) >= s->ages_from)
        models_expire(s->models, loop_wall(l), on_dropped, s);
    save_due(s);
}

static void on_training(struct loop *l, void *arg)
{
    struct predict_server *s = arg;

    s->training = NULL;
    bool trained = train(s);
    if (trained && !s->step)
        s->step = loop_after(l, STEP_AFTER, on_step, s);
    s->training = loop_after(l, trained ? s->env.o->training : FIRST_EVERY, on_training, s);
}

/* ---- start ----------------------------------------------------------------------------------- */

static bool is_ours(const struct predict_server *s, const char *uid)
{
    static const enum priority_class classes[] = { PRIO_PROD, PRIO_MID, PRIO_BATCH, PRIO_FREE,
                                                   PRIO_NONE };
    const struct podset *pods = snapshots_get(s->env.snapshots)->pods;

    if (streq(uid, MODEL_NODE) || streq(uid, MODEL_SYSTEM) || (pods && podset_find(pods, uid)))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (streq(uid, model_of_class(classes[i])))
            return true;
    return false;
}

/* 0: loaded; otherwise the file is of no use and goes. */
static int restore(void *arg, const char *uid, const char *text, size_t n, struct kerr *err)
{
    struct predict_server *s = arg;

    if (!is_ours(s, uid))
        return kerr_set(err, -ENOENT, "no pod of this UID");
    return models_decode(s->models, uid, text, n, err);
}

void predict_server_start(struct predict_server *s)
{
    if (s->training)
        return;
    s->started = loop_mono(s->env.loop);
    count_ages_anew(s);
    checkpoint_files_restore(s->files, restore, s);
    s->training = loop_after(s->env.loop, 0, on_training, s);
}
