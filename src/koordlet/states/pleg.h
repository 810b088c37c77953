/* pleg.h - tells of pods and containers as their cgroups come and go, by inotify.
 *
 * One descriptor watches the root of a hierarchy (cpu on v1), the directories of all pods and of
 * the QoS classes; those may appear later, with either driver's names. A directory is listed after
 * its watch began, so nothing falls between. What is there at the start is known without being
 * told. Pods are watched themselves only when somebody asks for containers. Loop thread only.
 */
#ifndef KOORD_KOORDLET_PLEG_H
#define KOORD_KOORDLET_PLEG_H
#include "base/base.h"
#include "koordlet/kernel/host.h"

struct loop;
struct pleg;

/* IDs as in the names of the directories: on systemd with underscores. Members may be NULL. They
 * must not free the pleg. */
struct pleg_handler {
    void (*pod_added)(void *arg, const char *pod_id);
    void (*pod_deleted)(void *arg, const char *pod_id);
    void (*container_added)(void *arg, const char *pod_id, const char *container_id);
    void (*container_deleted)(void *arg, const char *pod_id, const char *container_id);
};
/* NULL when inotify cannot be used; it has been logged. Real loops only. */
struct pleg *pleg_new(struct loop *l, const struct host *h, const struct pleg_handler *on,
                      void *arg);
struct pleg *pleg_free(struct pleg *p);
DEFINE_CLEANUP(pleg_free, struct pleg *)

/* ---- the core, without inotify --------------------------------------------------------------- */

/* Paths are relative to the hierarchy's root, which is "". */
struct pleg_ops {
    int (*watch)(void *arg, const char *path); /* a number >= 0, or a negative errno */
    void (*unwatch)(void *arg, int wd);
    /* Calls fn for each directory in path, in any order. */
    void (*list)(void *arg, const char *path, void (*fn)(void *to, const char *name), void *to);
};
struct plegcore;
struct plegcore *plegcore_new(const struct pleg_ops *ops, void *ops_arg,
                              const struct pleg_handler *on, void *arg);
struct plegcore *plegcore_free(struct plegcore *c);
DEFINE_CLEANUP(plegcore_free, struct plegcore *)
/* Watches the root and all below that is there; -errno when the root cannot be watched. */
int plegcore_start(struct plegcore *c);
/* A directory came or went in the directory of wd. */
void plegcore_event(struct plegcore *c, int wd, bool created, const char *name);
void plegcore_gone(struct plegcore *c, int wd); /* the kernel dropped this watch */
void plegcore_rescan(struct plegcore *c);       /* events were lost */
#endif
