/* test_runtimeproxy_merge.c - what hooks change in CRI requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "runtimeproxy/merge.h"

static struct wire_pair pair(const char *k, const char *v)
{
    return (struct wire_pair){ str_of(k), str_of(v) };
}

static const char *value_of(const wire_map *m, const char *key)
{
    static char text[64];

    for (uint32_t i = 0; i < m->n; i++)
        if (str_eqz(m->items[i].key, key)) {
            snprintf(text, sizeof text, "%.*s", (int)m->items[i].value.n, m->items[i].value.p);
            return text;
        }
    return NULL;
}

/* ---- a container that is created ------------------------------------------------------------- */

struct creating {
    struct arena *a;
    struct cri_resources resources;
    struct cri_linux_container linux_container;
    struct cri_container_metadata meta;
    struct cri_container_config config;
    struct cri_linux_pod linux_pod;
    struct cri_pod_config pod_config;
    struct cri_create_request in;
    struct hook_pod_request pod;
    struct hook_container_request about;
    struct strbuf changes;
};

static void creating_init(struct creating *c)
{
    *c = (struct creating){ .a = arena_new(), .meta.name = STR("main"), .meta.attempt = 2 };
    c->linux_container.resources = &c->resources;
    c->config.metadata = &c->meta;
    c->config.linux_container = &c->linux_container;
    c->pod_config.linux_pod = &c->linux_pod;
    c->in = (struct cri_create_request){ .pod_id = STR("p"),
                                         .config = &c->config,
                                         .pod_config = &c->pod_config };
}

static void creating_fini(struct creating *c)
{
    arena_free(c->a);
    strbuf_fini(&c->changes);
}

static bool created(struct creating *c, const struct hook_container_response *r)
{
    merge_from_create(&c->in, &c->pod, c->a, &c->about);
    merge_container(&c->about, r, c->a);
    return merge_to_create(&c->about, c->a, &c->in, &c->changes);
}

static void test_response_over_a_container(void **state)
{
    struct creating c;
    struct wire_pair a = pair("A", "a"), b = pair("B", "b");
    struct cri_resources r = {
        .cpu_period = 2000, .cpu_shares = 100, .oom_score_adj = 20, .unified = { &b, 1 }
    };

    (void)state;
    creating_init(&c);
    c.resources = (struct cri_resources){
        .cpu_period = 1000, .cpu_shares = 500, .oom_score_adj = 10, .unified = { &a, 1 }
    };
    assert_true(created(&c, &(struct hook_container_response){
                                .resources = &r, .cgroup_parent = STR("/offline/besteffort") }));
    const struct cri_resources *out = c.in.config->linux_container->resources;
    assert_int_equal(out->cpu_period, 2000);
    assert_int_equal(out->cpu_shares, 100);
    assert_int_equal(out->oom_score_adj, 20);
    assert_string_equal(value_of(&out->unified, "A"), "a");
    assert_string_equal(value_of(&out->unified, "B"), "b");
    assert_true(str_eqz(c.in.pod_config->linux_pod->cgroup_parent, "/offline/besteffort"));
    assert_contains(strbuf_str(&c.changes), "cpu_period: 1000 -> 2000; ");
    assert_contains(strbuf_str(&c.changes), "cgroup_parent: '' -> '/offline/besteffort'; ");
    creating_fini(&c);
}

/* Zero says nothing but for the OOM score; an empty cpuset clears; hugepages stay. */
static void test_what_counts_as_said(void **state)
{
    struct creating c;
    struct cri_hugepage huge = { .page_size = STR("2MB"), .limit = 5 };
    struct cri_resources r = { .cpu_quota = -1, .memory_limit = -1 };

    (void)state;
    creating_init(&c);
    c.resources = (struct cri_resources){ .cpu_period = 100000,
                                          .cpu_quota = 50000,
                                          .cpu_shares = 512,
                                          .memory_limit = 1 << 20,
                                          .memory_swap_limit = 7,
                                          .oom_score_adj = 999,
                                          .cpuset_cpus = STR("0-64"),
                                          .cpuset_mems = STR("0"),
                                          .hugepage_limits = { &huge, 1 } };
    assert_true(created(&c, &(struct hook_container_response){ .resources = &r }));
    const struct cri_resources *out = c.in.config->linux_container->resources;
    assert_int_equal(out->cpu_period, 100000);
    assert_int_equal(out->cpu_quota, -1);
    assert_int_equal(out->cpu_shares, 512);
    assert_int_equal(out->memory_limit, 1 << 20);
    assert_int_equal(out->memory_swap_limit, 7);
    assert_int_equal(out->oom_score_adj, 0);
    assert_int_equal(out->cpuset_cpus.n, 0);
    assert_int_equal(out->cpuset_mems.n, 0);
    assert_int_equal(out->hugepage_limits.n, 1);
    creating_fini(&c);
}

