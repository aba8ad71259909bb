package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cswatch/cswatch/internal/guest"
)

// Config says where things are on this machine. The zero value finds them.
type Config struct {
	// QEMU is the emulator's path; "" looks for qemu-system-x86_64 among the
	// programs, then for the place where Red Hat's kin put it.
	QEMU string
	// Guest is the path of the guest program, a static program for Linux on
	// x86-64; "" calls [Config.FindGuest] for every boot.
	Guest string
	// Cache is the folder for kernels; "" is $CSWATCH_CACHE, then cswatch in the
	// user's cache folder.
	Cache string
	// Observe, if not nil, is called with every record as it comes, in order,
	// from one goroutine. QEMU waits while it works.
	Observe func(Stamped)
	// CPUs are those of this machine on which QEMU runs, nil for all.
	CPUs []int

	kvm string // the device, "" for /dev/kvm: tests have their own
}

// UnavailableError says that something is not here, and how to get it. Tests
// that need it are skipped with this text.
type UnavailableError struct {
	What   string // is not there
	Remedy string // a command, or what to do
}

func (e *UnavailableError) Error() string {
	if e.Remedy == "" {
		return e.What
	}
	return e.What + ": " + e.Remedy
}

const program = "qemu-system-x86_64"

// FindQEMU returns the emulator's path, or an [*UnavailableError].
func (c Config) FindQEMU() (string, error) {
	names := []string{program, "/usr/libexec/qemu-kvm"}
	if c.QEMU != "" {
		names = []string{c.QEMU}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", &UnavailableError{What: names[0] + " is not installed", Remedy: "Debian and Ubuntu have it in the package qemu-system-x86"}
}

// cache returns the cache folder, or one in it.
func (c Config) cache(elements ...string) (string, error) {
	dir := c.Cache
	if dir == "" {
		dir = os.Getenv("CSWATCH_CACHE")
	}
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache folder: %w; set CSWATCH_CACHE", err)
		}
		dir = filepath.Join(user, "cswatch")
	}
	return filepath.Join(append([]string{dir}, elements...)...), nil
}

// CacheFolder returns a folder of that name in the cache, after making it if it is not there.
func (c Config) CacheFolder(name string) (string, error) {
	dir, err := c.cache(name)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// CachedKernel returns the path of the kernel of a series, such as "5.10", or
// "7" for the newest 7.x, that scripts/fetch-kernels has put into the cache, or
// an [*UnavailableError].
func (c Config) CachedKernel(series string) (string, error) {
	dir, err := c.cache("kernels")
	if err != nil {
		return "", &UnavailableError{What: err.Error()}
	}
	if filepath.IsLocal(series) {
		for _, name := range []string{"vmlinux", "vmlinuz"} {
			file := filepath.Join(dir, series, name)
			if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
				return file, nil
			}
		}
	}
	return "", &UnavailableError{What: fmt.Sprintf("no kernel of series %s in the cache", series), Remedy: "run scripts/fetch-kernels " + series}
}

const guestProgram = "cswatch-guest"

// FindGuest returns the path of the guest program: the one beside this
// executable, else one that the go command builds from this module on the spot.
func (c Config) FindGuest(ctx context.Context) (string, error) {
	if c.Guest != "" {
		return c.Guest, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), guestProgram)
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := c.buildGuest(ctx)
	if err != nil {
		return "", &UnavailableError{
			What:   fmt.Sprintf("%s does not stand beside the executable, and could not be built: %v", guestProgram, err),
			Remedy: "build it with make build, or run within a checkout where Go is installed",
		}
	}
	return path, nil
}

// buildGuest builds the guest program into the cache. The go command does
// nothing if it is up to date.
func (c Config) buildGuest(ctx context.Context) (string, error) {
	dir, err := c.CacheFolder("guest")
	if err != nil {
		return "", err
	}
	// Built beside and renamed, so that two boots at once never see half a program.
	scratch, err := os.MkdirTemp(dir, ".build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	built := filepath.Join(scratch, guestProgram)
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", built,
		"github.com/cswatch/cswatch/cmd/"+guestProgram)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(strings.TrimSpace(string(out))))
	}
	path := filepath.Join(dir, guestProgram)
	return path, os.Rename(built, path)
}

// Probe finds out whether the machine of a specification works with KVM, by
// booting it: a /dev/kvm that opens may still refuse, or hang with the first
// instructions. It returns KVM, or TCG with the reason in one sentence.
func (c Config) Probe(ctx context.Context, spec Spec) (accelerator, why string, err error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return TCG, "KVM for x86-64 guests needs Linux on x86-64", nil
	}
	name := c.kvm
	if name == "" {
		name = "/dev/kvm"
	}
	device, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return TCG, fmt.Sprintf("KVM cannot be used: %v", err), nil
	}
	if err := device.Close(); err != nil {
		return "", "", fmt.Errorf("close %s: %w", name, err)
	}
	spec.Accelerator, spec.Plan, spec.Extra, spec.QMP, spec.Limit = KVM, guest.Plan{}, nil, false, probeLimit
	spec.From, spec.Steps = "", nil
	r, err := c.Boot(ctx, spec)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return TCG, fmt.Sprintf("KVM cannot be used: %v", err), nil
	case err != nil:
		return "", "", fmt.Errorf("probe KVM: %w", err)
	case r.Outcome != Done:
		return TCG, fmt.Sprintf("KVM cannot be used: a kernel booted with it did not come through: %s", r.Why), nil
	}
	return KVM, fmt.Sprintf("a kernel booted with KVM in %.1f s", r.Booted.Seconds()), nil
}
