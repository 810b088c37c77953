/* models.h - what pods, priority classes, the node and the system used, learned over time.
 *
 * A model is a CPU and a memory histogram under a UID: a pod's, or one of the node's own names.
 * One training round a minute adds a sample to each. Does no I/O: files of checkpoints are the
 * caller's. Loop thread only; times are wall nanoseconds. A round allocates for new pods only.
 */
#ifndef KOORD_KOORDLET_MODELS_H
#define KOORD_KOORDLET_MODELS_H
#include "api/protocol/protocol.h"
#include "base/strbuf.h"

#define MODEL_NODE   "__node__"
#define MODEL_SYSTEM "__node-sys__"
enum { MODEL_UID_MAX = 256 };
/* "__node-koord-prod__"; PRIO_NONE: "__node-__". */
const char *model_of_class(enum priority_class c);

struct models_options {
    nsec_t cpu_half_life, memory_half_life;
    nsec_t expiration;          /* a model that is not trained for longer is dropped */
    nsec_t checkpoint_interval; /* a model is saved no sooner again */
};
struct models_options models_options_default(void);

struct models;
struct models *models_new(const struct models_options *o);
struct models *models_free(struct models *m);
DEFINE_CLEANUP(models_free, struct models *)
size_t models_count(const struct models *m);
bool models_have(const struct models *m, const char *uid);

/* ---- training -------------------------------------------------------------------------------- */

struct usage {
    bool known; /* false: there are no samples in the round's window */
    double cpu; /* cores */
    double memory;
};
struct pod_usage {
    const char *uid;
    enum priority_class class; /* with default */
    struct usage used;
};
void models_train(struct models *m, nsec_t now, const struct pod_usage *pods, size_t n,
                  struct usage node);

/* Drops what expired. Each UID goes to fn, which may be NULL, while it is still good. */
typedef void (*models_drop_fn)(void *arg, const char *uid);
void models_expire(struct models *m, nsec_t now, models_drop_fn fn, void *arg);

/* ---- predictions ----------------------------------------------------------------------------- */

struct amounts {
    int64_t cpu; /* milli-cores */
    int64_t memory;
};
struct prediction {
    struct amounts p60, p90, p95, p98, max;
};
/* -ENOENT: "UID X not found in predict server". */
/* Where predictions come from: the models, or round numbers of a test. */
struct predictor {
    int (*predict)(const void *arg, const char *uid, struct prediction *ret, struct kerr *err);
    const void *arg;
};
struct predictor models_predictor(const struct models *m);
int models_predict(const struct models *m, const char *uid, struct prediction *ret,
                   struct kerr *err);

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* The model that waits longest for its checkpoint, now taken for saved; NULL when none is due. */
const char *models_next_checkpoint(struct models *m, nsec_t now);
/* The text of a checkpoint, one JSON object and a newline. -ENOENT: no such model. */
int models_encode(const struct models *m, const char *uid, nsec_t now, struct strbuf *out,
                  struct kerr *err);
/* Makes the model of a checkpoint's text, replacing what is there. The UID inside is not looked at.
 * -EINVAL: cannot be read, nothing changed. A histogram that is refused stays empty, no error. */
int models_decode(struct models *m, const char *uid, const char *text, size_t n, struct kerr *err);
#endif
