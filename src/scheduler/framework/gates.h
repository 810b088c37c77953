/* gates.h - the feature gates of koord-scheduler: kube-scheduler's and Koordinator's.
 *
 * Plugins ask by name, through ks_gate() (plugin.h). What is on is decided once, at the start of
 * the program.
 */
#ifndef KOORD_SCHEDULER_FRAMEWORK_GATES_H
#define KOORD_SCHEDULER_FRAMEWORK_GATES_H
#include "component/gates.h"

struct kind;
struct ks_plugin;

extern const struct gate ks_gates[]; /* for gates_init() */
extern const size_t ks_ngates;

/* g was made from the table; NULL: nobody has switched anything. The gate must exist. */
bool ks_gate_on(const struct gates *g, const char *name);
/* Does the plugin read this kind of its, with these gates? */
bool ks_reads_kind(const struct ks_plugin *p, const struct kind *k, const struct gates *g);
#endif
