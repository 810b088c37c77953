/* serve.h - what serve.c, status.c and finalize.c share: the definitions that are known. */
#ifndef KOORD_APISERVER_CRD_SERVE_H
#define KOORD_APISERVER_CRD_SERVE_H
#include "apiserver/crd/internal.h"
#include "apiserver/store/store.h"

struct loop;
struct finalizing;

struct definition {
    char *name; /* "widgets.ex.io", also the key of its objects in the store */
    char *group, *plural;
    struct kj_doc *names; /* spec.names */
    int64_t generation;   /* of the spec that is served */
    bool accepted;
    struct vec_of(char *) versions; /* served */
};

struct crds {
    struct apiserver *s;
    struct store_watch *watch;
    struct vec_of(struct definition *) defs;
    struct vec_of(struct finalizing *) finalizing;
    struct vec_of(struct api_call *) calls; /* the server's own, unanswered */
    bool stopping, started;                 /* started: all that is stored is served */
};

/* status.c: the reason and message when a name of `def` is taken; false: all are free. */
bool names_conflict(const struct crds *c, const struct definition *def, const char **ret_reason,
                    char message[160]);
/* Writes conditions and acceptedNames unless they are right already. */
void status_update(struct crds *c, const struct definition *def);

/* The newest stored form, committed or under way, and its revision. */
int definition_read(struct crds *c, const char *name, struct kj_doc **ret, uint64_t *ret_rev,
                    struct kerr *err);
/* Writes or deletes it, computed from that revision, with obj as its new or last state. */
int definition_put(struct crds *c, const char *name, struct kj_mdoc *d, struct kj_mval *obj,
                   uint64_t from, store_done_fn fn, void *arg, struct kerr *err);
int definition_remove(struct crds *c, const char *name, struct kj_mdoc *d, struct kj_mval *obj,
                      uint64_t from, store_done_fn fn, void *arg, struct kerr *err);

/* finalize.c: a definition that is being deleted: its objects are deleted, a page at a time; when
 * none is left it loses CRD_FINALIZER, and so goes. Does nothing when it is under way. */
void finalize_start(struct crds *c, const char *name);
/* The definition has gone. */
void finalize_stop(struct crds *c, const char *name);
void finalize_stop_all(struct crds *c);
#endif
