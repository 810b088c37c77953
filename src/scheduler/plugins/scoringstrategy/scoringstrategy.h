/* scoringstrategy.h - ScoringStrategy as Koordinator's plugins have it in their args
 * (api-config 4.2). */
#ifndef KOORD_SCHEDULER_SCORINGSTRATEGY_H
#define KOORD_SCHEDULER_SCORINGSTRATEGY_H
#include "json/schema.h"

struct scoring_weight {
    const char *name;
    int64_t weight;
};
struct scoring_strategy {
    const char *type;
    KLIST(struct scoring_weight) resources;
};
extern const struct kschema scoring_strategy_schema, scoring_weight_schema;

/* The weights; path: of the strategy, for messages. */
int scoring_strategy_check(const struct scoring_strategy *s, const char *path, struct kerr *err);
#endif
