/* device.h - expressions that select devices (dynamic resource allocation).
 *
 * The only variable is `device`: driver, attributes and capacity by domain and name. Names without
 * a domain belong to the driver's. A domain that a device does not have is an empty map.
 */
#ifndef KOORD_CEL_DEVICE_H
#define KOORD_CEL_DEVICE_H
#include "cel/cel.h"

struct cel_device_attr {
    struct str name; /* "model" or "example.com/model" */
    enum { CEL_ATTR_STRING, CEL_ATTR_INT, CEL_ATTR_BOOL, CEL_ATTR_VERSION } kind;
    union {
        struct str s; /* also the version */
        int64_t i;
        bool b;
    };
};
struct cel_device_capacity {
    struct str name;
    struct qty value;
};
struct cel_device {
    struct str driver;
    const struct cel_device_attr *attrs;
    const struct cel_device_capacity *capacity;
    size_t n_attrs, n_capacity;
    bool allow_multiple;
};

/* `consumable`: the gate DRAConsumableCapacity is on. Otherwise as cel_compile(): a result that can
 * never be bool is refused too. */
enum cel_failure cel_device_compile(const char *text, size_t n, bool consumable,
                                    struct cel_expr **ret, struct strbuf *why);
/* Does the device match? *ret is bool, or an error after a failure. */
enum cel_failure cel_device_eval(const struct cel_expr *e, const struct cel_device *device,
                                 uint64_t limit, struct arena *a, struct cel_val *ret,
                                 uint64_t *ret_cost);
#endif
