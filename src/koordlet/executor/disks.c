/* disks.c - the first words of the lines of blkio files. */
#include "koordlet/executor/disks.h"

#include "koordlet/kernel/text.h"

static void add_disk(struct disks *d, struct str number, struct arena *a)
{
    if (!memchr(number.p, ':', number.n)) /* "default", "Total" */
        return;
    vec_foreach(d, i)
        if (str_eqz(number, d->items[i]))
            return;
    vec_push(d, arena_strndup(a, number.p, number.n));
}

void disks_read(const struct host *h, const char *dir, enum plan_file first, enum plan_file last,
                struct arena *a, struct disks *out)
{
    for (unsigned f = first; f <= (unsigned)last; f++) {
        CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;
        const struct cgroup_resource *r =
            cgroup_resource_find(h->version, plan_file_type((enum plan_file)f), NULL);
        struct str text, line, word;
        if (!r)
            continue;
        cgroup_resource_path(r, h->version, ".", dir, &path);
        if (kernelfile_once(h->cgroup_fd, strbuf_str(&path), h->buf, &text, NULL) < 0)
            continue;
        while (text_line(&text, &line))
            if (text_word(&line, &word))
                add_disk(out, word, a);
    }
}
