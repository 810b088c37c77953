//go:build tools

// containerd17 pins the version of an older containerd that scripts/kube-build builds: the last series with NRI off by default.
package main

import (
	_ "github.com/containerd/containerd/cmd/containerd"
	_ "github.com/containerd/containerd/cmd/containerd-shim-runc-v2"
)
