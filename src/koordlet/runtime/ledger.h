/* ledger.h - by which path each container got what the hooks gave it, and how long after its start.
 *
 * Hooks that silently do not work show here: all containers come by the reconciler then. Entries
 * go with their containers, and are bounded. Loop thread only.
 */
#ifndef KOORD_KOORDLET_RUNTIME_LEDGER_H
#define KOORD_KOORDLET_RUNTIME_LEDGER_H
#include "base/base.h"

struct loop;
struct metrics;
struct strbuf;

enum delivery_path {
    DELIVERED_NRI,         /* CreateContainer, before its start */
    DELIVERED_PROXY,       /* PreCreateContainerHook, likewise */
    DELIVERED_SYNCHRONIZE, /* it ran when koordlet connected to the runtime */
    DELIVERED_RECONCILE,   /* kernel files were written afterwards */
    DELIVERED_NOTHING,     /* no hook has anything for it */
    DELIVERY_PATHS
};

struct ledger;
struct ledger *ledger_new(struct loop *l, struct metrics *m, /* m NULL: none */
                          const char *node_name);
struct ledger *ledger_free(struct ledger *l);

struct delivered {
    const char *id; /* without the runtime's name */
    const char *ns, *pod, *container;
    enum delivery_path path;
    nsec_t after; /* its start; < 0: not known. 0 for what comes before the start */
};
/* The first path counts. */
void ledger_note(struct ledger *l, const struct delivered *d);
/* A container of this name was answered for before it had an ID; the next of that name that runs
 * is that one. */
void ledger_expect(struct ledger *l, const char *uid, const char *container);
bool ledger_take_expected(struct ledger *l, const char *uid, const char *container);
bool ledger_has(const struct ledger *l, const char *id);
/* Rounds over all containers of the node: begin, keep each that is there, end. An entry that was
 * there and then is missing in two rounds in a row is dropped. The kubelet hears later of a
 * container than we do, and rounds come fast while many start: one that was never there has a
 * minute. */
void ledger_round_begin(struct ledger *l);
void ledger_keep(struct ledger *l, const char *id);
void ledger_round_end(struct ledger *l);
void ledger_json(const struct ledger *l, struct strbuf *out); /* an array, sorted by pod */
#endif
