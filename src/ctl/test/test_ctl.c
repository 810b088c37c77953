/* test_ctl.c - koordctl against a scripted server, on the virtual loop. */
#include "base/test/asserts.h"
#include "ctl/test/fixture.h"

#define DEFS                                                     \
    "\"columnDefinitions\":[{\"name\":\"Name\",\"priority\":0}," \
    "{\"name\":\"Status\",\"priority\":0},{\"name\":\"Internal-IP\",\"priority\":1}]"
#define ROW(name, rv, status)                                                                    \
    "{\"cells\":[\"" name "\",\"" status                                                         \
    "\",\"10.0.0.1\"],\"object\":{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" rv \
    "\"}}}"
#define TABLE(meta, rows) \
    "{\"kind\":\"Table\",\"metadata\":{" meta "}," DEFS ",\"rows\":[" rows "]}"
#define EVENT(type, row) \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"Table\",\"rows\":[" row "]}}\n"

static void test_lists_pages_as_one_table(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f, (struct fake_answer){ "/api/v1/nodes?limit=", 200,
                                         TABLE("\"continue\":\"c1\"", ROW("n1", "1", "Ready")) });
    fake_add(&b.f, (struct fake_answer){
                       "/api/v1/nodes?continue=c1", 200,
                       TABLE("\"resourceVersion\":\"9\"", ROW("longer-name", "2", "NotReady")) });
    assert_int_equal(run(&b, "get", "no"), CTL_OK);
    assert_string_equal(b.out, "NAME          STATUS\nn1            Ready\nlonger-name   "
                               "NotReady\n");
    assert_string_equal(b.err, "");
    assert_string_equal(strbuf_str(&b.f.log),
                        "GET /api/v1/nodes?limit=500;GET /api/v1/nodes?continue=c1&limit=500;");
    assert_starts(b.f.accept, "application/json;as=Table");
    assert_int_equal(run(&b, "-o", "wide", "get", "nodes", "--no-headers"), CTL_OK);
    assert_string_equal(b.out, "n1            Ready      10.0.0.1\n"
                               "longer-name   NotReady   10.0.0.1\n");
    fixture_fini(&b);
}

static void test_empty_lists_and_namespaces(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f, (struct fake_answer){ "/api/v1/", 200, TABLE("", "") });
    assert_int_equal(run(&b, "get", "pods", "-n", "kube-system", "-l", "app=x"), CTL_OK);
    assert_string_equal(b.err, "No resources found in kube-system namespace.\n");
    assert_string_equal(b.out, "");
    assert_string_equal(strbuf_str(&b.f.log),
                        "GET /api/v1/namespaces/kube-system/pods?labelSelector=app%3Dx&limit=500;");
    assert_int_equal(run(&b, "get", "pods", "-A"), CTL_OK);
    assert_string_equal(b.err, "No resources found\n");
    assert_string_equal(strbuf_str(&b.f.log), "GET /api/v1/pods?limit=500;");
    fixture_fini(&b);
}

static void test_objects_get_their_type(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f, (struct fake_answer){
                       "/api/v1/nodes?", 200,
                       "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":["
                       "{\"metadata\":{\"name\":\"n1\",\"managedFields\":[{\"a\":1}]}}]}" });
    fake_add(&b.f, (struct fake_answer){ "/api/v1/nodes/n1", 200,
                                         "{\"kind\":\"Node\",\"apiVersion\":\"v1\","
                                         "\"metadata\":{\"name\":\"n1\"}}" });
    assert_int_equal(run(&b, "get", "nodes", "-ojson"), CTL_OK);
    assert_string_equal(b.out, "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n"
                               "            \"apiVersion\": \"v1\",\n"
                               "            \"kind\": \"Node\",\n"
                               "            \"metadata\": {\n"
                               "                \"name\": \"n1\"\n            }\n        }\n"
                               "    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n"
                               "        \"resourceVersion\": \"\"\n    }\n}\n");
    assert_int_equal(run(&b, "get", "node/n1", "-o", "yaml"), CTL_OK);
    assert_string_equal(b.out, "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n");
    assert_int_equal(run(&b, "get", "node", "n1", "-o", "name"), CTL_OK);
    assert_string_equal(b.out, "node/n1\n");
    fixture_fini(&b);
}

