/* service_table.h - the services that exist, and who uses them (service.h is the contract).
 *
 * One table per scheduler. A profile holds a reference on each service that its plugins provide; a
 * service ends with the last one. Loop thread.
 */
#ifndef KOORD_SCHEDULER_FRAMEWORK_SERVICE_TABLE_H
#define KOORD_SCHEDULER_FRAMEWORK_SERVICE_TABLE_H
#include "scheduler/framework/service.h"

struct arena;
struct controllers;
struct ks_plugin;
struct service_table;

struct service_instance {
    const struct ks_service *key;
    void *self;
    const struct ks_plugin *plugin; /* that provides it */
    struct arena *arena;
    void *args; /* of that plugin; NULL: it has none */
    struct service_table *of;
    struct service_instance *next; /* in the order of their making */
    uint32_t refs;
    bool hears; /* it was told of all pods that there are, and is told of changes */
    struct controllers *controllers; /* NULL: it has no controller, or it does not run */
    void *controller;                /* what its start() made */
};
struct service_table *service_table_new(void);
/* Nobody uses one any more. NULL is fine; always returns NULL. */
struct service_table *service_table_free(struct service_table *t);
DEFINE_CLEANUP(service_table_free, struct service_table *)
/* Somebody who must know before a service is destroyed. */
void service_table_on_end(struct service_table *t,
                          void (*fn)(void *arg, struct service_instance *s), void *arg);
struct service_instance *service_table_first(const struct service_table *t); /* then ->next */

/* What one profile uses. */
enum { SERVICES_MAX = 32 };
struct service_set {
    struct service_instance *items[SERVICES_MAX];
    uint32_t n;
};
/* The service that a plugin provides under this key; it is made when there is none that does for
 * the plugin's args. These are copied. */
int service_set_add(struct service_set *set, struct service_table *t, const struct ks_service *key,
                    const struct ks_plugin *plugin, const void *args, const struct ks_env *env,
                    struct kerr *err);
void service_set_fini(struct service_set *set);

/* ---- pods ------------------------------------------------------------------------------------ */

bool services_listen(const struct service_table *t); /* is there anybody to tell? */
/* Is there a service that has not been told of the pods yet? */
bool services_wait_for_pods(const struct service_table *t);
/* These are all. node: where a pod is assumed; NULL: it is not. Sorts them. */
struct service_pod {
    const struct pod *pod;
    const char *node;
};
void services_tell_all(const struct service_table *t, struct service_pod *pods, size_t n);
/* A new state of a pod, which may have ended with it. before: the state before, or NULL. */
void services_tell(const struct service_table *t, const struct pod *before, const struct pod *now);
void services_tell_gone(const struct service_table *t, const struct pod *last);
void services_tell_assumed(const struct service_table *t, const struct pod *p, const char *node);
void services_tell_forgotten(const struct service_table *t, const struct pod *p, const char *node);
/* ---- nodes ----------------------------------------------------------------------------------- */

/* before NULL: it is new; now NULL: it went. */
void services_tell_node(const struct service_table *t, const struct node *before,
                        const struct node *now);
#endif
