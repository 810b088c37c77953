/* pod_protocol.h - priority of a struct pod: protocol.h with the arguments filled in.
 *
 * NULL is allowed everywhere and is nobody: no class, priority 0.
 */
#ifndef KOORD_API_POD_PROTOCOL_H
#define KOORD_API_POD_PROTOCOL_H
#include "api/pod.h"
#include "api/protocol/protocol.h"

struct pod_identity pod_identity(const struct pod *p);
enum priority_class pod_priority_class_raw(const struct pod *p);
enum priority_class pod_priority_class(const struct pod *p); /* with default */
int32_t pod_priority_value(const struct pod *p);             /* with default */
#endif
