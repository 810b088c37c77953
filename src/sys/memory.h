/* memory.h - giving back what only the start needed. */
#ifndef KOORD_SYS_MEMORY_H
#define KOORD_SYS_MEMORY_H
#include "base/base.h"

/* For a process that runs for months: unmaps the pages of the program and its libraries that were
 * touched so far (flags, configuration, handshakes), and free memory of the heap. What is needed
 * again is mapped again from the page cache, at a fault each. Once, when the start is over. */
void memory_settle(void);
#endif
