/* get.h - what the parts of "koordctl get" share. */
#ifndef KOORD_CTL_GET_H
#define KOORD_CTL_GET_H
#include "api/kobj.h"
#include "base/arena.h"
#include "base/map.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/table.h"
#include "json/kj.h"

struct get_options {
    const char *selector, *field_selector;
    bool watch, watch_only, all_namespaces, no_headers, ignore_not_found, watch_events;
    int chunk;
};

struct get { /* one run of the command */
    struct ctl *c;
    const struct get_options *o;
    struct arena *arena;
    const char *word;   /* the kind, as it was written */
    const char **names; /* of objects; none: all */
    size_t nnames;
    const struct kind *kind;
    const char *ns;             /* NULL: cluster scope or all namespaces */
    const char *field_selector; /* the given one, or the name when one object is watched */
    const char *form;           /* table, wide, json, yaml, name */
    bool is_table;
    struct table table;
    char *version;   /* resourceVersion to watch from */
    struct map seen; /* while watching: "ns/name" -> struct seen */
    bool printed;    /* an object was printed: YAML needs a divider */
};

/* ---- objects.c: json, yaml and name ---------------------------------------------------------- */

/* apiVersion and kind, which list items lack; without metadata.managedFields, as kubectl does. */
struct kj_mval *object_complete(const struct get *g, struct kj_mdoc *d, const struct kj_val *obj);
/* One object, in the form that was asked for. */
void object_put(struct get *g, const struct kj_val *obj, struct strbuf *out);
/* A tree of our own: a list of objects, a version. */
void tree_put(const char *form, const struct kj_mval *tree, struct strbuf *out);

/* ---- list.c: pages --------------------------------------------------------------------------- */

/* Every page in turn; fn sees the answer's root. Fills g->version. */
typedef int (*page_fn)(struct get *g, const struct kj_val *root, void *arg, struct kerr *err);
int get_pages(struct get *g, page_fn fn, void *arg, struct kerr *err);
/* rows of a Table, or items of a list, or the object itself, one by one. */
struct kj_iter get_items(const struct kj_val *root);

/* ---- watch.c --------------------------------------------------------------------------------- */

/* Follows changes until the reader or the permission goes away. The exit code. */
int get_watch(struct get *g);
#endif
