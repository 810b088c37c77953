/* fuzz_cpuset.c - the kernel's CPU lists: what we print, we read back, and it is the shortest list.
 */
#include "base/cpuset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };
    struct cpuset c, again, rest;
    unsigned count = 0, runs = 0, commas = 0;
    int last = -2;

    if (cpuset_parse((const char *)data, size, &c, &err) < 0) {
        assert((err.code == -EINVAL || err.code == -ERANGE) && err.text[0] != '\0');
        return 0;
    }
    const char *text = cpuset_format(&c, a);
    assert(cpuset_parse(text, strlen(text), &again, &err) == 0);
    assert(cpuset_equal(&c, &again));

    rest = c;
    cpuset_foreach(&c, cpu) {
        assert(cpuset_has(&c, (unsigned)cpu));
        cpuset_del(&rest, (unsigned)cpu);
        runs += cpu != last + 1;
        last = cpu;
        count++;
    }
    assert(cpuset_is_empty(&rest) && count == cpuset_count(&c));
    for (const char *p = text; *p; p++)
        commas += *p == ',';
    assert(runs == (*text ? commas + 1 : 0)); /* one piece for each run of neighbours */
    return 0;
}