static void test_nothing_said_changes_nothing(void **state)
{
    struct creating c;
    struct cri_env env = { .key = STR("PATH"), .value = STR("/bin") };

    (void)state;
    creating_init(&c);
    c.resources.cpu_shares = 2;
    c.config.envs.items = &env;
    c.config.envs.n = 1;
    assert_false(created(&c, &(struct hook_container_response){ 0 }));
    assert_int_equal(c.changes.len, 0);
    /* Nor does an echo. */
    struct wire_pair same = pair("PATH", "/bin");
    assert_false(created(
        &c, &(struct hook_container_response){ .resources = &c.resources, .envs = { &same, 1 } }));
    creating_fini(&c);
}

/* A request of few words: what is missing is made. */
static void test_linux_parts_are_made_on_demand(void **state)
{
    struct creating c;
    struct cri_resources r = { .cpu_quota = 5000 };
    struct wire_pair env = pair("E", "1");

    (void)state;
    creating_init(&c);
    c.in.config = NULL;
    c.in.pod_config = NULL;
    assert_true(created(&c, &(struct hook_container_response){ .resources = &r,
                                                               .cgroup_parent = STR("/x"),
                                                               .envs = { &env, 1 } }));
    assert_int_equal(c.in.config->linux_container->resources->cpu_quota, 5000);
    assert_true(str_eqz(c.in.pod_config->linux_pod->cgroup_parent, "/x"));
    assert_int_equal(c.in.config->envs.n, 1);
    creating_fini(&c);
}

static void test_environment_keeps_its_order(void **state)
{
    struct creating c;
    struct cri_env envs[] = { { .key = STR("Z"), .value = STR("1") },
                              { .key = STR("GONE"), .value = STR("x") },
                              { .key = STR("A"), .value = STR("2") } };
    struct wire_pair said[] = { pair("NEW2", "n2"), pair("A", "changed"), pair("NEW1", "n1"),
                                pair("Z", "1") };

    (void)state;
    creating_init(&c);
    c.config.envs.items = envs;
    c.config.envs.n = 3;
    assert_true(created(&c, &(struct hook_container_response){ .envs = { said, 4 } }));
    static const char *const want[] = { "Z=1", "A=changed", "NEW1=n1", "NEW2=n2" };
    assert_int_equal(c.in.config->envs.n, 4);
    for (uint32_t i = 0; i < 4; i++) {
        char text[64];
        const struct cri_env *e = &c.in.config->envs.items[i];
        snprintf(text, sizeof text, "%.*s=%.*s", (int)e->key.n, e->key.p, (int)e->value.n,
                 e->value.p);
        assert_string_equal(text, want[i]);
    }
    creating_fini(&c);
}

static void test_container_request_of_hooks(void **state)
{
    struct creating c;
    struct wire_pair label = pair("l", "1"), anno = pair("a", "2");
    struct cri_pod_metadata meta = { .name = STR("pod") };
    struct cri_resources pod_resources = { .cpu_shares = 9 };

    (void)state;
    creating_init(&c);
    c.config.linux_container = NULL;
    c.linux_pod.cgroup_parent = STR("/kubepods/besteffort/podx");
    c.pod = (struct hook_pod_request){ .pod = &meta,
                                       .labels = { &label, 1 },
                                       .annotations = { &anno, 1 },
                                       .resources = &pod_resources };
    merge_from_create(&c.in, &c.pod, c.a, &c.about);
    assert_ptr_equal(c.about.pod, &meta);
    assert_true(str_eqz(c.about.container->name, "main"));
    assert_int_equal(c.about.container->attempt, 2);
    assert_non_null(c.about.resources); /* absent: an empty message */
    assert_int_equal(c.about.pod_resources->cpu_shares, 9);
    assert_true(str_eqz(c.about.cgroup_parent, "/kubepods/besteffort/podx"));
    assert_int_equal(c.about.pod_labels.n, 1);
    creating_fini(&c);
}

/* ---- update ---------------------------------------------------------------------------------- */

static void test_update_over_what_is_cached(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf changes = STRBUF_INIT;
    struct cri_resources has = { .cpu_quota = 1000,
                                 .oom_score_adj = 10,
                                 .cpuset_cpus = STR("0-3") };
    struct cri_resources wants = { .cpu_quota = 2000, .oom_score_adj = 20 };
    struct hook_container_request cached = { .resources = &has };
    struct cri_update_request in = { .container_id = STR("c"), .resources = &wants };

    (void)state;
    merge_from_update(&in, a, &cached);
    assert_int_equal(cached.resources->cpu_quota, 2000);
    assert_int_equal(cached.resources->oom_score_adj, 10);
    assert_true(str_eqz(cached.resources->cpuset_cpus, "0-3"));
    assert_true(merge_to_update(&cached, a, &in, &changes));
    assert_int_equal(in.resources->cpu_quota, 2000);
    assert_int_equal(in.resources->oom_score_adj, 10);
    assert_true(str_eqz(in.resources->cpuset_cpus, "0-3"));
}

