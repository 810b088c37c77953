// Projects whose definitions carry rules; tests/system/test_crd_rules reads them from here. Nothing is built.
module koord/tests/system/crdrules

go 1.25.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	sigs.k8s.io/cluster-api v1.14.2
	sigs.k8s.io/gateway-api v1.4.1
	sigs.k8s.io/karpenter v1.8.0
)
