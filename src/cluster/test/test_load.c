/* test_load.c - load profiles and shapes: what is read, what is refused, what comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "cluster/cluster.h"
#include "cluster/load.h"

#define HOUR (3600 * NSEC_PER_SEC)

static struct load parse(const char *text)
{
    struct kerr err = { 0 };
    struct load l;
    if (load_parse(text, &l, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return l;
}

static void test_constant(void **state)
{
    struct load l = parse("constant:500m,1Gi");

    (void)state;
    assert_int_equal(l.low_mcpu, 500);
    assert_int_equal(l.low_bytes, 1 << 30);
    for (int i = 0; i < 100; i++) {
        struct load_usage u = load_at(&l, 1, i * HOUR);
        assert_in_range(u.mcpu, 474, 526);
        assert_in_range(u.bytes, (1 << 30) / 40 * 39, (1 << 30) / 40 * 41);
    }
    l = parse("constant:cpu=2,noise=0");
    assert_int_equal(load_at(&l, 9, 123).mcpu, 2000);
}

static void test_wave(void **state)
{
    struct load l = parse("wave:low=100m,high=2,period=24h,memory=1Gi,memory-high=2Gi,noise=0");

    (void)state;
    assert_int_equal(load_at(&l, 1, 0).mcpu, 100);
    assert_int_equal(load_at(&l, 1, 12 * HOUR).mcpu, 2000);
    assert_int_equal(load_at(&l, 1, 6 * HOUR).mcpu, 1050);
    assert_int_equal(load_at(&l, 1, 12 * HOUR).bytes, INT64_C(2) << 30);
    l = parse("wave:low=0,high=1,phase=6h,noise=0");
    assert_int_equal(load_at(&l, 1, 18 * HOUR).mcpu, 1000);
}

static void test_spikes(void **state)
{
    struct load l = parse("spikes:base=100m,peak=1,every=10m,for=1m,noise=0");
    int high = 0, other = 0;

    (void)state;
    for (int i = 0; i < 6000; i++) {
        bool a = load_at(&l, 1, i * NSEC_PER_SEC).mcpu == 1000;
        bool b = load_at(&l, 2, i * NSEC_PER_SEC).mcpu == 1000;
        high += a;
        other += a != b;
    }
    assert_int_equal(high, 600);
    assert_that(other, >, 0); /* pods do not spike together */
}

static void test_same_at_every_reading(void **state)
{
    struct load l = parse("wave:low=100m,high=2");

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct load_usage a = load_at(&l, 42, i * HOUR), b = load_at(&l, 42, i * HOUR);
        assert_int_equal(a.mcpu, b.mcpu);
        assert_int_equal(a.bytes, b.bytes);
    }
}

static void test_refusals(void **state)
{
    static const char *const bad[] = {
        "",
        "500m",
        "constant:x",
        "constant:1,2,3",
        "constant:-1",
        "wave:100m,2",
        "wave:low=2,high=1",
        "wave:high=1,period=-3h",
        "spikes:peak=1,every=1m,for=2m",
        "constant:1,noise=2",
        "wave:hight=2",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct kerr err = { 0 };
        struct load l;
        assert_that(load_parse(bad[i], &l, &err), <, 0);
        assert_that(err.text[0], !=, '\0');
    }
}

static void test_shape(void **state)
{
    struct hollow_shape_text t;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(hollow_shape_parse("50,cpu=7500m,memory=64Gi,zones=3,pods=200,label:a=b,"
                                        "label:c=d,taint:x=y:NoSchedule",
                                        &t, &err),
                     0);
    assert_int_equal(t.shape.count, 50);
    assert_int_equal(t.shape.mcpu, 7500);
    assert_int_equal(t.shape.max_pods, 200);
    assert_int_equal(t.shape.nlabels, 2);
    assert_string_equal(t.shape.labels[1].key, "c");
    assert_string_equal(t.shape.taints[0].effect, "NoSchedule");
    hollow_shape_fini(&t);
    assert_int_equal(hollow_shape_parse("2,sockets=2,numa=4,threads=1,cpu-manager=static,"
                                        "numa-policy=Restricted",
                                        &t, &err),
                     0);
    assert_int_equal(t.shape.numa, 4);
    assert_int_equal(t.shape.threads, 1);
    assert_string_equal(t.shape.cpu_manager, "static");
    assert_string_equal(t.shape.numa_policy, "Restricted");
    hollow_shape_fini(&t);
    assert_int_equal(hollow_shape_parse("gpus=8,gpu-model=H800,gpu-partitions=Honor,rdma=4,"
                                        "rdma-vfs=2,pcie=4",
                                        &t, &err),
                     0);
    assert_string_equal(t.shape.gpu_model, "H800");
    assert_string_equal(t.shape.gpu_partitions, "Honor");
    assert_int_equal(t.shape.rdma * t.shape.rdma_vfs * t.shape.pcie, 32);
    hollow_shape_fini(&t);
    assert_that(hollow_shape_parse("1,numa-policy=Always", &t, &err), <, 0);
    assert_string_equal(err.text, "shape: 'numa-policy=Always': must be None, BestEffort, "
                                  "Restricted or SingleNUMANodePodLevel");
    static const char *const bad[] = { "1,sockets=2,numa=3",
                                       "1,gpu-partitions=Always",
                                       "1,cpu-manager=dynamic",
                                       "x",
                                       "1,cpu=0",
                                       "1,cpu",
                                       "1,colour=red",
                                       "1,zones=99",
                                       "1,taint:a=b:Not",
                                       "1,label:=",
                                       "-1" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct kerr){ 0 };
        assert_that(hollow_shape_parse(bad[i], &t, &err), <, 0);
        assert_that(err.text[0], !=, '\0');
    }
}

