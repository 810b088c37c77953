/* test_reservation_life.c - where a Reservation stands, when it ends, what is wrong with it. */
#include "api/koord/reservation_life.h"
#include "api/test/object_fixture.h"
#include "base/arena.h"
#include "base/test/asserts.h"

#define MADE     INT64_C(1763200000) /* 2025-11-15T09:46:40Z */
#define METADATA "'metadata':{'creationTimestamp':'2025-11-15T09:46:40Z'}"
#define HOUR     INT64_C(3600)

static void test_when_it_ends(void **state)
{
    static const struct {
        const char *spec;
        int64_t after; /* seconds of its creation; 0: never */
        const char *field;
    } cases[] = {
        { "'ttl':'1m'", 60, "spec.ttl" },
        { "'ttl':'0s'", 0, "" },
        { "'ttl':'0s','expires':'2025-11-15T09:47:40Z'", 0, "" },
        { "'ttl':'-5m'", -300, "spec.ttl" },
        { "'expires':'2025-11-15T09:47:40Z'", 60, "spec.expires" },
        { "'ttl':'10s','expires':'2025-11-15T09:47:40Z'", 10, "spec.ttl" },
        { "'ttl':'2h','expires':'2025-11-15T09:47:40Z'", 60, "spec.expires" },
        /* The API server fills in 24h: whoever gives a date means the date. */
        { "'ttl':'24h0m0s','expires':'2025-11-17T09:46:40Z'", 48 * HOUR, "spec.expires" },
        { "'ttl':'24h0m0s'", 24 * HOUR, "spec.ttl" },
        { "'ttl':'2562047h47m16s'", 0, "" }, /* beyond the end of time */
        { "'unschedulable':true", 0, "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(mem_free) char *text = xasprintf("{" METADATA ",'spec':{%s}}", cases[i].spec);
        CLEANUP(kobj_unref) struct kobj *o = fixture_object(*state, &kind_reservation, text);
        struct reservation_end end = { 0, "" };
        bool ends = reservation_end(reservation_of(o), &end);
        assert_string_equal(end.field, cases[i].field);
        assert_int_equal(ends, cases[i].after != 0);
        if (ends)
            assert_int_equal(end.when, (MADE + cases[i].after) * NSEC_PER_SEC);
    }
}

static void test_where_it_stands(void **state)
{
    static const struct {
        const char *status;
        bool available, active, ended, expired;
    } cases[] = {
        { "", false, false, false, false },
        { "'phase':'Pending'", false, false, false, false },
        { "'phase':'Available'", false, false, false, false },
        { "'phase':'Available','nodeName':'n'", true, true, false, false },
        { "'phase':'Waiting','nodeName':'n'", false, true, false, false },
        { "'phase':'Succeeded','nodeName':'n'", false, false, true, false },
        { "'phase':'Failed'", false, false, true, false },
        { "'phase':'Failed','conditions':[{'type':'Ready','status':'False','reason':'Expired'}]",
          false, false, true, true },
        { "'phase':'Succeeded','conditions':[{'type':'Ready','status':'False','reason':'Expired'}]",
          false, false, true, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(mem_free) char *text = xasprintf("{'status':{%s}}", cases[i].status);
        CLEANUP(kobj_unref) struct kobj *o = fixture_object(*state, &kind_reservation, text);
        const struct reservation *r = reservation_of(o);
        assert_int_equal(reservation_is_available(r), cases[i].available);
        assert_int_equal(reservation_is_active(r), cases[i].active);
        assert_int_equal(reservation_has_ended(r), cases[i].ended);
        assert_int_equal(reservation_is_expired(r), cases[i].expired);
    }
}

static void check(void **state, const char *spec, const char *fault, const char *no_use)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(mem_free) char *text = xasprintf("{" METADATA ",'spec':{%s}}", spec);
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(*state, &kind_reservation, text);
    struct kerr err = { 0 };

    assert_int_equal(reservation_check(reservation_of(o), a, &err) < 0, *fault != '\0');
    assert_starts(err.text, fault);
    err = (struct kerr){ 0 };
    assert_int_equal(reservation_check_use(reservation_of(o), a, &err) < 0, *no_use != '\0');
    assert_starts(err.text, no_use);
}

#define TEMPLATE "'template':{'spec':{'containers':[{'name':'c'}]}}"

static void test_faults_name_their_field(void **state)
{
    check(state, "'ttl':'1h','owners':[{'object':{'name':'a'}}]," TEMPLATE, "", "");
    check(state, "'ttl':'1h'," TEMPLATE, "spec.owners: Required value", "");
    check(state, "'owners':[{}]," TEMPLATE, "spec.ttl: Required value", "");
    check(state, "'ttl':'1h','owners':[{}]", "spec.template: Required value", "");
    check(state, "'ttl':'1h','owners':[{}],'template':{'spec':{'containers':1}}",
          "spec.template: ", "");
    check(state,
          "'ttl':'1h','owners':[{'labelSelector':{'matchExpressions':[{'key':'a','operator':'In'}]}"
          "}]," TEMPLATE,
          "", "spec.owners[0].labelSelector: ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_when_it_ends),
        FIXTURE_TEST(test_where_it_stands),
        FIXTURE_TEST(test_faults_name_their_field),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
