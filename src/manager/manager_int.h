/* manager_int.h - what the controllers of the manager share. */
#ifndef KOORD_MANAGER_MANAGER_INT_H
#define KOORD_MANAGER_MANAGER_INT_H
#include "component/metrics.h"
#include "controllers/controller.h"
#include "manager/manager.h"
#include "manager/sloconfig/sloconfig.h"

struct configwatch;
struct nodemetric_controller;
struct noderesource_controller;
struct nodeslo_controller;
struct profile_controller;
struct quotaprofile_controller;

/* How often each outcome came: status and reason. */
struct outcomes {
    struct metric *metric; /* NULL: not counted */
};
void outcomes_init(struct outcomes *o, struct metrics *m, const struct metric_desc *d);
void outcomes_ok(struct outcomes *o);
void outcomes_failed(struct outcomes *o, const char *reason);

struct manager {
    struct loop *loop;
    struct kube *kube;
    struct manager_opts o; /* texts are the manager's */
    char *ns, *config_ns, *config_name, *rules_ns, *rules_name;
    struct metrics *own_metrics; /* when the caller counts nothing */
    struct caches *caches;
    struct controllers *controllers;
    struct recorder *events;
    struct sloconfig *config;
    struct configwatch *watch;
    struct informer *nodes, *metrics, *pods, *slos, *topologies, *devices; /* NULL: not needed */
    struct nodemetric_controller *nodemetric;
    struct noderesource_controller *noderesource;
    struct nodeslo_controller *nodeslo;
    struct profile_controller *profile_controller;
    struct quotaprofile_controller *quotaprofile;
    struct manager_hooks *hooks; /* NULL: neither webhooks nor profiles */
    bool leading;
};

struct nodemetric_controller *nodemetric_controller_new(struct manager *m);
struct nodemetric_controller *nodemetric_controller_free(struct nodemetric_controller *c);
struct nodeslo_controller *nodeslo_controller_new(struct manager *m);
struct nodeslo_controller *nodeslo_controller_free(struct nodeslo_controller *c);
struct noderesource_controller *noderesource_controller_new(struct manager *m);
struct noderesource_controller *noderesource_controller_free(struct noderesource_controller *c);

struct profile_controller *profile_controller_new(struct manager *m); /* m has its hooks */
struct profile_controller *profile_controller_free(struct profile_controller *c);
struct quotaprofile_controller *quotaprofile_controller_new(struct manager *m);
struct quotaprofile_controller *quotaprofile_controller_free(struct quotaprofile_controller *c);

/* The keys of all nodes, over a time that grows with their number, so that a change of the
 * configuration does not come to all of them in one moment. */
void manager_add_nodes(struct manager *m, struct controller *c);
/* The configuration changed: keys are bits 1 << enum slo_key. */
void nodemetric_on_config(struct nodemetric_controller *c, unsigned keys);
void nodeslo_on_config(struct nodeslo_controller *c, unsigned keys);
void noderesource_on_config(struct noderesource_controller *c, unsigned keys);

/* What the node gives less because it is in trouble; obj: its NodeSLO, where that is kept over
 * restarts; NULL: it has none. */
struct nr_cut;
struct nodeslo;
struct nr_cut noderesource_cut(struct noderesource_controller *c, const char *node,
                               const struct nodeslo *obj);
/* That changed: the NodeSLO is to be looked at. */
void nodeslo_add(struct nodeslo_controller *c, const char *node);

/* configwatch.c: keeps manager->config equal to the ConfigMap, and tells. */
struct configwatch *configwatch_new(struct manager *m);
struct configwatch *configwatch_free(struct configwatch *w);
/* We lead: what is wrong with the configuration is told once more. */
void configwatch_lead(struct configwatch *w);
bool configwatch_ready(const struct configwatch *w);
/* What the ConfigMap says; NULL: there is none. */
const kstrmap *configwatch_data(const struct configwatch *w);
/* The controller's syncs wait until it is known what the ConfigMap says. */
void configwatch_before(struct configwatch *w, struct controller *c);

bool same_strmap(const kstrmap *a, const kstrmap *b);
#endif