static void test_kinds_are_discovered(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f, (struct fake_answer){ "/api/v1", 200,
                                         "{\"resources\":[{\"name\":\"pods\","
                                         "\"kind\":\"Pod\"}]}" });
    fake_add(&b.f,
             (struct fake_answer){ "/apis/example.com/v1/", 200, TABLE("", ROW("w", "1", "ok")) });
    fake_add(&b.f, (struct fake_answer){
                       "/apis/example.com/v1", 200,
                       "{\"resources\":[{\"name\":\"widgets/status\",\"kind\":\"Widget\"},"
                       "{\"name\":\"widgets\",\"singularName\":\"widget\",\"kind\":\"Widget\","
                       "\"namespaced\":true,\"shortNames\":[\"wg\"]}]}" });
    fake_add(&b.f, (struct fake_answer){
                       "/apis", 200,
                       "{\"groups\":[{\"preferredVersion\":{\"groupVersion\":\"broken.io/v1\"}},"
                       "{\"preferredVersion\":{\"groupVersion\":\"example.com/v1\"}}]}" });
    assert_int_equal(run(&b, "get", "wg"), CTL_OK);
    assert_string_equal(b.out, "NAME   STATUS\nw      ok\n");
    assert_contains(strbuf_str(&b.f.log),
                    "GET /apis/example.com/v1/namespaces/default/widgets?limit=500;");
    assert_int_equal(run(&b, "get", "widget.example.com"), CTL_OK);
    assert_int_equal(run(&b, "get", "widget.other.com"), CTL_FAILED);
    assert_int_equal(run(&b, "get", "widgte"), CTL_FAILED);
    assert_string_equal(b.err, "error: the server has no resource type 'widgte' (did you mean "
                               "widgets?)\n");
    fixture_fini(&b);
}

#define STATUS(reason, message)                                                                    \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason "\",\"message\":\"" message \
    "\"}"

static void test_failures_are_one_line(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f, (struct fake_answer){ "/api/v1/nodes/n9", 404,
                                         STATUS("NotFound", "nodes \\\"n9\\\" not found") });
    fake_add(&b.f, (struct fake_answer){ "/api/v1/nodes?", 403,
                                         STATUS("Forbidden", "nodes is forbidden:\\nno") });
    fake_add(&b.f,
             (struct fake_answer){ "/api/v1/pods", 401, STATUS("Unauthorized", "Unauthorized") });
    fake_add(&b.f, (struct fake_answer){ "/api/v1/secrets", 0, "" });
    assert_int_equal(run(&b, "get", "node", "n9"), CTL_FAILED);
    assert_string_equal(b.err, "Error from server (NotFound): nodes \"n9\" not found\n");
    assert_int_equal(run(&b, "get", "node", "n9", "--ignore-not-found"), CTL_OK);
    assert_string_equal(b.err, "");
    assert_int_equal(run(&b, "get", "nodes"), CTL_FAILED);
    assert_string_equal(b.err, "Error from server (Forbidden): nodes is forbidden: no; ask for a "
                               "role that allows it, or choose another --context\n");
    assert_int_equal(run(&b, "get", "pods", "-A"), CTL_FAILED);
    assert_contains(b.err, "the credentials are not accepted by the API server");
    assert_int_equal(run(&b, "get", "secrets", "-A"), CTL_FAILED);
    assert_string_equal(b.err, "error: cannot talk with the API server: connect 10.0.0.1:6443: "
                               "connection refused; is the server running, and is this its "
                               "address?\n");
    assert_int_equal(run(&b, "get", "reservations"), CTL_FAILED);
    assert_string_equal(b.err,
                        "error: the server has no resource type "
                        "reservations.scheduling.koordinator.sh; is its CustomResourceDefinition "
                        "installed? (koordctl crds prints Koordinator's)\n");
    fixture_fini(&b);
}

