// podresources is both ends of the kubelet's pod-resources API, with the real gRPC library: a stand-in for the kubelet,
// and a client like the agents that ask it. See tests/system/test_podresources.
//
// usage: podresources serve SOCKET | list SOCKET | crowd SOCKET CALLS
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

type kubelet struct {
	podresources.UnimplementedPodResourcesListerServer
}

func (kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	plugin := &podresources.ContainerDevices{ResourceName: "vendor.com/x", DeviceIds: []string{"d1", "d2"},
		Topology: &podresources.TopologyInfo{Nodes: []*podresources.NUMANode{{ID: 1}}}}
	answer := &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{
		{Name: "with", Namespace: "default", Containers: []*podresources.ContainerResources{
			{Name: "main", CpuIds: []int64{1, 200}, Devices: []*podresources.ContainerDevices{plugin}}, {Name: "side"}}},
	}}
	for i := range 200 {
		answer.PodResources = append(answer.PodResources, &podresources.PodResources{Name: fmt.Sprintf("other-%d", i),
			Namespace: "default", Containers: []*podresources.ContainerResources{{Name: "main", CpuIds: []int64{3}}}})
	}
	return answer, nil
}

func (kubelet) Get(_ context.Context, r *podresources.GetPodResourcesRequest) (*podresources.GetPodResourcesResponse, error) {
	return nil, status.Errorf(codes.NotFound, "pod %s: 100%% nöt there", r.PodName)
}

func serve(path string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(server, kubelet{})
	return server.Serve(listener)
}

func dial(path string) (podresources.PodResourcesListerClient, error) {
	c, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return podresources.NewPodResourcesListerClient(c), err
}

// list prints one JSON object: the devices of each pod that has any, and what the three methods ended with.
func list(path string) error {
	c, err := dial(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	all, listErr := c.List(ctx, &podresources.ListPodResourcesRequest{})
	_, getErr := c.Get(ctx, &podresources.GetPodResourcesRequest{PodName: "a", PodNamespace: "b"})
	_, allocatableErr := c.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	devices := map[string][]string{}
	for _, p := range all.GetPodResources() {
		for _, container := range p.Containers {
			for _, d := range container.Devices {
				key := p.Namespace + "/" + p.Name + "/" + container.Name
				devices[key] = append(devices[key], fmt.Sprintf("%s=%v", d.ResourceName, d.DeviceIds))
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"pods": len(all.GetPodResources()), "devices": devices, "list": said(listErr), "get": said(getErr),
		"allocatable": said(allocatableErr)})
}

func said(err error) string {
	s := status.Convert(err)
	return s.Code().String() + ": " + s.Message()
}

// crowd lets twenty callers share the calls and prints how many failed.
func crowd(path string, calls int) error {
	c, err := dial(path)
	if err != nil {
		return err
	}
	var callers sync.WaitGroup
	var lock sync.Mutex
	failed := 0
	for range 20 {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for range calls / 20 {
				if _, err := c.List(context.Background(), &podresources.ListPodResourcesRequest{}); err != nil {
					lock.Lock()
					failed++
					lock.Unlock()
				}
			}
		}()
	}
	callers.Wait()
	fmt.Println(failed)
	return nil
}

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		err = serve(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "list":
		err = list(os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "crowd":
		var calls int
		if calls, err = strconv.Atoi(os.Args[3]); err == nil {
			err = crowd(os.Args[2], calls)
		}
	default:
		err = fmt.Errorf("usage: podresources serve SOCKET | list SOCKET | crowd SOCKET CALLS")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
