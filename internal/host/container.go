package host

import (
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// collectContainer looks for the marks that container engines leave. They tell
// where cswatch runs, so they mean nothing in a tree of another machine.
func (c *collector) collectContainer() {
	switch c.opt.kind() {
	case machine.KindSOS, machine.KindArchive:
		return
	}
	if v, ok := c.text("run/systemd/container"); ok {
		c.snap.Container = oneLine(v)
		c.source("container", "run/systemd/container")
		return
	}
	for _, mark := range [...]struct{ name, engine string }{{"run/.containerenv", "podman"}, {".dockerenv", "docker"}} {
		if c.exists(mark.name) == machine.Yes {
			c.snap.Container = mark.engine
			c.source("container", mark.name)
			return
		}
	}
	if v, ok := c.text("proc/self/cgroup"); ok {
		if engine := cgroupEngine(v); engine != "" {
			c.snap.Container = engine
			c.source("container", "proc/self/cgroup")
		}
	}
}

// cgroupEngine reads the engine off the paths of cgroup version 1, or of
// version 2 without a cgroup namespace.
func cgroupEngine(text string) string {
	for _, mark := range [...]struct{ part, engine string }{
		{"kubepods", "kubernetes"}, {"/docker/", "docker"}, {"/docker-", "docker"}, {"/libpod-", "podman"},
		{"/lxc/", "lxc"}, {"/lxc.payload", "lxc"}, {"/crio-", "cri-o"}, {"/cri-containerd-", "containerd"},
		{"/garden/", "garden"}, {"/machine.slice/", "systemd-nspawn"},
	} {
		if strings.Contains(text, mark.part) {
			return mark.engine
		}
	}
	return ""
}
