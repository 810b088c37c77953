/* later.h - answers of admission steps that take time: what each was asked about, and said.
 *
 * A call keeps one entry per step and phase. When an answer has come the call is looked at again
 * (api_again()); the steps before do their work once more, and the answer counts if what the step
 * would be asked about now is what it was asked about. admission.h has the part that steps use;
 * this is for those who run them.
 */
#ifndef KOORD_APISERVER_ADMISSION_LATER_H
#define KOORD_APISERVER_ADMISSION_LATER_H
#include "apiserver/admission/admission.h"
#include "apiserver/registry/registry.h"

/* Was this step asked in this phase? Cheap: says whether later_find() is worth its object. */
bool later_expects(const struct api_call *c, size_t step, bool mutating);
/* The answer that this step gave about this object; NULL: it is to be asked. */
const struct admission_later *later_find(struct api_call *c, size_t step, bool mutating,
                                         const struct admission_req *r, const struct kj_val *obj);
/* Repeats the warnings that came with an answer; its refusal, NULL: allowed. */
const struct api_refusal *later_use(const struct admission_later *l, struct api_call *c);
const struct kj_val *later_result(const struct admission_later *l); /* NULL: nothing changed */
/* The step has said that it answers later: -EINPROGRESS, or a conflict when the object changes
 * faster than the step answers. */
int later_wait(struct api_call *c, size_t step, bool mutating, const struct admission_req *r,
               const struct kj_val *obj, struct kerr *err);
#endif