static void test_wrong_usage_exits_2_without_a_request(void **state)
{
    static char *const lines[][6] = {
        { "koordctl", "gte", NULL },
        { "koordctl", "get", NULL },
        { "koordctl", "get", "nodes", "--wacth", NULL },
        { "koordctl", "get", "nodes", "-o", "xml", NULL },
        { "koordctl", "get", "nodes,pods", NULL },
        { "koordctl", "get", "nodes", "n1", "-lx=y", NULL },
        { "koordctl", "get", "node/n1", "n2", NULL },
        { "koordctl", "get", "pods", "p", "-A", NULL },
        { "koordctl", "get", "nodes", "../x", NULL },
        { "koordctl", "--bogus", "get", NULL },
        { "koordctl", "version", "x", NULL },
        { "koordctl", "help", "nothing", NULL },
        { "koordctl", "completion", "fish", NULL },
    };
    struct fixture b;

    (void)state;
    fixture_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_int_equal(fixture_run(&b, lines[i]), CTL_USAGE);
        assert_int_equal(strcspn(b.err, "\n"), strlen(b.err) - 1);
        assert_starts(b.err, "error: ");
        assert_string_equal(b.out, "");
        assert_int_equal(b.f.log.len, 0);
    }
    fixture_fini(&b);
}

static void test_help_and_versions(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f, (struct fake_answer){ "/version", 200, "{\"gitVersion\":\"v1.35.4\"}" });
    assert_int_equal(fixture_run(&b, (char *const[]){ "koordctl", NULL }), CTL_OK);
    assert_contains(b.out, "\n  get          Show objects of a cluster\n");
    assert_int_equal(run(&b, "get", "--help"), CTL_OK);
    assert_contains(b.out, "koordctl get KIND [NAME...] [flags]");
    assert_contains(b.out, "-w, --watch");
    assert_int_equal(run(&b, "help", "get"), CTL_OK);
    assert_contains(b.out, "-w, --watch");
    assert_int_equal(run(&b, "--version"), CTL_OK);
    assert_string_equal(b.out, "koordctl v" KOORD_VERSION "\n");
    assert_int_equal(run(&b, "version"), CTL_OK);
    assert_string_equal(b.out, "Client Version: v" KOORD_VERSION "\nServer Version: v1.35.4\n");
    assert_int_equal(run(&b, "version", "-o", "yaml"), CTL_OK);
    assert_contains(b.out, "serverVersion:\n  gitVersion: v1.35.4\n");
    b.f.n = 0;
    assert_int_equal(run(&b, "version"), CTL_FAILED);
    assert_string_equal(b.out, "Client Version: v" KOORD_VERSION "\n");
    assert_int_equal(run(&b, "completion", "bash"), CTL_OK);
    assert_contains(b.out, "complete -o default -F _koordctl koordctl\n");
    fixture_fini(&b);
}

static void check_flags(const struct fixture *b, const struct flag *flags, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CLEANUP(strbuf_fini) struct strbuf name = STRBUF_INIT;
        if (flags[i].flags & FLAG_HIDDEN || flags[i].deprecated)
            continue;
        for (const char *p = flags[i].name; *p; p++)
            strbuf_append(&name, *p == '-' ? "\\-" : (char[]){ *p, '\0' });
        CLEANUP(mem_free) char *flag = xasprintf("\\fB\\-\\-%s\\fR", strbuf_str(&name));
        assert_contains(b->out, flag);
    }
}

