/* certificates.c - certificates.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const char *const key_usage_values[] = { "signing",
                                                "digital signature",
                                                "content commitment",
                                                "key encipherment",
                                                "key agreement",
                                                "data encipherment",
                                                "cert sign",
                                                "crl sign",
                                                "encipher only",
                                                "decipher only",
                                                "any",
                                                "server auth",
                                                "client auth",
                                                "code signing",
                                                "email protection",
                                                "s/mime",
                                                "ipsec end system",
                                                "ipsec tunnel",
                                                "ipsec user",
                                                "timestamping",
                                                "ocsp signing",
                                                "microsoft sgc",
                                                "netscape sgc",
                                                NULL };

static const struct t_field certificates_certificate_signing_request_spec_fields[] = {
    F(1, "request", T_BYTES, T_REQ | T_EMIT),
    F(7, "signerName", T_STR, T_REQ | T_EMIT),
    F(8, "expirationSeconds", T_I32, T_PTR),
    ENUMS(5, "usages", key_usage_values, "v1.KeyUsage", T_ATOMIC),
    F(2, "username", T_STR, 0),
    F(3, "uid", T_STR, 0),
    LIST(4, "groups", T_STR, T_ATOMIC),
    MAP(6, "extra", T_STRS, 0, GO("v1.ExtraValue")),
    END,
};
static TYPE(certificates_certificate_signing_request_spec,
            "io.k8s.api.certificates.v1.CertificateSigningRequestSpec");

static const struct t_field certificates_certificate_signing_request_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.RequestConditionType")),
    F(6, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(2, "reason", T_STR, 0),
    F(3, "message", T_STR, 0),
    F(4, "lastUpdateTime", T_TIME, T_EMIT),
    F(5, "lastTransitionTime", T_TIME, T_EMIT),
    END,
};
static TYPE(certificates_certificate_signing_request_condition,
            "io.k8s.api.certificates.v1.CertificateSigningRequestCondition");

static const struct t_field certificates_certificate_signing_request_status_fields[] = {
    OBJS(1, "conditions", certificates_certificate_signing_request_condition, T_KEY | T_REPLACE,
         KEYS("type")),
    F(2, "certificate", T_BYTES, 0),
    END,
};
static TYPE(certificates_certificate_signing_request_status,
            "io.k8s.api.certificates.v1.CertificateSigningRequestStatus");

static const struct t_field certificates_certificate_signing_request_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", certificates_certificate_signing_request_spec, T_REQ | T_EMIT),
    OBJ(3, "status", certificates_certificate_signing_request_status, T_EMIT),
    END,
};
TYPE(certificates_certificate_signing_request,
     "io.k8s.api.certificates.v1.CertificateSigningRequest");
