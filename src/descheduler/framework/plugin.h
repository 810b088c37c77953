/* plugin.h - the contract between the descheduler and its plugins.
 *
 * Extension points and names are those of Koordinator and of Kubernetes' descheduler: Deschedule
 * and Balance look for pods that had better run elsewhere, Filter and PreEvictionFilter say which
 * pods may be touched, Evict does it. There is one evictor for all, whoever asks: it filters,
 * counts against the limits of the configuration, honours a dry run, and calls the profile's evict
 * plugin.
 *
 * A plugin reads the cluster through a view (view.h): objects that do not change while a round
 * lasts. It writes nothing but by kd_evict(), unless it is the evict plugin. A member that is NULL
 * takes no part. Everything handed to a plugin is borrowed for the call, unless said otherwise.
 * Loop thread only.
 *
 * A plugin is compiled in and stands in config/registry.c; `abi` and `size` come first so that
 * loading by dlopen can be added later without breaking anybody. docs/descheduler-plugins.md is a
 * guide with an example that is compiled.
 */
#ifndef KOORD_DESCHEDULER_PLUGIN_H
#define KOORD_DESCHEDULER_PLUGIN_H
#include "base/base.h"
#include "descheduler/framework/view.h"
#include "json/schema.h"

struct arena;
struct caches;
struct delete_options;
struct gates;
struct kd_evictor;
struct kind;
struct kube;
struct loop;
struct metrics;
struct pod;
struct recorder;

enum { KD_PLUGIN_ABI = 1 };

/* ---- what a configuration may say about a plugin ---------------------------------------------- */

enum kd_point { KD_DESCHEDULE, KD_BALANCE, KD_EVICT, KD_FILTER, KD_POINTS };
extern const char *const kd_point_names[KD_POINTS]; /* "deschedule", ... */

struct kd_args_context { /* other parts of the configuration that args may depend on */
    nsec_t interval;     /* deschedulingInterval */
};
struct kd_args {                  /* pluginConfig.args; the plugin's folder has the table */
    const struct kschema *schema; /* of the struct that create() gets */
    /* Defaults that the table cannot express; after the table's. May be NULL. */
    void (*fill)(void *args, const struct kd_args_context *c, struct arena *a);
    /* Checks that the table cannot express, and what is made of the args, in their arena (compiled
     * selectors). A message begins with the field's path. May be NULL. */
    int (*check)(void *args, struct arena *a, struct kerr *err);
};

/* ---- what a plugin may keep for life ---------------------------------------------------------- */

/* Could the scheduler place a pod like this one, if it were not where it is? By the scheduler's own
 * attempt, which main wires in. Writes nothing. */
struct kd_placement {
    const char *node; /* NULL: nowhere; good until the next call */
    char why[256];    /* then: the scheduler's reasons */
};
struct kd_placer {
    /* -EAGAIN: cannot be told at this moment. */
    int (*place)(void *arg, const struct pod *p, struct kd_placement *ret);
    void *arg;
};

struct kd_env {
    struct loop *loop;
    struct kube *kube;
    /* To ask for informers of kinds that kd_plugin.kinds does not name, in create(). */
    struct caches *caches;
    struct recorder *events;
    struct metrics *metrics;   /* the program's; never NULL */
    const struct gates *gates; /* of gates.h, for kd_gate() */
    const char *profile;       /* name of the profile, and its place in the file */
    unsigned profile_index;
    struct kd_evictor *evictor;     /* the profile's: for kd_evict_now(), kd_view_now() */
    const struct kd_placer *placer; /* NULL: there is no scheduler to ask */
};
/* descheduler_pods_evicted{result, strategy, namespace, node}: for evict plugins, when they know
 * what became of it. result: "success", "error", or a limit. */
void kd_count(const struct kd_env *env, const char *result, const char *strategy,
              const struct pod *p);

/* ---- evicting --------------------------------------------------------------------------------- */

/* Why a pod stays where it is, for people: the first text counts. NULL is fine everywhere. */
struct kd_why {
    char text[192];
};
/* Always false, so that a filter can end with it. */
bool kd_no(struct kd_why *w, const char *fmt, ...) PRINTF(2, 3);

struct kd_eviction {
    const char *plugin;                          /* who asks; NULL: the plugin that runs */
    const char *reason;                          /* for people; NULL or "": none */
    const struct delete_options *delete_options; /* NULL: the evict plugin's */
};

