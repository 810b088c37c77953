/* test_dracapacity.c - what a request takes of a shared device, by the policy of its capacity
 * (sched-dra 6.3; the rules are those of Kubernetes' calculateConsumedCapacity). */
#include "base/test/asserts.h"

#include "api/test/object_fixture.h"
#include "scheduler/plugins/dynamicresources/capacity.h"

static struct qty qty_of(const char *text)
{
    struct qty q;
    struct kerr err = { 0 };

    if (qty_parse(text, strlen(text), &q, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return q;
}

struct example {
    const char *value, *min, *max, *step; /* of the capacity and its range; NULL: absent */
    const char *fallback;                 /* default */
    const char *valid[3];                 /* validValues */
    const char *asked;                    /* NULL: nothing */
    const char *takes;                    /* NULL: not this device */
};

/* NULL when the device cannot give it. */
static const char *take_of(const struct example *x, struct arena *a)
{
    struct qty range[3], fallback, valid[3], out = { 0 };
    const char *const texts[] = { x->min, x->max, x->step };
    struct capacity_range r = { 0 };
    const struct qty **const ends[] = { &r.min, &r.max, &r.step };
    struct capacity_policy p = { 0 };

    for (int i = 0; i < 3; i++)
        if (texts[i]) {
            range[i] = qty_of(texts[i]);
            *ends[i] = &range[i];
            p.valid_range = &r;
        }
    if (x->fallback) {
        fallback = qty_of(x->fallback);
        p.default_value = &fallback;
    }
    p.valid_values.items = valid;
    while (p.valid_values.n < 3 && x->valid[p.valid_values.n]) {
        valid[p.valid_values.n] = qty_of(x->valid[p.valid_values.n]);
        p.valid_values.n++;
    }
    struct device_capacity_entry entry = { "memory", { qty_of(x->value), NULL } };
    if (p.valid_range || x->fallback || p.valid_values.n)
        entry.value.policy = &p;
    struct slice_device d = { .capacity = { .items = &entry, .n = 1 } };
    struct resqty want = { "memory", { 0 } };
    struct device_ask ask = { 0 };
    if (x->asked) {
        want.value = qty_of(x->asked);
        ask.capacity.requests.items = &want;
        ask.capacity.requests.n = 1;
    }
    return capacity_consumed(&d, &ask, &out) ? qty_format(out, a) : NULL;
}

static void test_what_a_request_takes(void **state)
{
    static const struct example examples[] = {
        /* no policy */
        { .value = "80Gi", .takes = "80Gi" },
        { .value = "80Gi", .asked = "1500M", .takes = "1500M" },
        { .value = "80Gi", .asked = "81Gi" },
        /* range */
        { .value = "80Gi", .min = "1Gi", .asked = "512Mi", .takes = "1Gi" },
        { .value = "80Gi", .min = "1Gi", .asked = "1500M", .takes = "1500M" },
        { .value = "80Gi", .min = "1Gi", .max = "4Gi", .asked = "5Gi" },
        { .value = "80Gi", .min = "1Gi", .fallback = "2Gi", .takes = "2Gi" },
        /* steps: whole units, and the format is binary */
        { .value = "80Gi", .min = "1Gi", .step = "1Gi", .asked = "1500Mi", .takes = "2Gi" },
        { .value = "80Gi", .min = "1Gi", .step = "1Gi", .asked = "3Gi", .takes = "3Gi" },
        { .value = "80G", .min = "1G", .step = "1G", .asked = "1500M", .takes = "1953125Ki" },
        { .value = "80Gi", .min = "1Gi", .max = "2Gi", .step = "1Gi", .asked = "2049Mi" },
        { .value = "10", .min = "1", .step = "3", .asked = "5", .takes = "7" },
        /* fractions are rounded up before steps are counted */
        { .value = "10", .min = "0", .step = "500m", .asked = "200m", .takes = "1" },
        { .value = "10", .min = "0", .step = "500m", .asked = "1200m", .takes = "2" },
        { .value = "10", .min = "500m", .step = "2", .asked = "1100m", .takes = "3" },
        { .value = "10", .min = "500m", .step = "2", .asked = "100m", .takes = "500m" },
        /* beyond what fits in thousandths */
        { .value = "1Ei", .min = "1Pi", .step = "1Pi", .asked = "8193Ti", .takes = "9Pi" },
        { .value = "1Ei", .min = "1", .step = "2", .asked = "20Pi", .takes = "22517998136852481" },
        { .value = "7Ei",
          .min = "1Ei",
          .step = "1Ei",
          .asked = "6917529027641081857",
          .takes = "7Ei" },
        /* and beyond int64 */
        { .value = "7Ei", .min = "1Ei", .step = "1Ei", .asked = "9223372036854775807" },
        { .value = "20E", .min = "1E", .step = "1E", .asked = "10E" },
        /* values */
        { .value = "8", .valid = { "1", "2", "4" }, .fallback = "1", .asked = "3", .takes = "4" },
        { .value = "8",
          .valid = { "1", "2", "4" },
          .fallback = "1",
          .asked = "500m",
          .takes = "1" },
        { .value = "8", .valid = { "1", "2", "4" }, .fallback = "1", .asked = "5" },
        { .value = "8", .valid = { "1", "2", "4" }, .fallback = "2", .takes = "2" },
        /* nothing asked for and no default: all of it, if the policy lets that be */
        { .value = "8", .min = "1", .max = "4" },
        { .value = "8", .min = "1", .step = "7", .takes = "8" },
        { .value = "8", .min = "1", .step = "2" },
        { .value = "8", .valid = { "1", "2" } },
        { .value = "8", .valid = { "1", "8" }, .takes = "8" },
    };
    struct object_fixture *b = *state;

    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        const char *takes = take_of(&examples[i], b->arena), *want = examples[i].takes;
        if (!streq(str_or(takes, "none"), str_or(want, "none")))
            fail_msg("example %zu: takes %s instead of %s", i, str_or(takes, "none"),
                     str_or(want, "none"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_what_a_request_takes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