static void test_shape_with_devices(void **state)
{
    struct hollow_shape_text t;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(hollow_shape_parse("dra=gpu.example.com:8,dra-attr:model=a100", &t, &err), 0);
    assert_int_equal(t.shape.count, 1);
    assert_int_equal(t.shape.ndrivers, 1);
    assert_string_equal(t.shape.drivers[0].name, "gpu.example.com");
    assert_int_equal(t.shape.drivers[0].count, 8);
    assert_int_equal(t.shape.drivers[0].nattrs, 1);
    assert_string_equal(t.shape.drivers[0].attrs[0].key, "model");
    assert_string_equal(t.shape.drivers[0].attrs[0].value, "a100");
    hollow_shape_fini(&t);
    /* Each property is of the driver before it; a value may have any of the other separators. */
    assert_int_equal(hollow_shape_parse("3,dra=gpu.example.com:128,dra-capacity:memory=80Gi,"
                                        "dra-attr:example.org/link=a=b:c/d,dra-attr:fw=1.2.3,"
                                        "dra=nic:0,dra-attr:speed_2=100,cpu=4",
                                        &t, &err),
                     0);
    assert_int_equal(t.shape.ndrivers, 2);
    assert_int_equal(t.shape.drivers[0].count, 128);
    assert_int_equal(t.shape.drivers[0].nattrs, 2);
    assert_string_equal(t.shape.drivers[0].attrs[0].key, "example.org/link");
    assert_string_equal(t.shape.drivers[0].attrs[0].value, "a=b:c/d");
    assert_int_equal(t.shape.drivers[0].ncapacity, 1);
    assert_string_equal(t.shape.drivers[0].capacity[0].value, "80Gi");
    assert_string_equal(t.shape.drivers[1].name, "nic");
    assert_int_equal(t.shape.drivers[1].count, 0);
    assert_string_equal(t.shape.drivers[1].attrs[0].value, "100");
    assert_int_equal(t.shape.mcpu, 4000);
    hollow_shape_fini(&t);
}

static void test_shape_with_bad_devices(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "dra=", "'dra=': must be driver:count" },
        { "dra=gpu.example.com", "must be driver:count" },
        { "dra=:8", "must be driver:count" },
        { "dra=gpu.example.com:", "must be a number up to 128" },
        { "dra=gpu.example.com:129", "must be a number up to 128" },
        { "dra=gpu.example.com:-1", "must be a number up to 128" },
        { "dra=gpu.example.com:99999999999999999999", "must be a number up to 128" },
        { "dra=GPU.example.com:8", "lower case" },
        { "dra=gpu_x:8", "lower case" },
        { "dra=aaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaa:8", "63 bytes" },
        { "dra=a.io:8,dra=b.io:8,dra=a.io:1", "twice" },
        { "dra-attr:model=a100", "must come after dra=driver:count" },
        { "dra-capacity:memory=1Gi,dra=a.io:8", "must come after dra=driver:count" },
        { "dra=a.io:8,dra-attr:", "'dra-attr:': must be key=value" },
        { "dra=a.io:8,dra-attr:model", "must be key=value" },
        { "dra=a.io:8,dra-attr:=a100", "must be key=value" },
        { "dra=a.io:8,dra-attr:model=", "1 to 64 bytes" },
        { "dra=a.io:8,dra-attr:m="
          "0123456789012345678901234567890123456789012345678901234567890123456",
          "1 to 64 bytes" },
        { "dra=a.io:8,dra-attr:my-model=a100", "letters, digits and _" },
        { "dra=a.io:8,dra-attr:2nd=a100", "letters, digits and _" },
        { "dra=a.io:8,dra-attr:/model=a100", "letters, digits and _" },
        { "dra=a.io:8,dra-attr:B.io/model=a100", "letters, digits and _" },
        { "dra=a.io:8,dra-attr:b.io/=a100", "letters, digits and _" },
        { "dra=a.io:8,dra-attr:a0123456789012345678901234567890x=1", "letters, digits and _" },
        { "dra=a.io:8,dra-capacity:memory=lots", "'dra-capacity:memory=lots': " },
        { "dra=a.io:8,dra-capacity:memory=", "'dra-capacity:memory=': " },
        { "dra=a.io:8,dra-colour=red", "no such property" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct hollow_shape_text t;
        struct kerr err = { 0 };
        assert_int_equal(hollow_shape_parse(bad[i].text, &t, &err), -EINVAL);
        if (!strstr(err.text, bad[i].says))
            fail_msg("%s: %s", bad[i].text, err.text);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_wave),
        cmocka_unit_test(test_spikes),
        cmocka_unit_test(test_same_at_every_reading),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_shape_with_devices),
        cmocka_unit_test(test_shape_with_bad_devices),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
