/* delivery_int.h - the body of delivery.h, for its files. */
#ifndef KOORD_KOORDLET_RUNTIME_DELIVERY_INT_H
#define KOORD_KOORDLET_RUNTIME_DELIVERY_INT_H
#include "koordlet/runtime/delivery.h"
#include "koordlet/runtime/ledger.h"
#include "koordlet/runtime/nri_session.h"
#include "koordlet/runtime/request.h"

struct hookserver;
struct newpods;
struct nri_link;
struct stream;

struct delivery {
    struct delivery_env env;
    struct hook_runner runner;
    bool off[HOOK_STAGES]; /* runtime-hooks-disable-stages */
    struct ledger *ledger;
    struct newpods *newpods;
    struct nri_link *nri; /* NULL: switched off */
    struct hookserver *server;
    bool listening;
    struct timer *wait, *regular; /* for the rules; looks at all containers */
    nsec_t started;
};

/* Hooks of the stage for what is in the context; nothing when the stage is switched off. */
int delivery_run(struct delivery *d, enum hook_stage s, struct hook_context *c, struct kerr *err);
/* The stage has hooks, and is not switched off. */
bool delivery_has(const struct delivery *d, enum hook_stage s);
/* A pod starts: its hooks run, and what they want of its files is proposed. */
int delivery_run_pod(struct delivery *d, const struct asked_pod *p, struct hook_context *c,
                     struct kerr *err);
void delivery_remove_pod(struct delivery *d, const struct asked_pod *p);

/* ---- pods that the kubelet has not told of yet: newpods.c ------------------------------------- */

struct newpods *newpods_new(const struct delivery_env *env);
struct newpods *newpods_free(struct newpods *n);
void newpods_add(struct newpods *n, const struct hook_context *c);
void newpods_remove(struct newpods *n, const char *uid);

/* ---- NRI: nri.c, nri_answers.c ----------------------------------------------------------------- */

extern const struct nri_handlers nri_answers; /* but ready and closed; arg: struct delivery */
struct nri_link *nri_link_new(struct delivery *d);
struct nri_link *nri_link_free(struct nri_link *l);
void nri_link_start(struct nri_link *l);
bool nri_link_connected(const struct nri_link *l, char *why, size_t size);

/* ---- the hook server: hookserver.c ------------------------------------------------------------- */

struct hookserver *hookserver_new(struct delivery *d);
int hookserver_listen(struct hookserver *s, struct kerr *err);
/* Tells the proxy where we listen, by a file; again when its directory appears or loses the file.
 */
void hookserver_announce(struct hookserver *s);
void hookserver_serve(struct hookserver *s, struct stream *stream);
struct hookserver *hookserver_free(struct hookserver *s);
#endif