/* One run of a plugin's deschedule() or balance(). */
struct kd_round {
    const struct kd_view *view;
    const uint32_t *nodes; /* those of the profile, as numbers of the view's nodes; rising */
    uint32_t nnodes;
    nsec_t now;          /* wall clock, of the round */
    struct arena *arena; /* lives until the plugin has finished its part of the round */
    bool dry_run;        /* nothing must be written, whatever the plugin does beside evicting */
    /* Somebody asks what would be done now: what several rounds must agree on counts as agreed. */
    bool at_once;
    /* The plugin's own between the calls of one round; NULL at first. */
    void *state;
    struct kd_evictor *evictor;
};
/* All filter plugins of the profile let it go. */
bool kd_filter(struct kd_round *r, const struct pod *p);
bool kd_pre_eviction_filter(struct kd_round *r, const struct pod *p);
/* False: a limit, the memory of moves or the evict plugin refuses; go on with another pod. True:
 * accepted, and counted. The call to the API server follows; should it fail, that is counted and
 * told by an event, and a later round decides again. */
bool kd_evict(struct kd_round *r, const struct pod *p, const struct kd_eviction *e);

/* An eviction of the pod by this name was accepted and is not over, or it was evicted after this
 * time (wall). What it uses is free, or will be before long, whatever was measured then. */
bool kd_leaving(const struct kd_round *r, const char *ns, const char *name, nsec_t since);
/* When a pod of this one's workload was last moved away from a node to relieve it; 0: not known.
 * Among equals, the one moved longest ago goes first. */
nsec_t kd_last_move(const struct kd_round *r, const struct pod *p);
/* What the plugin makes of a node ("high", "low"), and why, for people who asked (koordctl
 * rebalance). Costs nothing otherwise. */
void kd_tell_node(const struct kd_round *r, uint32_t node, const char *class, const char *fmt, ...)
    PRINTF(4, 5);

/* The same outside of rounds, for plugins that are controllers and evict on events: filters and
 * limits are those of rounds, and the limits count anew with every round. e->plugin is needed. */
bool kd_evict_now(struct kd_evictor *ev, const struct pod *p, const struct kd_eviction *e,
                  struct kd_why *why);
/* The cluster at this moment, to be freed with kd_view_free(). */
struct kd_view *kd_view_now(struct kd_evictor *ev);

/* ---- the plugin ------------------------------------------------------------------------------- */

struct kd_plugin {
    uint32_t abi, size;
    const char *name;
    const struct kd_args *args; /* NULL: it has none */
    /* Read through the view, besides nodes and pods; end with NULL. NULL: none. */
    const struct kind *const *kinds;
    /* Those of them without which it works too: where the server does not have the kind, or does
     * not let us read it, nobody waits for its objects. */
    const struct kind *const *optional;

    /* args: the struct of args->schema, with defaults and checked; it lives until the next
     * update() or the end. NULL for a plugin without args. ret_self may stay NULL. */
    int (*create)(const struct kd_env *env, const void *args, void **ret_self, struct kerr *err);
    void (*destroy)(void *self); /* stopped before */
    /* The configuration was read again: the instance of the profile of the same name goes on with
     * these args. Must not fail. NULL: it is destroyed, and another one is created. */
    void (*update)(void *self, const void *args);
    /* What it asked for in create() besides kinds has come, or will not. NULL: there is nothing. */
    bool (*ready)(const void *self);
    /* We lead, and the caches are complete: controllers act from now on. And the reverse. */
    void (*start)(void *self);
    void (*stop)(void *self);

    /* A round. 0: done. 1: to be called once more, in a later turn of the loop: who looks at
     * thousands of pods does a part at a time (10 ms at most). Negative: it failed, and so did the
     * round. */
    int (*deschedule)(void *self, struct kd_round *r, struct kerr *err);
    int (*balance)(void *self, struct kd_round *r, struct kerr *err);

    /* May this pod be evicted at all? Asked for many pods: quick. */
    bool (*filter)(void *self, const struct kd_view *v, const struct pod *p, struct kd_why *why);
    /* Asked once more of a pod that was chosen. */
    bool (*pre_eviction_filter)(void *self, const struct kd_view *v, const struct pod *p,
                                struct kd_why *why);
    /* Limits and filters have been looked at, and it is no dry run. e is complete. False: refused,
     * and nothing will happen. True: it is on its way; kd_count() says later what became of it. */
    bool (*evict)(void *self, const struct kd_view *v, const struct pod *p,
                  const struct kd_eviction *e, struct kd_why *why);
    /* kd_leaving(). Quick. NULL: it does not know. */
    bool (*leaving)(void *self, const char *ns, const char *name, nsec_t since);
};
#endif
