/* memory.c - pages of the program that are not needed any more. */
#include "sys/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

/* Only what was never writable: such pages are the file's, and dropping them loses nothing. */
static int drop_segments(struct dl_phdr_info *o, size_t size, void *arg)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    (void)size, (void)arg;
    for (size_t i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &o->dlpi_phdr[i];
        if (h->p_type != PT_LOAD || (h->p_flags & PF_W) || h->p_filesz == 0)
            continue;
        uintptr_t from = (o->dlpi_addr + h->p_vaddr) & ~(page - 1);
        uintptr_t to = (o->dlpi_addr + h->p_vaddr + h->p_filesz) & ~(page - 1);
        if (to > from)
            madvise((void *)from, to - from, MADV_DONTNEED);
    }
    return 0;
}

void memory_settle(void)
{
    malloc_trim(0);
    dl_iterate_phdr(drop_segments, NULL);
}
