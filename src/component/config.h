/* config.h - versioned component configuration files: strict, defaulted, checked, reloaded.
 *
 * A file is YAML or JSON with apiVersion and kind; the rest is decoded by a schema table. Unknown
 * fields, wrong types and bad values are refused with the file and the path of the field. A loaded
 * configuration is immutable and refcounted: who works with the old one keeps it while the new one
 * is in force already. Loop thread only.
 */
#ifndef KOORD_COMPONENT_CONFIG_H
#define KOORD_COMPONENT_CONFIG_H
#include "base/arena.h"
#include "base/base.h"

struct kschema;
struct loop;

struct config_spec {
    const char *api_version, *kind; /* what the file must say */
    const struct kschema *schema;   /* with or without these two fields; others are strict */
    /* After decoding and the table's defaults: sets what depends on other fields, checks what a
     * table cannot say. Memory from the arena lives with the configuration. May be NULL. */
    int (*finish)(void *value, struct arena *a, void *arg, struct kerr *err);
    void *arg;
    /* When the last reference goes, also after a failed finish(). May be NULL. */
    void (*release)(void *value);
};

struct config {
    const void *value; /* of schema->size bytes */
    const char *path;
    const struct config_spec *spec;
    struct arena *arena;
    uint32_t refs;
};

/* The caller's reference. "file: field.path: what is wrong" */
int config_load(const struct config_spec *spec, const char *path, struct config **ret,
                struct kerr *err);
/* The same from a text; path is for messages. NULL text: nothing but the defaults. */
int config_parse(const struct config_spec *spec, const char *text, size_t n, const char *path,
                 struct config **ret, struct kerr *err);
struct config *config_ref(struct config *c);
struct config *config_unref(struct config *c); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(config_unref, struct config *)

/* ---- reloading ------------------------------------------------------------------------------- */

struct config_handler {
    /* A new version that was read and found good; take a reference to keep it. A file that says
     * the same in other words is no news. The callee may still refuse (it needs a restart, say):
     * a negative code with the reason. */
    int (*on_change)(void *arg, struct config *next, struct kerr *err);
    /* A bad version was refused, the old one stays in force. NULL: an error is logged. */
    void (*on_refused)(void *arg, const struct kerr *err);
};
struct config_watch;
/* `current` is what is in force now (a reference is taken); spec must outlive the watch. */
struct config_watch *config_watch_new(struct loop *l, struct config *current,
                                      const struct config_handler *h, void *arg);
/* Not from inside its own callbacks. NULL is fine; always returns NULL. */
struct config_watch *config_watch_free(struct config_watch *w);
DEFINE_CLEANUP(config_watch_free, struct config_watch *)
struct config *config_watch_current(const struct config_watch *w); /* borrowed */
/* Looks now: SIGHUP, or a person who does not want to wait. */
void config_watch_check(struct config_watch *w);

struct config_stats {
    uint64_t reloads, refusals;
};
struct config_stats config_watch_stats(const struct config_watch *w);
#endif
