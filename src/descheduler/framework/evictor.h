/* evictor.h - one evictor for all plugins of a profile: filters, limits, dry run, memory of moves,
 * then the evict plugin. Internal to framework/; plugins see kd_filter() and kd_evict().
 */
#ifndef KOORD_DESCHEDULER_EVICTOR_H
#define KOORD_DESCHEDULER_EVICTOR_H
#include "descheduler/framework/profile.h"

struct instance { /* of a plugin in a profile */
    const struct kd_plugin *plugin;
    void *self;
};
struct kd_evictor {
    const struct kd_shared *shared;
    const char *profile;
    struct instance *const *filters; /* borrowed from the profile */
    uint32_t nfilters;
    struct instance *evict;
    const char *running; /* name of the plugin whose round it is; NULL: none */
    bool moving;         /* at the point Balance: the memory of moves counts */
};
bool evictor_filter(const struct kd_evictor *ev, const struct kd_view *v, const struct pod *p,
                    struct kd_why *why);
bool evictor_pre_filter(const struct kd_evictor *ev, const struct kd_view *v, const struct pod *p,
                        struct kd_why *why);

bool limiter_allows(const struct limiter *l, const struct pod *p, struct kd_why *why);
void limiter_add(struct limiter *l, const struct pod *p);
#endif
