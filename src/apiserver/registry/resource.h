/* resource.h - one served resource: how its objects are checked, defaulted, printed and addressed.
 *
 * Built-in kinds are entries of a table; a CustomResourceDefinition adds entries at run time. The
 * registry (registry.h) does everything that is the same for all.
 */
#ifndef KOORD_APISERVER_REGISTRY_RESOURCE_H
#define KOORD_APISERVER_REGISTRY_RESOURCE_H
#include "base/arena.h"
#include "base/base.h"
#include "base/strbuf.h"
#include "json/kj.h"
#include "json/patch.h"

struct apiserver;
struct t_type;

/* One field error, in the words of kube-apiserver: "spec.containers[0].image: Required value". */
enum field_error_type {
    FIELD_REQUIRED,      /* Required value */
    FIELD_INVALID,       /* Invalid value: "x": why */
    FIELD_NOT_SUPPORTED, /* Unsupported value: "x": supported values: "a", "b" */
    FIELD_FORBIDDEN,     /* Forbidden: why */
    FIELD_DUPLICATE,     /* Duplicate value: "x" */
    FIELD_TOO_LONG,
    FIELD_TOO_MANY,
    FIELD_NOT_FOUND,
    FIELD_TYPE_INVALID,
    FIELD_INTERNAL /* Internal error: why */
};
struct field_errors; /* collects causes for a 422 Status */
/* value: the offending value as JSON text; may be NULL. */
void field_error(struct field_errors *e, enum field_error_type type, const char *path,
                 const char *value, const char *fmt, ...) PRINTF(5, 6);
/* The same with a string, which is shown in quotes. */
void field_error_text(struct field_errors *e, enum field_error_type type, const char *path,
                      const char *value, const char *fmt, ...) PRINTF(5, 6);
size_t field_errors_count(const struct field_errors *e);
bool field_errors_any(const struct field_errors *e, enum field_error_type type);

/* RES_EPHEMERAL, RES_RESIZE: pods only; RES_APPROVAL: requests for certificates only; through the
 * paths of these names. */
enum res_verb { RES_CREATE, RES_UPDATE, RES_STATUS, RES_EPHEMERAL, RES_RESIZE, RES_APPROVAL };
struct api_call;

struct res_allocation {
    struct apiserver *s;
    enum res_verb verb; /* RES_CREATE or RES_UPDATE */
    bool dry_run;
    struct kj_mdoc *d;
    struct kj_mval *obj;
    const struct kj_val *old; /* NULL on create */
    struct field_errors *errors;
};

/* What a kind does differently; any member may be NULL. Objects are mutable documents. */
struct res_strategy {
    /* Defaults beyond the tables (t_field.def), before admission. */
    void (*set_defaults)(struct kj_mdoc *d, struct kj_mval *obj);
    /* Fields the server owns: drop a client's status on create, keep the old on update... */
    void (*prepare)(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                    const struct kj_val *old, nsec_t now);
    /* Takes what only one object may have (addresses and ports of services), after admission has
     * changed the object and before it is validated. Refuses by causes (422) or by err. */
    int (*allocate)(const struct res_allocation *x, struct kerr *err);
    /* Is what was allocated for a new object still free? Asked when it had to wait meanwhile. */
    bool (*still_free)(struct apiserver *s, const struct kj_val *obj);
    void (*validate)(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                     struct field_errors *errors);
    /* Tells by api_warn() what is taken and better written otherwise. Asked for what was found
     * valid, before the steps of admission that only look; old: NULL on create. */
    void (*warn)(struct api_call *c, enum res_verb verb, const struct kj_val *obj,
                 const struct kj_val *old);
    /* What depends on other objects of the server. */
    void (*validate_in)(struct apiserver *s, enum res_verb verb, const struct kj_val *obj,
                        const struct kj_val *old, struct field_errors *errors);
    /* The value of a field selector's path beyond metadata.name and metadata.namespace; NULL: the
     * path is not supported for this kind. "" counts as empty. */
    const char *(*field)(const struct kj_val *obj, const char *path, struct arena *a);
    /* Graceful deletion: seconds to wait for somebody to confirm (pods on a node); 0: at once. */
    int64_t (*grace)(const struct kj_val *obj, int64_t asked /* -1: not given */);
    /* The first DELETE of an object that goes in a way of its own, whatever the propagation that is
     * asked for: adds the finalizer that it waits for, and says so in its status. */
    void (*terminate)(struct kj_mdoc *d, struct kj_mval *obj, nsec_t now);
    /* A further subresource ("binding", "eviction", "scale", "log" ...); see registry.h. */
    void (*subresource)(struct apiserver *s, struct api_call *c);
    /* Answers get and list itself, in any format; nothing is stored under this resource. */
    void (*read)(struct apiserver *s, struct api_call *c);
    /* Answers a create itself; nothing is stored under this resource. */
    void (*create)(struct apiserver *s, struct api_call *c);
    /* A kind that is stored in the form of another one (events.k8s.io as core events): from the
     * form of this resource to the stored one, and back. NULL: they are the same. */
    void (*to_stored)(struct kj_mdoc *d, struct kj_mval *obj);
    void (*from_stored)(struct kj_mdoc *d, struct kj_mval *obj);
};

struct res_column {
    const char *name, *type; /* "string", "integer", "date" */
    int priority;            /* 0: always, 1: wide */
    const char *description;
    /* Appends the cell as a JSON value. Dates are printed by kubectl: give the RFC 3339 text of
     * creationTimestamp only where kube-apiserver does; it sends ages as text for most kinds. */
    void (*cell)(const struct kj_val *obj, nsec_t now, struct strbuf *out);
    const char *json_path; /* instead of cell: CRD printer columns */
};

struct resource {
    const char *group, *version, *kind, *list_kind, *plural, *singular;
    const char *short_names;                            /* comma separated, NULL */
    const char *categories;                             /* "all", NULL */
    bool namespaced, has_status, no_update, generation; /* generation: counts changes of spec */
    bool orphans; /* what it owns is left there when it goes, unless the client says otherwise */
    const char *deprecated;   /* told to whoever asks (header Warning); NULL: it is not */
    const char *verbs;        /* the only ones: "create", "get,list"; NULL: all */
    const char *subresources; /* "status,binding,eviction", comma separated, NULL */
    const char *stored_as; /* group/version, where objects are stored in another; NULL: its own */
    const char *hashed_as; /* the same, where storageVersionHash alone is of another version */
    const char *store_res; /* key in the store: "pods", "deployments.apps" */
    const struct t_type *type; /* NULL for custom resources */
    const struct res_strategy *strategy;
    const struct res_column *columns;
    size_t ncolumns;
    struct crd_schema *crd; /* custom resources: structural schema; crd/crd.h */
    bool terminating;       /* their definition is being deleted: nothing is created any more */
};
#endif