/* Nothing of the tables is missing in the manual page, nor is anything of it a request. */
static void test_the_manual_page_is_complete(void **state)
{
    const struct ctl_command *cmd;
    struct fixture b;
    size_t n;

    (void)state;
    fixture_init(&b);
    assert_int_equal(run(&b, "get", "--man"), CTL_OK); /* as `man` does */
    assert_starts(b.out, ".TH KOORDCTL 1 ");
    assert_int_equal(run(&b, "man"), CTL_OK);
    assert_starts(b.out, ".TH KOORDCTL 1 ");
    for (size_t i = 0; (cmd = ctl_command_at(i)); i++) {
        CLEANUP(mem_free) char *head = xasprintf("\n.SS %s", cmd->name);
        assert_contains(b.out, head);
        check_flags(&b, cmd->flags, cmd->nflags);
    }
    const struct flag *global = ctl_global_flags(&n);
    check_flags(&b, global, n);
    for (const char *p = b.out; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (*p == '.' && !str_starts(p, ".TH ") && !str_starts(p, ".S") && !str_starts(p, ".B ") &&
            !str_starts(p, ".br") && !str_starts(p, ".nf") && !str_starts(p, ".fi") &&
            !str_starts(p, ".PP") && !str_starts(p, ".TP"))
            fail_msg("a line is a request: %.40s", p);
    fixture_fini(&b);
}

static void test_completion_has_every_command_and_flag(void **state)
{
    const struct ctl_command *cmd;
    struct fixture b;

    (void)state;
    fixture_init(&b);
    assert_int_equal(run(&b, "completion", "zsh"), CTL_OK);
    assert_contains(b.out, "bashcompinit\n");
    assert_contains(b.out, "    *:--output|*:-o) words='table wide json yaml name' ;;\n");
    for (size_t i = 0; (cmd = ctl_command_at(i)); i++) {
        CLEANUP(mem_free) char *head = xasprintf("\n    %s) flags=' --", cmd->name);
        assert_contains(b.out, head);
        for (size_t k = 0; k < cmd->nflags; k++) {
            CLEANUP(mem_free) char *flag = xasprintf(" --%s ", cmd->flags[k].name);
            assert_contains(b.out, flag);
        }
    }
    fixture_fini(&b);
}

static void test_crd_manifests(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    assert_int_equal(run(&b, "crds", "-o", "name"), CTL_OK);
    assert_contains(b.out, "customresourcedefinition.apiextensions.k8s.io/"
                           "reservations.scheduling.koordinator.sh\n");
    assert_int_equal(run(&b, "crds", "device", "nodeslo"), CTL_OK);
    assert_contains(b.out, "\n  name: devices.scheduling.koordinator.sh\n");
    assert_contains(b.out, "\n  name: nodeslos.slo.koordinator.sh\n");
    assert_lacks(b.out, "reservations.scheduling");
    assert_int_equal(run(&b, "crds", "-o", "json"), CTL_OK);
    assert_starts(b.out, "{\n    \"apiVersion\": \"v1\",\n    \"items\": [");
    assert_int_equal(run(&b, "crds", "pods"), CTL_FAILED);
    assert_string_equal(b.err,
                        "error: 'pods' is none of Koordinator's kinds; koordctl crds -o name "
                        "lists them\n");
    assert_int_equal(b.f.log.len, 0);
    fixture_fini(&b);
}

/* ---- watching: each script ends with a 403, which ends the command --------------------------- */

#define END_OF_SCRIPT STATUS("Forbidden", "end")

static void test_a_watch_resumes_where_it_was_cut(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f, (struct fake_answer){
                       "/api/v1/nodes?limit", 200,
                       TABLE("\"resourceVersion\":\"5\"", ROW("n1", "1", "Ready")), .once = true });
    fake_add(&b.f, (struct fake_answer){ "/api/v1/nodes?resourceVersion=5&watch", 200,
                                         EVENT("ADDED", ROW("n2", "6", "Ready"))
                                             EVENT("MODIFIED", ROW("n1", "7", "NotReady")),
                                         .cut = -ECONNRESET });
    fake_add(&b.f, (struct fake_answer){ "/api/v1/nodes?resourceVersion=7&watch", 200,
                                         EVENT("DELETED", ROW("n2", "8", "Ready")) EVENT(
                                             "BOOKMARK", "{\"cells\":[],\"object\":{\"metadata\":{"
                                                         "\"resourceVersion\":\"20\"}}}") });
    fake_add(&b.f,
             (struct fake_answer){ "/api/v1/nodes?resourceVersion=20&watch", 403, END_OF_SCRIPT });
    assert_int_equal(run(&b, "get", "nodes", "-w", "--output-watch-events"), CTL_FAILED);
    assert_string_equal(b.out, "EVENT      NAME   STATUS\n"
                               "ADDED      n1     Ready\n"
                               "ADDED      n2     Ready\n"
                               "MODIFIED   n1     NotReady\n"
                               "DELETED    n2     Ready\n");
    assert_contains(b.err, "watch interrupted (connection reset by peer); trying again\n");
    assert_contains(b.f.log.data, "&watch=1&allowWatchBookmarks=true");
    fixture_fini(&b);
}

