package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/kmsg"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/klog"
)

// Schemas of the log command's documents.
const (
	eventSchema    = "cswatch.log/v1"
	logStatsSchema = "cswatch.log-stats/v1"
)

func newLogCommand(env *Env) *cobra.Command {
	var stats bool
	cmd := &cobra.Command{
		Use:     "log FILE...",
		GroupID: groupDiagnose,
		Short:   "Show what kernel logs say of clocks, as a timeline",
		Long: "log reads kernel logs in any container (dmesg, journal, syslog, /dev/kmsg, JSON, mail, HTML; packed or not)\n" +
			"and prints the events of clocks in them, one a line, with file, line, boot and time. Several files are\n" +
			"taken as logs of one machine, the oldest first. - is standard input.",
		Example: "  cswatch log dmesg.txt\n  journalctl -k -o json | cswatch log --format json -\n  cswatch log --stats /var/log/kern.log*",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("log needs at least one file; - is standard input")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&stats, "stats", false, "print counts instead of events")
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return runLog(env, args, stats, format.String() == "json")
	}
	return cmd
}

func runLog(env *Env, names []string, stats, asJSON bool) error {
	lines := json.NewEncoder(env.Stdout)
	lines.SetEscapeHTML(false)
	opt := textOptions(env)
	show := func(r *klog.Reader) error {
		if !asJSON {
			return report.EventText(env.Stdout, r.Event(), opt)
		}
		return lines.Encode(struct {
			Schema string `json:"schema"`
			event.Event
		}{eventSchema, r.Event()})
	}
	if stats {
		show = func(*klog.Reader) error { return nil }
	}
	boundMemory(env)
	var reader *klog.Reader
	var problems []error
	for _, name := range names {
		if err := readInto(&reader, env, name, show); err != nil {
			problems = append(problems, err)
		}
	}
	if stats && reader != nil {
		var err error
		if asJSON {
			err = env.writeJSON(struct {
				Schema string   `json:"schema"`
				Files  []string `json:"files"`
				klog.Summary
			}{logStatsSchema, names, reader.Stats()})
		} else {
			err = report.StatsText(env.Stdout, reader.Stats())
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// readInto reads one log, going on with the reader of those before it.
func readInto(reader **klog.Reader, env *Env, name string, show func(*klog.Reader) error) error {
	l, err := kmsg.Config{Stdin: env.Stdin}.OpenLog(name)
	if err != nil {
		return err
	}
	defer l.Close()
	if *reader == nil {
		*reader = klog.NewReader(l, name)
	} else {
		(*reader).Continue(l, name)
	}
	for (*reader).Next() {
		if err := show(*reader); err != nil {
			return err
		}
		if err := env.stdoutErr(); err != nil {
			return err // nobody reads on
		}
	}
	if err := (*reader).Err(); err != nil {
		return fmt.Errorf("read log %s to its end: %w", name, err)
	}
	return nil
}
