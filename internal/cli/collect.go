package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/host"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/kmsg"
)

func newCollectCommand(env *Env) *cobra.Command {
	var output string
	var plain bool
	cmd := &cobra.Command{
		Use:     "collect -o FILE.tar.gz",
		GroupID: groupDiagnose,
		Short:   "Write an archive with what doctor needs to judge this machine elsewhere",
		Long: "collect writes a tar.gz with exactly what doctor reads of a machine, from an allow-list, and the kernel log.\n" +
			"Host names, addresses, serial numbers and the values of options that do not concern clocks are redacted.\n" +
			"Judge it anywhere with: cswatch doctor --root FILE.tar.gz",
		Example: "  sudo cswatch collect -o clock.tar.gz",
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "the archive to write; - is standard output")
	f.BoolVar(&plain, "no-redact", false, "keep names, addresses and all option values")
	if err := cmd.MarkFlagRequired("output"); err != nil {
		panic(err) // only for a flag that does not exist
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return runCollect(cmd.Context(), env, output, plain)
	}
	return cmd
}

func runCollect(ctx context.Context, env *Env, output string, plain bool) error {
	root, err := host.OpenRoot("/")
	if err != nil {
		return err
	}
	defer root.Close()
	opt := host.CollectOptions{Options: host.LiveOptions(), NoRedact: plain, Version: versionOf(env).Version, TakenAt: time.Now()}
	if cost, err := hw.MeasureCost(ctx); err == nil {
		opt.Cost = &cost
	} else {
		fmt.Fprintf(env.Stderr, "cswatch: without the cost of a clock read: %v\n", err)
	}
	buffer, err := kmsg.ReadBuffer(ctx)
	if err != nil {
		opt.NoKernelLog = err.Error()
	} else {
		defer buffer.Close()
		opt.KernelLog = buffer
	}
	var done host.Report
	write := func(w io.Writer) error {
		done, err = host.Write(w, root.FS(), opt)
		return err
	}
	if output == "-" {
		err = write(env.Stdout)
	} else {
		err = writeWhole(output, write)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "cswatch: wrote %d files", len(done.Taken))
	if output != "-" {
		fmt.Fprintf(env.Stderr, " to %s", output)
	}
	if !plain {
		fmt.Fprintf(env.Stderr, ", %d values redacted", done.Redacted)
	}
	fmt.Fprintln(env.Stderr)
	if opt.NoKernelLog != "" {
		fmt.Fprintf(env.Stderr, "cswatch: without the kernel log: %s\n", opt.NoKernelLog)
	}
	if done.LogError != nil {
		fmt.Fprintf(env.Stderr, "cswatch: the kernel log is not whole: %v\n", done.LogError)
	}
	return nil
}

// writeWhole writes a file beside its final name and renames it, so that a
// failure leaves neither half an archive nor a damaged old one.
func writeWhole(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".cswatch-*")
	if err != nil {
		return fmt.Errorf("create archive %s: %w", name, err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write archive %s: %w", name, err), os.Remove(f.Name()))
	}
	return nil
}
