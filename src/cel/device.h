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

struct cel_device_env {
    bool consumable;         /* the gate DRAConsumableCapacity is on */
    cel_zone_fn zone;        /* as in struct cel_env */
    struct cel_trace *trace; /* the same */
};
/* As cel_compile(); a result that can never be bool is refused too. */
enum cel_failure cel_device_compile(const struct cel_device_env *env, const char *text, size_t n,
                                    struct cel_expr **ret, struct strbuf *why);
/* The device as a value, in the arena: made once per device and given to many expressions. Borrows
 * the device. An attribute that cannot be read makes it an error, which every match then returns.
 */
struct cel_val cel_device_value(struct arena *a, const struct cel_device *device);
/* Does the device match? *ret is bool, or an error after a failure. Allocates in the arena only:
 * who resets it between devices allocates nothing in the steady state. Any number of threads. stop:
 * as cel_eval_until(). */
enum cel_failure cel_device_match(const struct cel_expr *e, struct cel_val device, uint64_t limit,
                                  const struct cel_interrupt *stop, struct arena *a,
                                  struct cel_val *ret, uint64_t *ret_cost);
/* Both in one, for a device that is looked at once. */
enum cel_failure cel_device_eval(const struct cel_expr *e, const struct cel_device *device,
                                 uint64_t limit, struct arena *a, struct cel_val *ret,
                                 uint64_t *ret_cost);
#endif
