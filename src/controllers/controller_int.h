/* controller_int.h - inside the room: what batches and controllers know of each other. */
#ifndef KOORD_CONTROLLERS_CONTROLLER_INT_H
#define KOORD_CONTROLLERS_CONTROLLER_INT_H
#include "base/map.h"
#include "controllers/controller.h"

struct watched {
    struct informer *inf;
    const struct informer_handler *h; /* NULL: only read */
    void *arg;
    struct subscription *news, *sync; /* while the controller acts */
};
struct controller {
    struct controllers *all;
    struct controller *next;
    struct controller_opts o;
    struct workqueue *queue; /* NULL while it does not act */
    struct batch *batches;   /* under way */
    struct vec_of(struct watched) watches;
    struct map written; /* key -> struct written: own writes that the cache does not show yet */
};
struct controllers {
    struct controller_env env;
    struct controller *first;
    struct controllers_stats stats;
    bool started;
};

/* The batch of a sync that begins; batch_close() when sync() has returned. */
struct batch *batch_new(struct controller *c, const char *key, struct kobj *obj, struct work *w);
void batch_close(struct batch *b);
/* Ends all batches of a controller: calls are cancelled, nobody is told. */
void batches_drop(struct controller *c);

/* The object of this key has this version by a write of the controller. */
void controller_wrote(struct controller *c, const char *key, const char *version);
#endif
