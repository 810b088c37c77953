/* args.h - from what a user wrote about a plugin to the struct that the plugin gets.
 *
 * The tables stand in the plugins' folders (struct ks_args in plugin.h). Loop thread.
 */
#ifndef KOORD_SCHEDULER_ARGS_H
#define KOORD_SCHEDULER_ARGS_H
#include "scheduler/framework/plugin.h"

/* A default of a table's line: ARGS_DEFAULT(def_10, "10"); ... .meta = &def_10 */
#define ARGS_DEFAULT(name, json) static const struct kmeta name = { .def = (json) }

/* Decoded strictly, defaulted, checked. given NULL: nothing was written. Messages begin with the
 * field. Everything lies in the arena, and does not refer to `given`. */
int args_decode(const struct ks_args *t, const struct kj_val *given,
                const struct ks_args_context *c, struct arena *a, void **ret, struct kerr *err);
/* The same struct in another arena. */
void *args_copy(const struct ks_args *t, const void *args, struct arena *a);
#endif
