package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/host"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/internal/unpack"
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
	ctx, stop := untilSignal(ctx, syscall.SIGHUP)
	defer stop()
	root, err := host.OpenRoot("/")
	if err != nil {
		return err
	}
	defer root.Close()
	opt := host.CollectOptions{Options: host.LiveOptions(), NoRedact: plain, Version: versionOf(env).Version, TakenAt: time.Now()}
	if cost, err := hw.MeasureCost(ctx); err == nil {
		opt.Cost = &cost
	} else if ctx.Err() == nil {
		fmt.Fprintf(env.Stderr, "cswatch: without the cost of a clock read: %s\n", oneLine(err))
	}
	buffer, err := kmsg.ReadBuffer(ctx)
	if err != nil {
		opt.NoKernelLog = oneLine(err)
	} else {
		defer buffer.Close()
		opt.KernelLog = buffer
	}
	var done host.Report
	err = writeOutput(ctx, env, "archive ", output, func(w io.Writer) error {
		done, err = host.Write(w, root.FS(), opt)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "cswatch: wrote %d files", len(done.Taken))
	if output != "-" {
		fmt.Fprintf(env.Stderr, " to %s", unpack.Shown(output))
	}
	if !plain {
		fmt.Fprintf(env.Stderr, ", %d values redacted", done.Redacted)
	}
	fmt.Fprintln(env.Stderr)
	for _, remark := range logRemarks(opt.NoKernelLog, buffer, done) {
		fmt.Fprintf(env.Stderr, "cswatch: %s\n", remark)
	}
	return nil
}

// logRemarks says what the archive lacks of the kernel log.
func logRemarks(without string, buffer *kmsg.Buffer, done host.Report) []string {
	if buffer == nil {
		return []string{"without the kernel log: " + without}
	}
	var remarks []string
	if done.LogError != nil {
		remarks = append(remarks, "the kernel log was not read to its end: "+oneLine(done.LogError))
	}
	if note := buffer.Note(); note != "" {
		remarks = append(remarks, "the kernel log is not whole: "+note)
	}
	if done.LogLost > 0 {
		remarks = append(remarks, fmt.Sprintf("the kernel log is too long: %d bytes between its beginning and its end are not in the archive", done.LogLost))
	}
	return remarks
}

// oneLine puts the lines of an error beside each other.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
