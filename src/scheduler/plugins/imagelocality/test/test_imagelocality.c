/* test_imagelocality.c - nodes that have the pod's images (scheduler-core 8.10). */
#include "scheduler/test/plugin_checks.h"

#define NAME "ImageLocality"

static void put_node(struct plugin_fixture *f, const char *name, const char *images)
{
    char text[1024];

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s'},'status':{'images':[%s]}}", name,
                   images);
    fixture_node(f, text);
}

#define IMAGE(name, bytes) "{'names':['" name "'],'sizeBytes':" bytes "}"
#define BYTES_40           "41943040"
#define BYTES_250          "262144000"
#define BYTES_1000         "1048576000"

/* Images of one or two containers; init: of an init container, or NULL */
static void try_images(struct plugin_fixture *f, const char *first, const char *second,
                       const char *init)
{
    char text[1024], before[256] = "", more[256] = "";

    if (init)
        (void)snprintf(before, sizeof before, "'initContainers':[{'name':'i','image':'%s'}],",
                       init);
    if (second)
        (void)snprintf(more, sizeof more, ",{'name':'d','image':'%s'}", second);
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{%s"
                   "'containers':[{'name':'c','image':'%s'}%s]}}",
                   before, first, more);
    fixture_try(f, text);
}

static void assert_scores(struct plugin_fixture *f, int64_t a, int64_t b)
{
    assert_int_equal(fixture_score(f, NAME, "a"), a);
    assert_int_equal(fixture_score(f, NAME, "b"), b);
}

static void test_size_and_spread(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "a", IMAGE("gcr.io/40:latest", BYTES_40));
    put_node(&f, "b", IMAGE("gcr.io/250:latest", BYTES_250));
    try_images(&f, "gcr.io/40", "gcr.io/250", NULL);
    assert_scores(&f, 0, 5);
    /* On both nodes the image counts in full: 100 * (250 - 23) / (1000 - 23). */
    put_node(&f, "a", IMAGE("gcr.io/250:latest", BYTES_250));
    try_images(&f, "gcr.io/250", NULL, NULL);
    assert_scores(&f, 23, 23);
    /* Init containers count, and each container raises what a full score takes. */
    try_images(&f, "gcr.io/none", NULL, "gcr.io/250");
    assert_scores(&f, 11, 11);
}

static void test_limits(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "a", IMAGE("big:1", "9223372036854775807") "," IMAGE("small:1", "24117248"));
    put_node(&f, "b", IMAGE("big:1", "9223372036854775807") "," IMAGE("small:1", "24117248"));
    try_images(&f, "small:1", NULL, NULL); /* 23 MiB: the least that is looked at */
    assert_scores(&f, 0, 0);
    put_node(&f, "a", IMAGE("tiny:1", "1000"));
    try_images(&f, "tiny:1", NULL, NULL);
    assert_scores(&f, 0, 0);
    put_node(&f, "a", IMAGE("big:1", "9223372036854775807"));
    try_images(&f, "big:1", "big:1", NULL); /* the sum of two does not wrap around */
    assert_scores(&f, 100, 100);
}

static void test_names(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "a", IMAGE("host:5000/x:latest", BYTES_1000) "," IMAGE("y:v2", BYTES_1000));
    put_node(&f, "b", "");
    try_images(&f, "host:5000/x", NULL, NULL); /* the colon is the port's */
    assert_scores(&f, 48, 0);                  /* half the nodes: half the size */
    try_images(&f, "host:5000/x:latest", NULL, NULL);
    assert_scores(&f, 48, 0);
    try_images(&f, "y:v2", NULL, NULL);
    assert_scores(&f, 48, 0);
    try_images(&f, "y", NULL, NULL); /* that is y:latest */
    assert_scores(&f, 0, 0);
}

static void test_a_name_listed_twice_is_one_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "a",
             "{'names':['x:1','x:1','x@sha256:0'],'sizeBytes':" BYTES_1000 "}," IMAGE("x:1", "7"));
    put_node(&f, "b", "");
    try_images(&f, "x:1", NULL, NULL);
    assert_scores(&f, 48, 0);
    put_node(&f, "b", IMAGE("x:1", BYTES_1000));
    try_images(&f, "x:1", NULL, NULL);
    assert_scores(&f, 100, 100);
    put_node(&f, "a", ""); /* and it goes once */
    try_images(&f, "x:1", NULL, NULL);
    assert_scores(&f, 0, 48);
}

static void test_images_follow_the_nodes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "a", "");
    put_node(&f, "b", IMAGE("x:1", BYTES_1000));
    try_images(&f, "x:1", NULL, NULL);
    assert_scores(&f, 0, 48);
    put_node(&f, "a", IMAGE("x:1", BYTES_1000)); /* pulled */
    try_images(&f, "x:1", NULL, NULL);
    assert_scores(&f, 100, 100);
    put_node(&f, "c", IMAGE("x:1", BYTES_1000));
    try_images(&f, "x:1", NULL, NULL);
    assert_int_equal(fixture_score(&f, NAME, "c"), 100);
    nodecache_remove_node(f.cache, "a"); /* c moves to another row */
    try_images(&f, "x:1", NULL, NULL);
    assert_int_equal(fixture_score(&f, NAME, "b"), 100);
    assert_int_equal(fixture_score(&f, NAME, "c"), 100);
    put_node(&f, "b", IMAGE("y:1", BYTES_1000)); /* another instead */
    try_images(&f, "x:1", NULL, NULL);
    assert_int_equal(fixture_score(&f, NAME, "b"), 0);
    assert_int_equal(fixture_score(&f, NAME, "c"), 48);
}

static void test_the_first_report_tells_the_size(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "a", IMAGE("x:1", BYTES_1000));
    try_images(&f, "x:1", NULL, NULL);
    put_node(&f, "b", IMAGE("x:1", "1"));
    try_images(&f, "x:1", NULL, NULL);
    assert_scores(&f, 100, 100);
}

/* When nobody has an image the plugin stands aside. */
static void test_nothing_to_say(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct attempt plain;

    fixture_init(&f, state, NAME, NULL);
    put_node(&f, "a", IMAGE("x:1", BYTES_1000));
    put_node(&f, "b", "");
    try_images(&f, "z:1", NULL, NULL);
    assert_scores(&f, 0, 0); /* who asks for all scores sees zeros */
    fixture_attempt(&f, &plain, false);
    assert_true(plain.shape->skip_score >> profile_slot(f.profile, NAME) & 1);
    try_images(&f, "x:1", NULL, NULL);
    fixture_attempt(&f, &plain, false);
    assert_false(plain.shape->skip_score >> profile_slot(f.profile, NAME) & 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_size_and_spread),
        FIXTURE_TEST(test_limits),
        FIXTURE_TEST(test_names),
        FIXTURE_TEST(test_a_name_listed_twice_is_one_node),
        FIXTURE_TEST(test_images_follow_the_nodes),
        FIXTURE_TEST(test_the_first_report_tells_the_size),
        FIXTURE_TEST(test_nothing_to_say),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
