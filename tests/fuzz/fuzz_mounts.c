/* fuzz_mounts.c - mounts of process 1, as /proc/1/mountinfo tells them.
 *
 * A text is refused with a reason, or makes a map sorted by mount point which has each once.
 */
#include "koordlet/facts/storage.h"
#include "tempdir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct host *make_host(void)
{
    static const char *const dirs[] = { "proc/1", "sys/class/block", "cgroup" };
    char path[160], roots[3][96];
    struct host *h;
    struct kerr err;

    tempdir_make();
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        snprintf(path, sizeof path, "%s/%s", tempdir, dirs[i]);
        if (dir_make(AT_FDCWD, path, 0700, &err) < 0)
            abort();
    }
    snprintf(roots[0], sizeof roots[0], "%s/cgroup", tempdir);
    snprintf(roots[1], sizeof roots[1], "%s/proc", tempdir);
    snprintf(roots[2], sizeof roots[2], "%s/sys", tempdir);
    const struct host_roots r = { roots[0], roots[1], roots[2], roots[2],
                                  roots[2], roots[2], roots[2] };
    if (host_new(&r, &h, &err) < 0)
        abort();
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct host *h;
    CLEANUP(storage_info_unref) struct storage_info *s = NULL;
    struct kerr err = { 0 };

    if (!h)
        h = make_host();
    tempdir_write("proc/1/mountinfo", data, size);
    if (storage_info_read(h, NULL, &s, &err) < 0) {
        assert(err.code < 0 && err.text[0] && !s);
        return 0;
    }
    for (size_t i = 0; i < s->mount_source.n; i++) {
        const struct storage_pair *p = &s->mount_source.items[i];

        assert(i == 0 || strcmp(p[-1].key, p->key) < 0);
        assert(streq(storage_find(&s->mount_source, p->key), p->value));
        assert(!storage_disk_of_mount(s, p->key)); /* there are no disks here */
    }
    return 0;
}
