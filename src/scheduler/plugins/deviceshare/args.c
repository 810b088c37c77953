/* args.c - DeviceShareArgs: table, defaults, checks (scheduler-core 9.3, api-config 4.2). */
#include "scheduler/plugins/deviceshare/args.h"

#include "scheduler/framework/args.h"

#define OMIT .flags = KF_OMITEMPTY

ARGS_DEFAULT(def_device_strategy, "{\"type\":\"LeastAllocated\",\"resources\":["
                                  "{\"name\":\"koordinator.sh/gpu-memory-ratio\",\"weight\":1},"
                                  "{\"name\":\"koordinator.sh/gpu-memory\",\"weight\":1},"
                                  "{\"name\":\"koordinator.sh/rdma\",\"weight\":1},"
                                  "{\"name\":\"koordinator.sh/fpga\",\"weight\":1}]}");
ARGS_DEFAULT(def_templates,
             "{\"configMapNamespace\":\"koordinator-system\",\"configMapName\":"
             "\"gpu-shared-resource-templates\",\"matchedResources\":[\"huawei.com/npu-core\"]}");
static const char *const strategy_types[] = { "MostAllocated", "BalancedAllocation",
                                              "LeastAllocated", STRATEGY_FRAGMENTATION_AWARE,
                                              NULL };
static const struct kmeta strategy_meta = { .def = "\"LeastAllocated\"", .names = strategy_types };
#define STYPE struct scoring_strategy
static const struct kfield strategy_fields[] = {
    KF(STYPE, type, "type", KF_STR, .meta = &strategy_meta),
    KF_LIST_OF(STYPE, resources, "resources", KF_OBJ, .sub = &scoring_weight_schema),
};
static const struct kschema strategy_schema = KSCHEMA("ScoringStrategy", STYPE, strategy_fields);
#undef STYPE

#define STYPE struct gpu_templates_ref
static const struct kfield gpu_templates_fields[] = {
    KF(STYPE, ns, "configMapNamespace", KF_STR, OMIT),
    KF(STYPE, name, "configMapName", KF_STR, OMIT),
    KF_LIST_OF(STYPE, matched, "matchedResources", KF_STR, OMIT),
};
static const struct kschema gpu_templates_schema =
    KSCHEMA("GPUSharedResourceTemplatesConfig", STYPE, gpu_templates_fields);
#undef STYPE

#define STYPE struct gpu_model
static const struct kfield gpu_model_fields[] = {
    KF(STYPE, vendor, "vendor", KF_STR, OMIT),
    KF(STYPE, model, "model", KF_STR, OMIT),
};
static const struct kschema gpu_model_schema = KSCHEMA("GPUModel", STYPE, gpu_model_fields);
#undef STYPE

#define STYPE struct deviceshare_args
static const struct kfield deviceshare_fields[] = {
    KF(STYPE, allocator, "allocator", KF_STR, OMIT),
    KF(STYPE, strategy, "scoringStrategy", KF_OBJ, .sub = &strategy_schema, .flags = KF_PTR,
       .meta = &def_device_strategy),
    KF(STYPE, no_alignment, "disableDeviceNUMATopologyAlignment", KF_BOOL, OMIT),
    KF(STYPE, templates, "gpuSharedResourceTemplatesConfig", KF_OBJ, .sub = &gpu_templates_schema,
       .flags = KF_PTR, .meta = &def_templates),
    KF_LIST_OF(STYPE, unsupported, "gpuShareUnsupportedModels", KF_OBJ, .sub = &gpu_model_schema,
               OMIT),
};
static const struct kschema deviceshare_schema =
    KSCHEMA("DeviceShareArgs", STYPE, deviceshare_fields);
#undef STYPE

static int deviceshare_check(const void *value, struct kerr *err)
{
    return scoring_strategy_check(((const struct deviceshare_args *)value)->strategy,
                                  "scoringStrategy", err);
}

const struct ks_args deviceshare_args = { .schema = &deviceshare_schema,
                                          .check = deviceshare_check };
