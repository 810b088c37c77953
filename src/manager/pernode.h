/* pernode.h - controllers that keep one object for each node: named like it, made and deleted with
 * it, with a spec that follows from the node and the configuration (manager 3 and 6).
 */
#ifndef KOORD_MANAGER_PERNODE_H
#define KOORD_MANAGER_PERNODE_H
#include "manager/manager_int.h"

struct pernode;

struct pernode_opts {
    const char *name;           /* "nodemetric" */
    struct informer *objects;   /* cluster-scoped, by the names of nodes */
    const struct kschema *spec; /* its table */
    const struct metric_desc *reconciled;
    const char *create_failed, *update_failed, *delete_failed; /* reasons in that metric */
    /* Nothing is written before; NULL: at once. */
    bool (*ready)(void *self);
    /* The spec of an object. */
    const void *(*spec_of)(const struct kobj *o);
    /* The spec that the object of this node should have; NULL: leave it as it is. obj: as it is
     * now; NULL: it is to be made, and needs a spec. */
    const void *(*render)(void *self, const struct kobj *node, const struct kobj *obj,
                          struct arena *a);
    void *self;
};
struct pernode *pernode_new(struct manager *m, const struct pernode_opts *o); /* must live on */
struct pernode *pernode_free(struct pernode *p);
/* The configuration changed: all nodes are looked at, over a while. */
void pernode_on_config(struct pernode *p);
/* One node is to be looked at. */
void pernode_add(struct pernode *p, const char *node);
#endif
