/* serve.h - what serve.c, status.c and purge.c share: the definitions that are known. */
#ifndef KOORD_APISERVER_CRD_SERVE_H
#define KOORD_APISERVER_CRD_SERVE_H
#include "apiserver/crd/internal.h"
#include "apiserver/store/store.h"

struct loop;
struct purge;

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
    struct vec_of(struct purge *) purges;
    struct vec_of(struct api_call *) calls; /* the server's own, unanswered */
    bool stopping, started;                 /* started: all that is stored is served */
};

/* Looks at the newest stored form again; nothing happens when it is gone. */
void crds_resync(struct crds *c, const char *name);

/* status.c: the reason and message when a name of `def` is taken; false: all are free. */
bool names_conflict(const struct crds *c, const struct definition *def, const char **ret_reason,
                    char message[160]);
/* Writes conditions and acceptedNames unless they are right already. */
void status_update(struct crds *c, const struct definition *def);

/* purge.c: deletes all objects of a definition that is gone, a page a turn, then resyncs a
 * definition of that name. */
void purge_start(struct crds *c, const char *name);
bool purge_is_active(const struct crds *c, const char *name);
void purge_stop_all(struct crds *c);
#endif
