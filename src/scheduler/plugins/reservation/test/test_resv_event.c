/* test_resv_event.c - the event about reservations, from the message of a failed attempt
 * (sched-reservation 10).
 */
#include "base/test/asserts.h"

#include "base/strbuf.h"
#include "scheduler/plugins/reservation/plugin.h"

static void expect(const char *message, const char *event)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    assert_int_equal(diagnose_event(message, &b), event != NULL);
    if (event)
        assert_string_equal(strbuf_str(&b), event);
}

static void test_reasons_of_reservations(void **state)
{
    (void)state;
    expect("0/3 nodes are available: 1 Reservation(s) Insufficient cpu. 1 Reservation(s) matched "
           "owner total.",
           "0/1 reservations are available: 1 Reservation(s) Insufficient cpu.");
    expect("0/5 nodes are available: 1 Reservation(s) for node reason that x, 2 Reservation(s) is "
           "unschedulable, 3 Reservation(s) matched owner total.",
           "0/3 reservations are available: 2 Reservation(s) is unschedulable, 1 Reservation(s) "
           "for node reason that x.");
}

/* A comma within a reason ends it. */
static void test_a_detailed_reason_loses_its_tail(void **state)
{
    (void)state;
    expect("0/4 nodes are available: 1 Reservation(s) Insufficient cpu, requested: 4000, used: "
           "30000, capacity: 32000, 3 node(s) didn't match, 1 Reservation(s) exactly matches the "
           "requested reservation name, 3 Reservation(s) didn't match the requested reservation "
           "name, 4 Reservation(s) matched owner total.",
           "0/4 reservations are available: 1 Reservation(s) exactly matches the requested "
           "reservation name, 1 Reservation(s) Insufficient cpu, 3 Reservation(s) didn't match the "
           "requested reservation name.");
}

static void test_other_messages(void **state)
{
    (void)state;
    expect("Gang \"default/g\" gets rejected: 0/3 nodes are available: 1 Reservation(s) matched "
           "owner total.",
           NULL);
    expect("0/3 nodes are available: 3 Insufficient cpu.", NULL);
    expect("", NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons_of_reservations),
        cmocka_unit_test(test_a_detailed_reason_loses_its_tail),
        cmocka_unit_test(test_other_messages),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
