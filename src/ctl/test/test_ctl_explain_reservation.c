/* test_ctl_explain_reservation.c - koordctl explain reservation: what it says of each phase. */
#include "base/test/asserts.h"
#include "ctl/explain.h"
#include "ctl/test/fixture.h"

#define PATH "/apis/scheduling.koordinator.sh/v1alpha1/reservations/r"
#define SPEC                                                                                   \
    "'spec':{'ttl':'1h','allocatePolicy':'Restricted','allocateOnce':false,'owners':[{"        \
    "'controller':{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'','uid':'','namespace':" \
    "'shop'},'labelSelector':{'matchLabels':{'app':'web'}}},{'object':{'namespace':'shop',"    \
    "'name':'a'}}],'template':{'metadata':{'namespace':'shop'},'spec':{'schedulerName':"       \
    "'koord-scheduler','containers':[{'name':'c','resources':{'requests':{'cpu':'4'}}}]}}}"
#define META "'metadata':{'name':'r','uid':'u-1','creationTimestamp':'1970-01-01T00:00:00Z'}"

static int sched_open(const char *name, const struct explain_config *config, struct strbuf *notes,
                      void **ret, struct kerr *err)
{
    (void)config, (void)notes, (void)err;
    assert_string_equal(name, "koord-scheduler");
    *ret = (void *)(uintptr_t)&sched_open;
    return 0;
}
static void sched_close(void *self)
{
    (void)self;
}
static const struct kind *sched_kind(const void *self, unsigned i)
{
    (void)self, (void)i;
    return NULL;
}
static int sched_add(void *self, struct kobj *o, struct kerr *err)
{
    (void)self, (void)o, (void)err;
    return 0;
}
static int sched_try(void *self, struct kobj *pod, nsec_t now, struct strbuf *json,
                     struct kerr *err)
{
    (void)self, (void)pod, (void)now, (void)err;
    strbuf_append(json, "{\"nodes\":{\"a\":{\"fit\":false,\"plugin\":\"Fit\",\"code\":"
                        "\"Unschedulable\",\"reasons\":[\"Insufficient cpu\"],\"changes\":[]}},"
                        "\"message\":\"0/1\"}");
    return 0;
}
static void sched_scores(const void *self, unsigned max, struct strbuf *out)
{
    (void)self, (void)max, (void)out;
}
static const struct explain_scheduler scheduler = { sched_open, sched_close, sched_kind,
                                                    sched_add,  sched_try,   sched_scores };
static const struct ctl_parts parts = { .explain = &scheduler };

static char *quoted(const char *text)
{
    char *copy = xstrdup(text);

    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    return copy;
}

/* Explains the Reservation with these members; pods: of its node. */
static void explain(struct fixture *x, const char *members, const char *pods)
{
    CLEANUP(mem_free) char *text = xasprintf("{" META ",%s}", members);
    CLEANUP(mem_free) char *body = quoted(text);
    CLEANUP(mem_free) char *list_text = xasprintf("{'metadata':{},'items':[%s]}", pods);
    CLEANUP(mem_free) char *list = quoted(list_text);

    fixture_init(x);
    x->parts = &parts;
    fake_add(&x->f, (struct fake_answer){ PATH, 200, body });
    fake_add(&x->f, (struct fake_answer){ "/api/v1/pods", 200, list });
    fake_add(&x->f, (struct fake_answer){ "/api/v1/nodes", 200, "{\"metadata\":{},\"items\":[]}" });
    assert_int_equal(run(x, "explain", "reservation", "r"), CTL_OK);
    x->f.n = 0;
}

#define USED(name, uid)                                                                         \
    "{'metadata':{'name':'" name "','namespace':'shop','uid':'" name                            \
    "','annotations':{'scheduling.koordinator.sh/reservation-allocated':'{\\'name\\':\\'r\\',"  \
    "\\'uid\\':\\'" uid "\\'}'}},'spec':{'nodeName':'n1','containers':[{'name':'c','resources'" \
    ":{'requests':{'cpu':'1500m'}}}]}}"

