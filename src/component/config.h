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
struct metric;

struct config_spec {
    const char *api_version, *kind; /* what the file must say */
    const struct kschema *schema;   /* with or without these two fields; others are strict */
    /* After decoding and the table's defaults: sets what depends on other fields, checks what a
     * table cannot say. Memory from the arena lives with the configuration. May be NULL. */
    int (*finish)(void *value, struct arena *a, void *arg, struct kerr *err);
    void *arg;
};

struct config {
    const void *value; /* of schema->size bytes */
    const char *path;
    const struct config_spec *spec;
    struct arena *arena;
    bool is_file; /* config_load() read it from path */
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
/* Writes a configuration, given as JSON, as a YAML file that only we can read: --write-config-to.
 */
int config_write(const char *path, const char *json, size_t n, struct kerr *err);

/* ---- checks, in the words of Kubernetes' validation -------------------------------------------
 */

/* "prefix.text" of an error "text" that was found further down; a text that begins with no field
 * ("Duplicate value: ...") gets a colon instead of the dot. Returns err->code. */
int config_under(struct kerr *err, const char *fmt, ...) PRINTF(2, 3);
/* "path: Too many: 9: must have at most 8 items" */
int config_at_most(size_t n, size_t max, const char *path, struct kerr *err);
enum { CONFIG_ITEMS_MAX = 256 }; /* for lists that are compared item by item */
/* "path: Invalid value: 9: not in valid range [0, 8]"; without an upper bound (max is INT32_MAX or
 * more) "path: Invalid value: -1: must be greater than or equal to 0". */
int config_range(const char *path, int64_t v, int64_t min, int64_t max, struct kerr *err);
/* The same message with a range in other words: "(0, inf)". Always fails. */
int config_out_of_range(const char *path, int64_t v, const char *range, struct kerr *err);
int config_duration(const char *path, nsec_t v, struct kerr *err); /* not negative */

/* ---- reloading ------------------------------------------------------------------------------- */

struct config_handler {
    /* A new version that was read and found good; take a reference to keep it. A file that says
     * the same in other words is no news. The callee may still refuse (it needs a restart, say):
     * a negative code with the reason. -EBUSY: not now; it is asked again in a few seconds. */
    int (*on_change)(void *arg, struct config *next, struct kerr *err);
    /* A bad version was refused, the old one stays in force. NULL: an error is logged. */
    void (*on_refused)(void *arg, const struct kerr *err);
    /* Counts what became of changed files, by the label "result": loaded, refused. May be NULL. */
    struct metric *reloads;
};
struct config_watch;
/* `current` is what is in force now (a reference is taken); spec must outlive the watch. Without a
 * file nothing ever changes. */
struct config_watch *config_watch_new(struct loop *l, struct config *current,
                                      const struct config_handler *h, void *arg);
/* Not from inside its own callbacks. NULL is fine; always returns NULL. */
struct config_watch *config_watch_free(struct config_watch *w);
DEFINE_CLEANUP(config_watch_free, struct config_watch *)
struct config *config_watch_current(const struct config_watch *w); /* borrowed */
/* Looks now: SIGHUP, or a person who does not want to wait. */
void config_watch_check(struct config_watch *w);
#endif
