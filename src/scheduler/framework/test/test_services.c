/* test_services.c - services: made once, typed, counted, destroyed last (framework/service.h). */
#include "scheduler/test/plugin_fixture.h"

#include "scheduler/plugins/registry.h"

/* ---- a shop that provides, and a guest that uses --------------------------------------------- */

struct shop_args {
    int64_t size;
};
static const struct kfield shop_fields[] = { KF(struct shop_args, size, "size", KF_I64) };
static const struct kschema shop_schema = KSCHEMA("ShopArgs", struct shop_args, shop_fields);
static const struct ks_args shop_args = { .schema = &shop_schema };

struct shop {
    const struct shop_args *args;
    int users, left; /* plugins that have it, and those that had */
};
KS_SERVICE(shop, struct shop)

static struct {
    int made, destroyed, plugins;
    struct shop *found; /* by the guest, in its create() */
    bool fails;
} seen;

static int shop_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    assert_null(env->services); /* services do not look for others */
    if (seen.fails)
        return kerr_set(err, -EINVAL, "size: too large");
    struct shop *s = xnew0(struct shop);
    s->args = args; /* they live as long as it does */
    seen.made++;
    *ret = s;
    return 0;
}

static void shop_destroy(void *service)
{
    assert_int_equal(((struct shop *)service)->users, 0); /* nobody is left who could use it */
    seen.destroyed++;
    free(service);
}

const struct ks_service shop_service = {
    .name = "Shop",
    .create = shop_create,
    .destroy = shop_destroy,
    .per_args = true,
};
static const struct ks_service *const shop_services[] = { &shop_service, NULL };

static int any_create(const struct ks_env *env, const void *args, void **ret_self, struct kerr *err)
{
    (void)args, (void)err;
    seen.plugins++;
    seen.found = *ret_self = shop_of(env);
    if (seen.found)
        seen.found->users++;
    return 0;
}

static void any_destroy(void *self)
{
    struct shop *s = self;

    if (s) { /* it is still there */
        s->users--;
        s->left++;
    }
    seen.plugins--;
}

static enum ks_code any_permit(void *self, const struct pod *p, const char *node,
                               nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)p, (void)node, (void)ret_timeout, (void)why;
    return KS_SUCCESS;
}

static const struct ks_plugin guest_plugin = { .abi = KS_PLUGIN_ABI,
                                               .size = sizeof(struct ks_plugin),
                                               .name = "Guest",
                                               .create = any_create,
                                               .destroy = any_destroy,
                                               .permit = any_permit };
static const struct ks_plugin shop_plugin = { .abi = KS_PLUGIN_ABI,
                                              .size = sizeof(struct ks_plugin),
                                              .name = "Shop",
                                              .args = &shop_args,
                                              .services = shop_services,
                                              .create = any_create,
                                              .destroy = any_destroy,
                                              .permit = any_permit };
/* The guest comes first, and finds the service all the same. */
static const struct ks_registered both[] = {
    { &guest_plugin, 0, true },
    { &shop_plugin, 0, true },
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

struct shops {
    struct object_fixture *base;
    struct service_table *table;
};
static void shops_init(struct shops *t, void **state)
{
    memset(&seen, 0, sizeof seen);
    *t = (struct shops){ .base = *state, .table = service_table_new() };
}
static void shops_fini_p(struct shops *t)
{
    service_table_free(t->table);
}

static struct profile *open_profile(struct shops *t, const struct ks_registered *plugins,
                                    int64_t size, struct kerr *err)
{
    struct ks_env env = { .service_table = t->table };
    struct profile_config c = profile_config_default(plugins, "s", t->base->arena);
    struct shop_args args = { size };
    struct profile_args given = { "Shop", &args };

    c.args = &given;
    c.nargs = 1;
    return profile_new(&c, plugins, &env, err);
}

static void test_profiles_share_one(void **state)
{
    CLEANUP(shops_fini) struct shops t;
    struct kerr err = { 0 };

    shops_init(&t, state);
    struct profile *a = open_profile(&t, both, 1, &err);
    assert_string_equal(err.text, "");
    assert_non_null(a);
    const struct shop *first = seen.found;
    assert_non_null(first);
    struct profile *b = open_profile(&t, both, 1, &err);
    assert_ptr_equal(seen.found, first);
    assert_int_equal(seen.made, 1);
    profile_free(a); /* as after a changed configuration: the new one has it */
    assert_int_equal(seen.destroyed, 0);
    assert_int_equal(first->left, 2);
    profile_free(b);
    assert_int_equal(seen.destroyed, 1);
}

static void test_other_args_have_their_own(void **state)
{
    CLEANUP(shops_fini) struct shops t;
    struct kerr err = { 0 };

    shops_init(&t, state);
    struct profile *a = open_profile(&t, both, 1, &err);
    struct profile *b = open_profile(&t, both, 2, &err);
    assert_int_equal(seen.found->args->size, 2);
    struct profile *c = open_profile(&t, both, 1, &err);
    assert_int_equal(seen.found->args->size, 1);
    assert_int_equal(seen.made, 2);
    assert_ptr_equal(service_table_first(t.table)->self, seen.found);
    profile_free(a);
    assert_int_equal(seen.destroyed, 0);
    profile_free(b);
    assert_int_equal(seen.destroyed, 1);
    profile_free(c);
    assert_int_equal(seen.destroyed, 2);
}

static void test_nobody_provides_it(void **state)
{
    CLEANUP(shops_fini) struct shops t;
    static const struct ks_registered alone[] = {
        { &guest_plugin, 0, true },
        { &ks_plugin_priority_sort, 0, true },
        { &ks_plugin_default_binder, 0, true },
        { NULL, 0, false },
    };
    struct kerr err = { 0 };

    shops_init(&t, state);
    struct profile *a = open_profile(&t, both, 1, &err);
    struct profile *b = open_profile(&t, alone, 1, &err);
    assert_null(seen.found); /* though another profile has it */
    profile_free(b);
    profile_free(a);
}

static void test_one_that_cannot_be_made(void **state)
{
    CLEANUP(shops_fini) struct shops t;
    struct kerr err = { 0 };

    shops_init(&t, state);
    seen.fails = true;
    assert_null(open_profile(&t, both, 1, &err));
    assert_string_equal(err.text, "plugin Shop: size: too large");
    assert_int_equal(seen.plugins, 0); /* no plugin was made for nothing */
}

static void test_a_profile_without_a_table_has_its_own(void **state)
{
    struct shops t;
    struct profile_config c;
    struct kerr err = { 0 };

    shops_init(&t, state);
    shops_fini_p(&t);
    c = profile_config_default(both, "s", t.base->arena);
    struct profile *p = profile_new(&c, both, &(struct ks_env){ 0 }, &err);
    assert_non_null(seen.found);
    profile_free(p);
    assert_int_equal(seen.destroyed, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_profiles_share_one),
        FIXTURE_TEST(test_other_args_have_their_own),
        FIXTURE_TEST(test_nobody_provides_it),
        FIXTURE_TEST(test_one_that_cannot_be_made),
        FIXTURE_TEST(test_a_profile_without_a_table_has_its_own),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
