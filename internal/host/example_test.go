package host_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cswatch/cswatch/internal/host"
)

func ExampleOpenRoot() {
	dir, err := os.MkdirTemp("", "root")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	sysfs := filepath.Join(dir, "sys/devices/system/clocksource/clocksource0")
	if err := os.MkdirAll(sysfs, 0o755); err != nil {
		fmt.Println(err)
		return
	}
	if err := os.WriteFile(filepath.Join(sysfs, "current_clocksource"), []byte("hpet\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}

	root, err := host.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()
	snap, err := root.Collect()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(root.Kind(), snap.Clocksource.Current, snap.Live)
	// Output: folder hpet false
}