static void test_update_without_a_base(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf changes = STRBUF_INIT;
    struct cri_resources wants = { .cpu_quota = 2000, .oom_score_adj = 20 };
    struct hook_container_request cached = { 0 };
    struct cri_update_request in = { .container_id = STR("c"), .resources = &wants };

    (void)state;
    merge_from_update(&in, a, &cached);
    assert_false(merge_to_update(&cached, a, &in, &changes));
    assert_int_equal(in.resources->oom_score_adj, 20);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void test_pod(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf changes = STRBUF_INIT;
    struct wire_pair was[] = { pair("a", "1"), pair("b", "2") };
    struct wire_pair said[] = { pair("b", "3"), pair("c", "4") };
    struct cri_resources ignored = { .cpu_quota = 5 };
    struct cri_pod_config config = { .labels = { was, 2 } };
    struct cri_run_pod_request in = { .config = &config, .runtime_handler = STR("kata") };
    struct hook_pod_request about;

    (void)state;
    merge_from_run_pod(&in, &about);
    assert_true(str_eqz(about.runtime_handler, "kata"));
    merge_pod(&about,
              &(struct hook_pod_response){
                  .labels = { said, 2 }, .cgroup_parent = STR("/x"), .resources = &ignored },
              a);
    assert_true(merge_to_run_pod(&about, a, &in, &changes));
    assert_int_equal(in.config->labels.n, 3);
    assert_string_equal(value_of(&in.config->labels, "a"), "1");
    assert_string_equal(value_of(&in.config->labels, "b"), "3");
    assert_string_equal(value_of(&in.config->labels, "c"), "4");
    assert_true(str_eqz(in.config->linux_pod->cgroup_parent, "/x"));
    assert_null(in.config->linux_pod->resources);
}

/* ---- answers that are none ------------------------------------------------------------------- */

static void read_bad(const struct cri_resources *r)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct hook_container_response in = { .resources = (struct cri_resources *)r }, back;
    struct kerr err;

    wire_encode(&hook_container_response_table, &in, &out);
    assert_true(merge_read_container((struct str){ out.data, out.len }, a, &back, &err) < 0);
    assert_non_null(strstr(err.text, "no kernel takes"));
}

static void test_absurd_resources(void **state)
{
    (void)state;
    read_bad(&(struct cri_resources){ .cpu_quota = -5 });
    read_bad(&(struct cri_resources){ .cpu_quota = 1 });
    read_bad(&(struct cri_resources){ .cpu_period = 1 });
    read_bad(&(struct cri_resources){ .cpu_period = INT64_MAX });
    read_bad(&(struct cri_resources){ .cpu_shares = -1 });
    read_bad(&(struct cri_resources){ .cpu_shares = INT64_MAX });
    read_bad(&(struct cri_resources){ .memory_limit = INT64_MIN });
    read_bad(&(struct cri_resources){ .cpuset_cpus = STR("all") });
    read_bad(&(struct cri_resources){ .cpuset_cpus = STR("-1") });
}

static void test_answer_of_another_kind(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct wire_pair p = pair("k", "v");
    struct hook_container_response back;
    struct kerr err;

    (void)state;
    /* A pod's: its annotations stand where a container's resources do. */
    wire_encode(&hook_pod_response_table, &(struct hook_pod_response){ .annotations = { &p, 1 } },
                &out);
    assert_true(merge_read_container((struct str){ out.data, out.len }, a, &back, &err) < 0);
    assert_contains(err.text, "no ContainerResourceHookResponse");
    /* A number where a message should be. */
    strbuf_reset(&out);
    wire_put_varint(&out, 2, 7);
    assert_true(merge_read_container((struct str){ out.data, out.len }, a, &back, &err) < 0);
    /* Cut off. */
    assert_true(merge_read_container(STR("\x12\x7f\x01"), a, &back, &err) < 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_response_over_a_container),
        cmocka_unit_test(test_what_counts_as_said),
        cmocka_unit_test(test_nothing_said_changes_nothing),
        cmocka_unit_test(test_linux_parts_are_made_on_demand),
        cmocka_unit_test(test_environment_keeps_its_order),
        cmocka_unit_test(test_container_request_of_hooks),
        cmocka_unit_test(test_update_over_what_is_cached),
        cmocka_unit_test(test_update_without_a_base),
        cmocka_unit_test(test_pod),
        cmocka_unit_test(test_absurd_resources),
        cmocka_unit_test(test_answer_of_another_kind),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
