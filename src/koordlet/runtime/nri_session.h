/* nri_session.h - one connection to a runtime's NRI: registered, configured, then asked
 * (runtime-proxy 6.4, 6.5).
 *
 * Speaks the protocol over any stream and decides nothing: what to answer is asked of the handlers,
 * each at once. A part of a Synchronize that others follow is kept. Loop thread only; no event
 * comes from inside a call. The handlers may not free the session.
 */
#ifndef KOORD_KOORDLET_RUNTIME_NRI_SESSION_H
#define KOORD_KOORDLET_RUNTIME_NRI_SESSION_H
#include "api/wire/nri.h"

struct loop;
struct nri_session;
struct stream;

/* All parts of a Synchronize together. */
struct nri_inventory {
    const struct nri_pod **pods;
    const struct nri_container **containers;
    size_t npods, ncontainers;
};
struct nri_handlers {
    void (*run_pod)(void *arg, const struct nri_pod *p);
    void (*remove_pod)(void *arg, const struct nri_pod *p);
    /* Answers are made in the arena. Negative: the runtime gets the error. */
    int (*create)(void *arg, const struct nri_pod *p, const struct nri_container *c,
                  struct arena *a, struct nri_adjustment *ret, struct kerr *err);
    int (*update)(void *arg, const struct nri_pod *p, const struct nri_container *c,
                  const struct nri_resources *asked, struct arena *a, nri_updates *ret,
                  struct kerr *err);
    void (*synchronize)(void *arg, const struct nri_inventory *all, struct arena *a,
                        nri_updates *ret);
    /* Configure was answered: the runtime goes on with Synchronize. */
    void (*ready)(void *arg, struct str runtime_name, struct str runtime_version);
    /* The last event: the connection is gone, or of no use. */
    void (*closed)(void *arg, const struct kerr *why);
};
struct nri_session_opts {
    struct loop *loop;
    const char *name, *index; /* "koordlet_nri", "00" */
    int events;               /* mask of NRI_BIT() with handlers */
    nsec_t register_timeout;  /* 0: 5 s */
};
/* Takes the stream over. */
struct nri_session *nri_session_new(const struct nri_session_opts *o, struct stream *s,
                                    const struct nri_handlers *on, void *arg);
struct nri_session *nri_session_free(struct nri_session *s); /* closes; NULL is fine */

/* The mask that a configuration in YAML asks for, {events: [names]}; handled: what there are
 * handlers for, and the answer to an empty configuration. */
int nri_events_parse(struct str config, int handled, int *ret, struct kerr *err);
#endif
