/* models_int.h - the body of a model, for its own files. */
#ifndef KOORD_KOORDLET_MODELS_INT_H
#define KOORD_KOORDLET_MODELS_INT_H
#include "base/map.h"
#include "koordlet/predict/histogram.h"
#include "koordlet/predict/models.h"

struct model {
    char *uid;
    struct histogram *cpu, *memory;
    nsec_t updated, checkpointed; /* 0: never */
};
struct models {
    struct models_options o;
    struct map by_uid;
};

struct model *model_new(const struct models *m, const char *uid);
struct model *model_free(struct model *model);
DEFINE_CLEANUP(model_free, struct model *)
#endif
