/* test_runtimeproxy_docker_json.c - Docker's bodies read and written; which requests hooks see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "runtimeproxy/docker.h"
#include "runtimeproxy/docker_json.h"

#define assert_str(s, text) assert_true(str_eqz((s), (text)))

static struct kj_doc *parsed(const char *text)
{
    struct kj_doc *doc = NULL;

    assert_int_equal(kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &doc, NULL), 0);
    return doc;
}

static void test_systemd_parents(void **state)
{
    static const struct {
        const char *name, *path;
    } cases[] = {
        { "kubepods-besteffort-podX.slice",
          "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podX.slice" },
        { "kubepods.slice", "/kubepods.slice" },
        { "/kubepods/besteffort/podX", "/kubepods/besteffort/podX" },
        { "/kubepods.slice/kubepods-podX.slice", "/kubepods.slice/kubepods-podX.slice" },
        { "-.slice", "-.slice" },
        { "a--b.slice", "a--b.slice" },
        { ".slice", ".slice" },
        { "", "" },
    };
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_str(docker_parent_expand(str_of(cases[i].name), a), cases[i].path);
}

static void test_names(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct docker_name n;

    (void)state;
    assert_true(docker_name_split("k8s_main_web-0_default_uid-1_3", a, &n));
    assert_str(n.container, "main");
    assert_str(n.pod, "web-0");
    assert_str(n.ns, "default");
    assert_str(n.uid, "uid-1");
    assert_int_equal(n.attempt, 3);
    assert_true(docker_name_split("/k8s_POD_web-0_default_uid-1_0_5e1f", a, &n));
    assert_str(n.container, "POD");
    assert_true(docker_name_split("k8s_main_web_default_uid_x", a, &n));
    assert_int_equal(n.attempt, 0);
    assert_false(docker_name_split("k8s_main_web_default_uid", a, &n)); /* five parts */
    assert_false(docker_name_split("k8s_main_web_default_uid_0_1_2", a, &n));
    assert_false(docker_name_split("", a, &n));
}

