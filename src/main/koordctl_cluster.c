/* koordctl_cluster.c - koordctl of the container image, for clusters that exist.
 *
 * There nobody runs a cluster in one process: without the embedded API server, its database and its
 * controllers the image is a fifth smaller, and holds no server that a scanner must ask about.
 */
#include "main/koordctl.h"

#include <stddef.h>

const struct up_system *const main_system = NULL;
