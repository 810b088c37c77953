/* test_cells.c - table cells: ages, and the one word that tells a pod's story. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "apiserver/kinds/kinds.h"
#include "base/ktime.h"

static nsec_t now;

static const struct resource *find(const char *kind)
{
    size_t n;
    const struct resource *r = builtin_resources(&n);

    for (size_t i = 0; i < n; i++)
        if (streq(r[i].kind, kind))
            return &r[i];
    fail_msg("no kind %s", kind);
    return NULL;
}

/* All cells of an object, as a JSON list. Single quotes stand for double ones. */
static void expect_row(const char *kind, const char *object, const char *want)
{
    CLEANUP(mem_free) char *text = xstrdup(object);
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct resource *r = find(kind);

    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, NULL), 0);
    for (size_t i = 0; i < r->ncolumns; i++) {
        if (i)
            strbuf_appendc(&got, ' ');
        r->columns[i].cell(kj_root(doc), now, &got);
    }
    for (char *p = got.data; *p; p++)
        *p = *p == '"' ? '\'' : *p;
    assert_string_equal(strbuf_str(&got), want);
}

#define META "'metadata':{'name':'p','creationTimestamp':'2026-01-01T00:00:00Z'}"

static void test_story_of_a_pod(void **state)
{
    static const struct {
        const char *status, *want; /* Ready, Status, Restarts */
    } list[] = {
        { "'phase':'Pending'", "'0/1' 'Pending' '0'" },
        { "'phase':'Running','containerStatuses':[{'ready':true,'restartCount':3,'state':"
          "{'running':{}},'lastState':{'terminated':{'finishedAt':'2026-01-01T04:00:00Z'}}}]",
          "'1/1' 'Running' '3 (60m ago)'" },
        { "'phase':'Running','containerStatuses':[{'restartCount':5,'state':{'waiting':{'reason':"
          "'CrashLoopBackOff'}}}]",
          "'0/1' 'CrashLoopBackOff' '5'" },
        { "'phase':'Succeeded','containerStatuses':[{'state':{'terminated':{'exitCode':0,'reason':"
          "'Completed'}}}]",
          "'0/1' 'Completed' '0'" },
        { "'phase':'Failed','containerStatuses':[{'state':{'terminated':{'exitCode':137,'signal':"
          "9}}}]",
          "'0/1' 'Signal:9' '0'" },
        { "'phase':'Failed','reason':'Evicted'", "'0/1' 'Evicted' '0'" },
        { "'phase':'Pending','initContainerStatuses':[{'name':'i','state':{'running':{}}}]",
          "'0/1' 'Init:0/0' '0'" },
        { "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':"
          "'SchedulingGated'}]",
          "'0/1' 'SchedulingGated' '0'" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        char object[600], want[200];
        (void)snprintf(object, sizeof object,
                       "{" META ",'spec':{'containers':[{'name':'c'}],'nodeName':'n'},"
                       "'status':{%s}}",
                       list[i].status);
        (void)snprintf(want, sizeof want, "'p' %s '5h' '<none>' 'n' '<none>' '<none>'",
                       list[i].want);
        expect_row("Pod", object, want);
    }
}

static void test_rows_of_other_kinds(void **state)
{
    (void)state;
    expect_row("Node",
               "{'metadata':{'name':'n','creationTimestamp':'2026-01-01T00:00:00Z','labels':"
               "{'node-role.kubernetes.io/worker':'','node-role.kubernetes.io/a':''}},'spec':"
               "{'unschedulable':true},'status':{'conditions':[{'type':'Ready','status':'True'}],"
               "'addresses':[{'type':'InternalIP','address':'1.1.1.1'}],'nodeInfo':"
               "{'kubeletVersion':'v1.35'}}}",
               "'n' 'Ready,SchedulingDisabled' 'a,worker' '5h' 'v1.35' '1.1.1.1' '<none>' "
               "'<unknown>' '<unknown>' '<unknown>'");
    expect_row("Job",
               "{" META ",'spec':{'parallelism':3},'status':{'succeeded':1,'startTime':"
               "'2026-01-01T04:59:00Z'}}",
               "'p' 'Running' '1/1 of 3' '60s' '5h' '' '' '<none>'");
    expect_row("Deployment",
               "{" META ",'spec':{'replicas':2,'selector':{'matchLabels':{'b':'1','a':'2'},"
               "'matchExpressions':[{'key':'k','operator':'In','values':['x','y']}]}},'status':"
               "{'readyReplicas':1,'updatedReplicas':2}}",
               "'p' '1/2' 2 0 '5h' '' '' 'a=2,b=1,k in (x,y)'");
    expect_row("PodDisruptionBudget", "{" META ",'spec':{'maxUnavailable':'10%'}}",
               "'p' 'N/A' '10%' 0 '5h'");
}

static void test_ages_have_at_most_two_units(void **state)
{
    static const struct {
        int64_t seconds;
        const char *want;
    } list[] = {
        { 0, "0s" },          { 119, "119s" },          { 120, "2m" },
        { 125, "2m5s" },      { 600, "10m" },           { 10799, "179m" },
        { 10800, "3h" },      { 11100, "3h5m" },        { 8 * 3600, "8h" },
        { 47 * 3600, "47h" }, { 48 * 3600, "2d" },      { 49 * 3600, "2d1h" },
        { 8 * 86400, "8d" },  { 800 * 86400, "2y70d" }, { 4000LL * 86400, "10y" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        char t[KTIME_TEXT_MAX];
        ktime_format(now - list[i].seconds * NSEC_PER_SEC, t);
        CLEANUP(mem_free)
        char *object = xasprintf("{'metadata':{'name':'x','creationTimestamp':'%s'}}", t);
        CLEANUP(mem_free) char *want = xasprintf("'x' '%s'", list[i].want);
        expect_row("ServiceAccount", object, want);
    }
    expect_row("ServiceAccount", "{'metadata':{'name':'x'}}", "'x' '<unknown>'");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_story_of_a_pod),
        cmocka_unit_test(test_rows_of_other_kinds),
        cmocka_unit_test(test_ages_have_at_most_two_units),
    };

    assert(ktime_parse("2026-01-01T05:00:00Z", 20, &now, NULL) == 0);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