static void test_which_requests(void **state)
{
    static const struct {
        const char *method, *target;
        enum docker_verb verb;
        const char *id;
    } cases[] = {
        { "POST", "/containers/create?name=x", DOCKER_CREATE, "" },
        { "POST", "/v1.41/containers/create", DOCKER_CREATE, "" },
        { "POST", "/v1.39/containers/ab12/start", DOCKER_START, "ab12" },
        { "POST", "/containers/ab12/stop?t=10", DOCKER_STOP, "ab12" },
        { "POST", "/v1.41/containers/ab_12/update", DOCKER_UPDATE, "ab_12" },
        { "DELETE", "/v1.41/containers/ab12?force=1", DOCKER_REMOVE, "ab12" },
        { "GET", "/v1.41/containers/ab12/json", DOCKER_OTHER, "" },
        { "GET", "/containers/create", DOCKER_OTHER, "" },
        { "POST", "/v1/containers/create", DOCKER_OTHER, "" },
        { "POST", "/v1./containers/create", DOCKER_OTHER, "" },
        { "POST", "/containers/a-b/stop", DOCKER_OTHER, "" },
        { "POST", "/containers//stop", DOCKER_OTHER, "" },
        { "POST", "/containers/ab12/stop/x", DOCKER_OTHER, "" },
        { "POST", "/containers/ab12/attach", DOCKER_OTHER, "" },
        { "DELETE", "/containers/", DOCKER_OTHER, "" },
        { "POST", "/images/create?fromImage=x", DOCKER_OTHER, "" },
        { "POST", "", DOCKER_OTHER, "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str id;
        enum docker_verb v = docker_verb(cases[i].method, str_of(cases[i].target), &id);
        assert_int_equal(v, cases[i].verb);
        assert_str(id, cases[i].id);
    }
}

#define POD_BODY                                                                                  \
    "{\"Image\":\"pause\",\"Labels\":{\"io.kubernetes.docker.type\":\"podsandbox\",\"app\":"      \
    "\"web\",\"annotation.a/b\":\"c\"},\"HostConfig\":{\"CgroupParent\":\"kubepods-podX.slice\"," \
    "\"CpuShares\":2,\"OomScoreAdj\":-998,\"Odd\":0.10}}"

static void test_a_sandbox(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = parsed(POD_BODY);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct kj_val *root = kj_root(doc);
    struct docker_created c;
    struct docker_name n;

    (void)state;
    assert_true(docker_name_split("k8s_POD_web_default_uid_0", a, &n));
    docker_read_create(root, kj_get(root, "HostConfig"), &n, true, a, &c);
    assert_true(c.is_pod);
    const struct cri_pod_config *p = c.run.config;
    assert_str(p->metadata->name, "web");
    assert_str(c.run.runtime_handler, "docker");
    assert_int_equal(p->labels.n, 2);
    assert_int_equal(p->annotations.n, 1);
    assert_str(p->annotations.items[0].key, "a/b");
    assert_str(p->linux_pod->cgroup_parent, "/kubepods.slice/kubepods-podX.slice");
    assert_int_equal(p->linux_pod->resources->oom_score_adj, -998);
    docker_write_create(root, &c, true, &out);
    assert_string_equal(strbuf_str(&out), POD_BODY); /* nothing was changed */
    /* What a hook changes: a label, an annotation, the cgroup, resources. */
    struct wire_pair label = { STR("x"), STR("1") }, annotation = { STR("a/b"), STR("d") };
    c.run.config->labels = (wire_map){ &label, 1 };
    c.run.config->annotations = (wire_map){ &annotation, 1 };
    p->linux_pod->cgroup_parent = STR("/koord.slice/koord-be.slice");
    p->linux_pod->resources->cpu_quota = -1;
    strbuf_reset(&out);
    docker_write_create(root, &c, true, &out);
    assert_string_equal(strbuf_str(&out),
                        "{\"Image\":\"pause\",\"Labels\":{\"io.kubernetes.docker.type\":"
                        "\"podsandbox\",\"app\":\"web\",\"annotation.a/b\":\"d\",\"x\":\"1\"},"
                        "\"HostConfig\":{\"CgroupParent\":\"koord-be.slice\",\"CpuShares\":2,"
                        "\"OomScoreAdj\":-998,\"Odd\":0.10,\"CpuQuota\":-1}}");
}

static void test_a_container(void **state)
{
    static const char body[] = "{\"Env\":[\"A=1\",\"INHERITED\",\"B=x=y\",\"A=2\"],\"Labels\":"
                               "{\"io.kubernetes.sandbox.id\":\"s1\"}}";
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = parsed(body);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct kj_val *root = kj_root(doc);
    struct docker_created c;
    struct docker_name n;

    (void)state;
    assert_true(docker_name_split("k8s_main_web_default_uid_2", a, &n));
    docker_read_create(root, kj_get(root, "HostConfig"), &n, false, a, &c);
    assert_false(c.is_pod);
    assert_str(c.create.pod_id, "s1");
    assert_int_equal(c.create.config->metadata->attempt, 2);
    assert_int_equal(c.create.config->envs.n, 3);
    assert_str(c.create.config->envs.items[1].key, "B");
    assert_str(c.create.config->envs.items[1].value, "x=y");
    c.create.config->envs.items[0].value = STR("9");
    c.create.config->linux_container->resources->cpuset_cpus = STR("0-3");
    c.create.pod_config->linux_pod->cgroup_parent = STR("/kubepods/be");
    docker_write_create(root, &c, false, &out);
    assert_string_equal(strbuf_str(&out),
                        "{\"Env\":[\"INHERITED\",\"A=9\",\"B=x=y\",\"A=2\"],\"Labels\":"
                        "{\"io.kubernetes.sandbox.id\":\"s1\"},\"HostConfig\":{\"CpusetCpus\":"
                        "\"0-3\",\"CgroupParent\":\"/kubepods/be\"}}");
}

static void test_an_update(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = parsed("{\"CpuShares\":512,\"OomScoreAdj\":3,\"RestartPolicy\":{}}");
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct cri_resources r;

    (void)state;
    docker_read_update(kj_root(doc), a, &r);
    assert_int_equal(r.cpu_shares, 512);
    assert_int_equal(r.oom_score_adj, 0); /* not of an update */
    r.cpu_quota = 20000;
    r.oom_score_adj = -998;
    docker_write_update(kj_root(doc), &r, &out);
    assert_string_equal(
        strbuf_str(&out),
        "{\"CpuShares\":512,\"OomScoreAdj\":3,\"RestartPolicy\":{},\"CpuQuota\":20000}");
}

/* Types that are wrong are dockerd's to complain about. */
static void test_odd_bodies_are_read(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{\"Labels\":[1],\"Env\":{\"a\":1},\"HostConfig\":\"x\"}",
        ("{\"Labels\":{\"a\":1,\"annotation.\":\"\"},\"Env\":[1,null,\"=\"],"
         "\"HostConfig\":{\"CpuShares\":\"many\",\"Memory\":1e99,\"CpusetCpus\":7}}"),
    };

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(bodies); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        CLEANUP(kj_doc_free) struct kj_doc *doc = parsed(bodies[i / 2]);
        CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
        const struct kj_val *root = kj_root(doc);
        struct docker_name n = { .pod = STR("p") };
        struct docker_created c;
        docker_read_create(root, kj_get(root, "HostConfig"), &n, i % 2, a, &c);
        docker_write_create(root, &c, i % 2, &out);
        kj_doc_free(parsed(strbuf_str(&out)));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systemd_parents),     cmocka_unit_test(test_names),
        cmocka_unit_test(test_which_requests),      cmocka_unit_test(test_a_sandbox),
        cmocka_unit_test(test_a_container),         cmocka_unit_test(test_an_update),
        cmocka_unit_test(test_odd_bodies_are_read),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
