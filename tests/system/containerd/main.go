//go:build tools

// containerd pins the versions of what scripts/kube-build builds: containerd with NRI, and its shim.
package main

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
)
