/* door.h - a plugin that does as it is told on a pod's way to its node: for tests of the engine. */
#ifndef KOORD_SCHEDULER_TEST_DOOR_H
#define KOORD_SCHEDULER_TEST_DOOR_H
#include "scheduler/test/bed.h"

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

static struct door {
    struct ks_env env;
    enum ks_code reserve, permit, flight, pre_bind; /* what it says */
    const char *holds;   /* the only pod that needs a permit; NULL: all do */
    nsec_t wait;         /* for a permit */
    const char *more;    /* a second reason */
    bool rejects_undone; /* who is undone is rejected once more, as a gang does with all of it */
    void (*before_write)(void);
    struct ks_bind *asked; /* pre_bind said KS_WAIT */
    int reserved, unreserved, cancelled, bound, destroyed;
    int hinted; /* asked whether a label matters */
} door;

static int door_create(const struct ks_env *env, const struct kj_val *args, void **ret_self,
                       struct kerr *err)
{
    (void)args, (void)err;
    door.env = *env;
    *ret_self = &door;
    return 0;
}

static void door_destroy(void *self)
{
    (void)self;
    door.destroyed++;
}

static enum ks_code door_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)row;
    ks_texts_add(why, "no handle");
    door.reserved++;
    return door.reserve;
}

static void door_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)node;
    door.unreserved++;
    if (door.rejects_undone)
        ks_reject(&door.env, p->obj.meta.uid, "Door", "all or none");
}

static enum ks_code door_permit(void *self, const struct pod *p, const char *node,
                                nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)node;
    ks_texts_add(why, "the door is shut");
    if (door.more)
        ks_texts_add(why, door.more);
    *ret_timeout = door.wait;
    return door.holds && !streq(p->obj.meta.name, door.holds) ? KS_SUCCESS : door.permit;
}

static enum ks_code door_flight(void *self, const struct pod *p, const char *node,
                                struct ks_texts *why)
{
    (void)self, (void)p, (void)node;
    ks_texts_add(why, "no floor");
    if (door.flight != KS_SUCCESS)
        return door.flight;
    return door.pre_bind == KS_SKIP ? KS_SKIP : KS_SUCCESS;
}

static enum ks_code door_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self;
    ks_texts_add(why, "no key");
    if (door.more)
        ks_texts_add(why, door.more);
    door.asked = door.pre_bind == KS_WAIT ? b : NULL;
    ks_bind_annotate(b, "door/one", "1");
    ks_bind_annotate(b, "door/two", "2");
    ks_bind_label(b, "door", "open");
    if (door.before_write)
        door.before_write();
    return door.pre_bind;
}

static void door_cancel(void *self, struct ks_bind *b)
{
    (void)self;
    assert_ptr_equal(b, door.asked);
    door.cancelled++;
}

static void door_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
    door.bound++;
}

static bool door_worth(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)e, (void)p;
    door.hinted++;
    return true;
}

static const struct ks_hint door_hints[] = {
    { KS_RES_NODE, KS_ADD, NULL },
    { KS_RES_POD, KS_POD_LABEL, door_worth },
};
static const struct ks_plugin door_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Door",
    .hints = door_hints,
    .nhints = ARRAY_LEN(door_hints),
    .create = door_create,
    .destroy = door_destroy,
    .reserve = door_reserve,
    .unreserve = door_unreserve,
    .permit = door_permit,
    .pre_flight = door_flight,
    .pre_bind = door_pre_bind,
    .cancel = door_cancel,
    .post_bind = door_post_bind,
};

/* It is open, and stays so for a minute when it is told to hold somebody. */
static inline void door_reset(void)
{
    door = (struct door){
        .reserve = KS_SUCCESS, .permit = KS_SUCCESS, .pre_bind = KS_SKIP, .wait = 60 * SEC
    };
}
#endif
