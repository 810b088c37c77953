/* agent.h - koordlet as a whole: states, collectors, predictions and reports, wired together.
 *
 * Everything starts at once and nobody blocks: a part that lacks something says what, on /readyz
 * and in the log, and goes on when it is there. Loop thread only.
 */
#ifndef KOORD_KOORDLET_AGENT_H
#define KOORD_KOORDLET_AGENT_H
#include "koordlet/facts/caps.h"
#include "koordlet/options.h"

struct agent;
struct kube;
struct kube_config;
struct loop;
struct metrics;
struct serve;

struct agent_env { /* borrowed */
    struct loop *loop;
    struct kube *kube;
    const struct kube_config *config;
    struct metrics *internal; /* of the process; the external registry is the agent's own */
    const struct koordlet_options *o;
};
int agent_new(const struct agent_env *env, struct agent **ret, struct kerr *err);
struct agent *agent_free(struct agent *a);
DEFINE_CLEANUP(agent_free, struct agent *)

/* /metrics, /internal-metrics, /external-metrics, /events, /capabilities and checks of health. */
void agent_serve(struct agent *a, struct serve *s);
void agent_start(struct agent *a);
/* In place of a start: when the pods are known, everything that an agent may have written is put
 * back; then done is called, with the number of files that were refused. */
void agent_restore(struct agent *a, void (*done)(void *arg, uint64_t refused), void *arg);
/* Writes what should survive, then calls done. Before agent_free() of one that was started. */
void agent_stop(struct agent *a, void (*done)(void *arg), void *arg);

/* What is not there yet, one line each; NULL behind the last. */
const char *agent_missing(const struct agent *a, size_t i);
#endif
