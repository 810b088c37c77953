/* test_wire_messages.c - tables of CRI, hooks and NRI: known bytes, and what is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/wire/hook.h"
#include "api/wire/nri.h"

/* ---- order of the tables --------------------------------------------------------------------- */

static const struct wire_table *const tables[] = {
    &cri_resources_table,
    &cri_pod_metadata_table,
    &cri_run_pod_request_table,
    &cri_id_table,
    &cri_create_request_table,
    &cri_update_request_table,
    &cri_pod_list_table,
    &cri_container_list_table,
    &cri_status_request_table,
    &cri_container_status_response_table,
    &cri_pod_status_response_table,
    &cri_version_table,
    &hook_pod_request_table,
    &hook_pod_response_table,
    &hook_container_request_table,
    &hook_container_response_table,
    &nri_register_request_table,
    &nri_configure_request_table,
    &nri_configure_response_table,
    &nri_synchronize_request_table,
    &nri_synchronize_response_table,
    &nri_container_request_table,
    &nri_create_response_table,
    &nri_update_response_table,
    &nri_state_change_table,
};

static void check_table(const struct wire_table *t)
{
    assert_true(t->n > 0 && t->n <= WIRE_MEMBERS_MAX);
    for (unsigned i = 0; i < t->n; i++) {
        const struct wire_member *m = &t->members[i];
        bool has_sub = m->kind == WK_MSG || m->kind == WK_MSGS;
        if (i > 0 && m->num <= t->members[i - 1].num)
            fail_msg("%s: field %u is out of order", t->name, m->num);
        if (has_sub != (m->sub != NULL))
            fail_msg("%s: field %u and its table", t->name, m->num);
        if (has_sub)
            check_table(m->sub);
    }
}

static void test_tables_are_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        check_table(tables[i]);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void test_no_quota_is_ten_bytes(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    wire_encode(&cri_resources_table, &(struct cri_resources){ .cpu_quota = -1 }, &out);
    assert_int_equal(out.len, 11);
    assert_memory_equal(out.data, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
}

/* A request with a field of a later kubelet, changed in one place. */
static void test_unknown_fields_come_back(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT, config = STRBUF_INIT, out = STRBUF_INIT;
    struct cri_create_request r;

    (void)state;
    wire_put_bytes(&config, 2, STR("image"));
    wire_put_bytes(&config, 99, STR("new"));
    wire_put_bytes(&in, 1, STR("pod"));
    wire_put_bytes(&in, 2, (struct str){ config.data, config.len });
    wire_put_varint(&in, 77, 5);
    assert_int_equal(
        wire_decode(&cri_create_request_table, (struct str){ in.data, in.len }, a, &r, NULL), 0);
    r.config->linux_container = arena_new0(a, struct cri_linux_container);
    wire_encode(&cri_create_request_table, &r, &out);
    struct cri_create_request again;
    assert_int_equal(
        wire_decode(&cri_create_request_table, (struct str){ out.data, out.len }, a, &again, NULL),
        0);
    assert_non_null(again.config->linux_container);
    assert_true(str_eq(again.config->unknown, (struct str){ config.data, config.len }));
    assert_true(str_eq(again.unknown, r.unknown));
    assert_int_equal(again.unknown.n, 3);
}

/* An empty message is present with zero. */
static void test_optional_zero_is_not_absent(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct nri_number zero = { 0 };
    struct nri_cpu cpu = { .quota = &zero };
    struct nri_resources res = { .cpu = &cpu };
    struct nri_container_request in = { .resources = &res }, back;

    (void)state;
    wire_encode(&nri_container_request_table, &in, &out);
    assert_int_equal(wire_decode(&nri_container_request_table, (struct str){ out.data, out.len }, a,
                                 &back, NULL),
                     0);
    assert_non_null(back.resources->cpu->quota);
    assert_int_equal(back.resources->cpu->quota->value, 0);
    assert_null(back.resources->cpu->shares);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_in_order),
        cmocka_unit_test(test_no_quota_is_ten_bytes),
        cmocka_unit_test(test_unknown_fields_come_back),
        cmocka_unit_test(test_optional_zero_is_not_absent),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
