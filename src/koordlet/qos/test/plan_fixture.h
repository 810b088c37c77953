/* plan_fixture.h - plans as text, and files with values of the test's choice. */
#ifndef KOORD_KOORDLET_QOS_TEST_PLAN_FIXTURE_H
#define KOORD_KOORDLET_QOS_TEST_PLAN_FIXTURE_H
#include <stdio.h>

#include "koordlet/executor/plan.h"
#include "koordlet/qos/test/qos_fixture.h"

/* The value proposed for a file; NULL: none. Of a scale it is "value/base". */
static inline UNUSED const char *proposed(struct plan *p, const char *dir, enum plan_file f,
                                          const char *item)
{
    for (size_t i = p->proposals.n; i-- > 0;) {
        const struct proposal *one = &p->proposals.items[i];
        if (one->file != f || !streq(one->at.dir, dir) ||
            (item && (!one->item || !streq(one->item, item))))
            continue;
        if (one->text)
            return one->text;
        if (one->rule == PLAN_SCALE)
            return arena_printf(p->arena, "%lld/%lld", (long long)one->number,
                                (long long)one->base);
        return arena_printf(p->arena, "%lld", (long long)one->number);
    }
    return NULL;
}

static inline UNUSED void assert_proposed_at(struct plan *p, const char *dir, enum plan_file f,
                                             const char *item, const char *expected,
                                             const char *file, int line)
{
    const char *got = proposed(p, dir, f, item);

    if (!expected && !got)
        return;
    if (!expected || !got || !streq(expected, got)) {
        print_error("%s:%d: %s %s: %s, not %s\n", file, line, dir, plan_file_type(f),
                    got ? got : "nothing", expected ? expected : "nothing");
        fail();
    }
}
#define assert_proposed(p, dir, f, expected) \
    assert_proposed_at((p), (dir), (f), NULL, (expected), __FILE__, __LINE__)
#define assert_proposed_item(p, dir, f, item, expected) \
    assert_proposed_at((p), (dir), (f), (item), (expected), __FILE__, __LINE__)

/* ---- what files hold ------------------------------------------------------------------------- */

struct view_fixture {
    int64_t quota;
    const char *cpus;
    bool gone;
};

static inline UNUSED int view_number(void *arg, const char *dir, enum plan_file f, int64_t *ret,
                                     struct kerr *err)
{
    const struct view_fixture *v = arg;

    (void)dir, (void)f;
    *ret = v->quota;
    return v->gone ? kerr_set(err, -ENOENT, "gone") : 0;
}

static inline UNUSED int view_cpus(void *arg, const char *dir, struct cpuset *ret, struct kerr *err)
{
    const struct view_fixture *v = arg;

    (void)dir;
    return v->gone ? kerr_set(err, -ENOENT, "gone")
                   : cpuset_parse(v->cpus, strlen(v->cpus), ret, err);
}

static inline UNUSED struct plan_view view_of(struct view_fixture *v)
{
    return (struct plan_view){ view_number, view_cpus, v };
}

#define CLASS_BE    "kubepods.slice/kubepods-besteffort.slice"
#define BE_DIR(uid) "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" uid ".slice"
#define BURSTABLE_DIR(uid) \
    "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" uid ".slice"
#define GUARANTEED_DIR(uid) "kubepods.slice/kubepods-pod" uid ".slice"
#define IN(dir, id)         dir "/cri-containerd-" id ".scope"
#endif
