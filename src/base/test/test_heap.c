/* test_heap.c - the first is always the least. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/test/asserts.h"

struct job {
    struct heap_node hn;
    int due;
};

static struct job *job_of(const struct heap_node *n)
{
    return n ? container_of(n, struct job, hn) : NULL;
}

static bool earlier(const struct heap_node *a, const struct heap_node *b)
{
    return job_of(a)->due < job_of(b)->due;
}

/* A fixed walk through numbers, so that a failure repeats. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void assert_is_heap(const struct heap *h)
{
    for (size_t i = 0; i < h->n; i++) {
        assert_int_equal(h->items[i]->pos, i + 1);
        if (i > 0)
            assert_false(earlier(h->items[i], h->items[(i - 1) / 2]));
    }
}

static void test_pop_gives_ascending_order(void **state)
{
    struct job jobs[200] = { 0 };
    struct heap h;
    uint32_t seed = 7;

    (void)state;
    heap_init(&h, earlier);
    assert_null(heap_first(&h));
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i].due = (int)(next_random(&seed) % 50); /* with many ties */
        heap_push(&h, &jobs[i].hn);
    }
    assert_is_heap(&h);
    for (int last = -1; h.n > 0;) {
        struct job *first = job_of(heap_first(&h)), *j = job_of(heap_pop(&h));
        assert_ptr_equal(first, j);
        assert_that(j->due, >=, last);
        assert_false(heap_has(&j->hn));
        last = j->due;
    }
    assert_null(heap_pop(&h));
    heap_fini(&h);
}

static void test_remove_takes_any_node(void **state)
{
    struct job jobs[64] = { 0 };
    struct heap h;

    (void)state;
    heap_init(&h, earlier);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i].due = (int)(i * 37 % 64);
        heap_push(&h, &jobs[i].hn);
    }
    for (size_t i = 0; i < ARRAY_LEN(jobs); i += 3) {
        heap_remove(&h, &jobs[i].hn);
        assert_false(heap_has(&jobs[i].hn));
        assert_is_heap(&h);
    }
    assert_int_equal(h.n, 64 - 22);
    heap_push(&h, &jobs[0].hn); /* and it may come back */
    assert_ptr_equal(job_of(heap_first(&h)), &jobs[0]);
    heap_fini(&h);
}

static void test_fix_follows_a_changed_key(void **state)
{
    struct job jobs[33] = { 0 };
    struct heap h;
    uint32_t seed = 42;

    (void)state;
    heap_init(&h, earlier);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i].due = 1000 + (int)i;
        heap_push(&h, &jobs[i].hn);
    }
    jobs[32].due = 1;
    heap_fix(&h, &jobs[32].hn);
    assert_ptr_equal(job_of(heap_first(&h)), &jobs[32]);
    jobs[32].due = 5000;
    heap_fix(&h, &jobs[32].hn);
    assert_ptr_equal(job_of(heap_first(&h)), &jobs[0]);
    for (int round = 0; round < 500; round++) {
        struct job *j = &jobs[next_random(&seed) % ARRAY_LEN(jobs)];
        j->due = (int)(next_random(&seed) % 2000);
        heap_fix(&h, &j->hn);
        assert_is_heap(&h);
    }
    heap_fini(&h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pop_gives_ascending_order),
        cmocka_unit_test(test_remove_takes_any_node),
        cmocka_unit_test(test_fix_follows_a_changed_key),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