static void test_who_uses_it_and_what_is_left(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain(&x,
            SPEC ",'status':{'phase':'Available','nodeName':'n1','allocatable':{'cpu':'4','memory':"
                 "'8Gi'},'allocated':{'cpu':'1500m'}}",
            USED("web-1", "u-1") "," USED("web-2", "u-2"));
    assert_string_equal(
        x.out, "Reservation r is Available, on node n1 (scheduler koord-scheduler).\n"
               "\nMay be used by any number of pods (Restricted):\n"
               "  pods of a ReplicaSet in namespace shop with app=web\n"
               "  pod shop/a\n"
               "\nIs used by:\n"
               "  shop/web-1   cpu 1500m\n"
               "\nRESOURCE                             RESERVED         USED         LEFT\n"
               "cpu                                         4        1500m        2500m\n"
               "memory                                    8Gi            0          8Gi\n"
               "\nEnds at 1970-01-01T01:00:00Z, in 59m59s (spec.ttl).\n");
}

static void test_why_it_waits(void **state)
{
    CLEANUP(fixture_fini) struct fixture x, y;

    (void)state;
    explain(&x,
            SPEC ",'status':{'conditions':[{'type':'Scheduled','status':'False','reason':"
                 "'Unschedulable','message':'0/1 nodes are available: \\u001b[31mno.'}]}",
            "");
    assert_starts(x.out, "Reservation r is Pending, without a node (scheduler koord-scheduler).\n"
                         "It waits: 0/1 nodes are available:  [31mno.\n"
                         "\n0 of 1 node fit.\n  1 node (a): Fit: Insufficient cpu\n");
    explain(&y, SPEC, "");
    assert_contains(y.out, "Nobody has tried it yet: does a scheduler serve koord-scheduler?\n");
}

static void test_what_is_wrong_with_it(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain(&x, "'spec':{'ttl':'1h','template':{'spec':{}}}", "");
    assert_contains(x.out, "Its object is at fault: spec.owners: Required value");
    assert_lacks(x.out, "nodes fit");
}

static void test_how_it_ended(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain(&x,
            SPEC
            ",'status':{'phase':'Failed','nodeName':'n1','conditions':[{'type':'Ready',"
            "'status':'False','reason':'Expired','message':'spec.ttl: 1h0m0s have passed since "
            "its creation','lastProbeTime':'1970-01-01T01:00:00Z'}],'currentOwners':[{"
            "'namespace':'shop','name':'web-1','uid':'x'}]}",
            "");
    assert_contains(x.out, "It has ended at 1970-01-01T01:00:00Z: Expired, spec.ttl: 1h0m0s have "
                           "passed since its creation. It holds nothing any more.\n");
    assert_contains(x.out, "  shop/web-1\n");
    assert_lacks(x.out, "Ends at");
    assert_lacks(x.out, "LEFT");
}

static void test_the_answer_for_programs(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;
    CLEANUP(mem_free)
    char *body = quoted("{" META "," SPEC ",'status':{'phase':'Available','nodeName':'n1',"
                        "'allocatable':{'cpu':'4'}}}");

    (void)state;
    fixture_init(&x);
    fake_add(&x.f, (struct fake_answer){ PATH, 200, body });
    fake_add(&x.f, (struct fake_answer){ "/api/v1/pods", 200, "{\"items\":[]}" });
    assert_int_equal(run(&x, "explain", "reservation/r", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"left\": \"4\"");
    assert_contains(x.out, "\"field\": \"spec.ttl\"");
    x.f.answers[0].status = 404;
    assert_int_equal(run(&x, "explain", "reservation/r"), CTL_FAILED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_uses_it_and_what_is_left), cmocka_unit_test(test_why_it_waits),
        cmocka_unit_test(test_what_is_wrong_with_it),        cmocka_unit_test(test_how_it_ended),
        cmocka_unit_test(test_the_answer_for_programs),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