static void test_a_forgotten_version_lists_again_and_shows_differences(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f, (struct fake_answer){
                       "/api/v1/nodes?limit", 200,
                       TABLE("\"resourceVersion\":\"5\"",
                             ROW("same", "1", "Ready") "," ROW("changes", "2", "Ready") "," ROW(
                                 "goes", "3", "Ready")),
                       .once = true });
    fake_add(&b.f, (struct fake_answer){
                       "/api/v1/nodes?resourceVersion=5&watch", 200,
                       "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                       "\"reason\":\"Expired\",\"message\":\"too old resource version\"}}\n" });
    fake_add(&b.f, (struct fake_answer){
                       "/api/v1/nodes?limit", 200,
                       TABLE("\"resourceVersion\":\"50\"",
                             ROW("same", "1", "Ready") "," ROW("changes", "44", "NotReady") "," ROW(
                                 "new", "45", "Ready")) });
    fake_add(&b.f,
             (struct fake_answer){ "/api/v1/nodes?resourceVersion=50&watch", 403, END_OF_SCRIPT });
    assert_int_equal(run(&b, "get", "nodes", "-w"), CTL_FAILED);
    assert_string_equal(b.out, "NAME      STATUS\n"
                               "same      Ready\n"
                               "changes   Ready\n"
                               "goes      Ready\n"
                               "changes   NotReady\n"
                               "new       Ready\n"
                               "goes      Ready\n");
    assert_string_equal(b.err, "Error from server (Forbidden): end; ask for a role that allows it, "
                               "or choose another --context\n");
    fixture_fini(&b);
}

static void test_watch_survives_a_server_that_is_away(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f,
             (struct fake_answer){ "/api/v1/nodes?limit", 200,
                                   TABLE("\"resourceVersion\":\"5\"", ROW("n1", "1", "Ready")) });
    for (int i = 0; i < 5; i++)
        fake_add(&b.f,
                 (struct fake_answer){ "/api/v1/nodes?resourceVersion=5", 0, "", .once = true });
    fake_add(&b.f, (struct fake_answer){ "/api/v1/nodes?resourceVersion=5", 403, END_OF_SCRIPT });
    nsec_t before = loop_mono(b.l);
    assert_int_equal(run(&b, "get", "nodes", "-w", "--watch-only"), CTL_FAILED);
    assert_string_equal(b.out, "");
    assert_that(loop_mono(b.l) - before, >=, 31 * NSEC_PER_SEC); /* 1 + 2 + 4 + 8 + 16 */
    const char *first = strstr(b.err, "watch interrupted");
    assert_non_null(first);
    assert_lacks(first + 1, "watch interrupted"); /* said once */
    fixture_fini(&b);
}

static void test_one_object_is_watched_by_name(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b);
    fake_add(&b.f,
             (struct fake_answer){ "/api/v1/nodes/n1", 200, "{\"metadata\":{\"name\":\"n1\"}}" });
    fake_add(&b.f,
             (struct fake_answer){ "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&limit", 200,
                                   "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":["
                                   "{\"metadata\":{\"name\":\"n1\"}}]}" });
    fake_add(&b.f, (struct fake_answer){
                       "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&resourceVersion=5", 200,
                       "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\","
                       "\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\"9\"}}}\n" });
    fake_add(&b.f, (struct fake_answer){
                       "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&resourceVersion=9", 403,
                       END_OF_SCRIPT });
    assert_int_equal(run(&b, "get", "node", "n1", "-w", "-o", "yaml"), CTL_FAILED);
    assert_string_equal(b.out, "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n---\n"
                               "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n"
                               "  resourceVersion: \"9\"\n");
    assert_int_equal(run(&b, "get", "node", "other", "-w"), CTL_FAILED);
    fixture_fini(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_pages_as_one_table),
        cmocka_unit_test(test_empty_lists_and_namespaces),
        cmocka_unit_test(test_objects_get_their_type),
        cmocka_unit_test(test_kinds_are_discovered),
        cmocka_unit_test(test_failures_are_one_line),
        cmocka_unit_test(test_wrong_usage_exits_2_without_a_request),
        cmocka_unit_test(test_help_and_versions),
        cmocka_unit_test(test_the_manual_page_is_complete),
        cmocka_unit_test(test_completion_has_every_command_and_flag),
        cmocka_unit_test(test_crd_manifests),
        cmocka_unit_test(test_a_watch_resumes_where_it_was_cut),
        cmocka_unit_test(test_a_forgotten_version_lists_again_and_shows_differences),
        cmocka_unit_test(test_watch_survives_a_server_that_is_away),
        cmocka_unit_test(test_one_object_is_watched_by_name),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
