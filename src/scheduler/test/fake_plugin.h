/* fake_plugin.h - a plugin that does as it is told on a pod's way to its node: for tests of the
 * engine. */
#ifndef KOORD_SCHEDULER_TEST_FAKE_PLUGIN_H
#define KOORD_SCHEDULER_TEST_FAKE_PLUGIN_H
#include "scheduler/test/engine_fixture.h"

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

static struct fake_plugin {
    struct ks_env env;
    enum ks_code reserve, permit, flight, pre_bind; /* what it says */
    const char
        *refuses;      /* the only nodes where reserve() says so, with blanks between; NULL: all */
    const char *holds; /* the only pod that needs a permit; NULL: all do */
    nsec_t wait;       /* for a permit */
    const char *more;  /* a second reason */
    bool rejects_undone; /* who is undone is rejected once more, as a gang does with all of it */
    void (*before_write)(void);
    struct ks_bind *asked; /* pre_bind said KS_WAIT */
    int reserved, unreserved, cancelled, bound, destroyed;
    int hinted; /* asked whether a label matters */
} fake;

static int fake_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    (void)args, (void)err;
    fake.env = *env;
    *ret_self = &fake;
    return 0;
}

static void fake_destroy(void *self)
{
    (void)self;
    fake.destroyed++;
}

static enum ks_code fake_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    const char *node = c->nodes->node[row]->obj.meta.name;

    (void)self, (void)p;
    ks_texts_add(why, "not reserved");
    fake.reserved++;
    return fake.refuses && !strstr(fake.refuses, node) ? KS_SUCCESS : fake.reserve;
}

static void fake_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)node;
    fake.unreserved++;
    if (fake.rejects_undone)
        ks_reject(&fake.env, p->obj.meta.uid, "Fake", "all or none");
}

static enum ks_code fake_permit(void *self, const struct pod *p, const char *node,
                                nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)node;
    ks_texts_add(why, "no permit");
    if (fake.more)
        ks_texts_add(why, fake.more);
    *ret_timeout = fake.wait;
    return fake.holds && !streq(p->obj.meta.name, fake.holds) ? KS_SUCCESS : fake.permit;
}

static enum ks_code fake_flight(void *self, const struct pod *p, const char *node,
                                struct ks_texts *why)
{
    (void)self, (void)p, (void)node;
    ks_texts_add(why, "not ready");
    if (fake.flight != KS_SUCCESS)
        return fake.flight;
    return fake.pre_bind == KS_SKIP ? KS_SKIP : KS_SUCCESS;
}

static enum ks_code fake_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self;
    ks_texts_add(why, "not prepared");
    if (fake.more)
        ks_texts_add(why, fake.more);
    fake.asked = fake.pre_bind == KS_WAIT ? b : NULL;
    ks_bind_annotate(b, "fake/one", "1");
    ks_bind_annotate(b, "fake/two", "2");
    ks_bind_label(b, "fake", "yes");
    if (fake.before_write)
        fake.before_write();
    return fake.pre_bind;
}

static void fake_cancel(void *self, struct ks_bind *b)
{
    (void)self;
    assert_ptr_equal(b, fake.asked);
    fake.cancelled++;
}

static void fake_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
    fake.bound++;
}

static bool fake_worth(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)e, (void)p;
    fake.hinted++;
    return true;
}

static const struct ks_hint fake_hints[] = {
    { KS_RES_NODE, KS_ADD, NULL },
    { KS_RES_POD, KS_POD_LABEL, fake_worth },
};
static const struct ks_plugin fake_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Fake",
    .hints = fake_hints,
    .nhints = ARRAY_LEN(fake_hints),
    .create = fake_create,
    .destroy = fake_destroy,
    .reserve = fake_reserve,
    .unreserve = fake_unreserve,
    .permit = fake_permit,
    .pre_flight = fake_flight,
    .pre_bind = fake_pre_bind,
    .cancel = fake_cancel,
    .post_bind = fake_post_bind,
};

/* It lets all pass; a pod that it is told to hold waits for a minute. */
static inline void fake_reset(void)
{
    fake = (struct fake_plugin){
        .reserve = KS_SUCCESS, .permit = KS_SUCCESS, .pre_bind = KS_SKIP, .wait = 60 * SEC
    };
}
#endif
