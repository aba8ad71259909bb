package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/page"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/unpack"
)

func newReportCommand(env *Env) *cobra.Command {
	var output, title string
	cmd := &cobra.Command{
		Use:     "report DIR|FILE... -o FILE.html",
		GroupID: groupExperiment,
		Short:   "Make one HTML page of results",
		Long: "report makes one HTML page of any mix of this program's JSON documents: doctor of one host or of a fleet, watch\n" +
			"and replay (JSON Lines), simulate, fit, trial report, bench clock, and any other by its keys. The page is one\n" +
			"file that needs no network: it can be mailed, put on a server, or kept beside what it is about.\n\n" +
			"Of a folder all files are taken whose names end in .json, .jsonl or .ndjson, and every campaign of cswatch trial\n" +
			"in it. - is standard input. What is no document is named on standard error with its reason, and the page is made\n" +
			"without it.",
		Example: "  cswatch doctor --root hosts/a --root hosts/b --format json > results/fleet.json\n" +
			"  cswatch bench clock --format json > results/clock.json\n" +
			"  cswatch report results -o report.html\n" +
			"  cswatch watch --duration 1h --format jsonl | cswatch report - -o watch.html --title \"db01, an hour under load\"",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report needs documents: files, folders, or - for standard input")
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the page to this `file`; - is standard output")
	cmd.Flags().StringVar(&title, "title", "", "the heading of the page")
	setExitStatus(cmd, exitStatus{Failed: ExitFailed, Usage: ExitUsage, Table: []exitMeaning{
		{ExitOK, "the page was made, of all that was named"},
		{ExitFailed, "there was no document, something was none, or the page could not be written"},
		{ExitUsage, "the command line is wrong"},
	}})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if output == "" {
			return usagef("report needs -o FILE.html, or -o - for standard output")
		}
		r := reporter{env: env, page: page.New(title), output: output}
		for _, arg := range args {
			r.argument(arg)
		}
		if r.page.Documents() == 0 {
			return errors.Join(append(r.doubts, errors.New("report: there is no document to make a page of"))...)
		}
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		err := writeOutput(ctx, env, "page ", output, r.page.Write)
		return errors.Join(append(r.doubts, err)...)
	}
	return cmd
}

// Bounds of a folder.
const (
	mostReportDepth = 12
	mostReportFiles = 20_000
)

// reporter gathers what is named on the command line. What cannot be taken is a doubt: the page is made without it.
type reporter struct {
	env    *Env
	page   *page.Page
	output string
	doubts []error
	files  int
}

func (r *reporter) doubt(name string, err error) {
	for _, line := range strings.Split(err.Error(), "\n") {
		r.doubts = append(r.doubts, fmt.Errorf("report: %s: %s", unpack.Shown(name), line))
	}
}

func (r *reporter) argument(name string) {
	if name == "-" {
		r.add("standard input", r.env.Stdin)
		return
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		r.doubt(name, withoutName(err))
	case info.IsDir():
		r.folder(name, 0)
	default:
		r.file(name)
	}
}

func (r *reporter) file(name string) {
	f, err := os.Open(name)
	if err != nil {
		r.doubt(name, withoutName(err))
		return
	}
	defer f.Close()
	r.add(name, f)
}

func (r *reporter) add(name string, from io.Reader) {
	if err := r.page.Add(name, from); err != nil {
		r.doubt(name, withoutName(err))
	}
}

// folder takes the documents in a folder and in those below it, in the order of their
// names, and campaigns as such. Links are not followed: they could lead in circles.
func (r *reporter) folder(name string, depth int) {
	if isCampaign(name) {
		r.campaign(name)
		return
	}
	entries, err := os.ReadDir(name) // sorted
	if err != nil {
		r.doubt(name, withoutName(err))
	}
	for _, e := range entries {
		path := filepath.Join(name, e.Name())
		switch {
		case e.IsDir() && depth == mostReportDepth:
			r.doubt(path, fmt.Errorf("it lies more than %d folders deep, and is passed over", mostReportDepth))
		case e.IsDir():
			r.folder(path, depth+1)
		case !e.Type().IsRegular() || !isDocument(e.Name()) || path == filepath.Clean(r.output):
		case r.files == mostReportFiles:
			r.doubt(path, fmt.Errorf("more than %d files, it and those behind it are passed over", mostReportFiles))
			r.files++
		case r.files < mostReportFiles:
			r.files++
			r.file(path)
		}
	}
}

func isDocument(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".jsonl", ".ndjson":
		return true
	}
	return false
}

// isCampaign reports whether a folder is that of a campaign: it has a plan and an index of trials.
func isCampaign(dir string) bool {
	for _, name := range []string{planName, "index.jsonl"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// campaign takes the report on a campaign.
func (r *reporter) campaign(dir string) {
	c, err := keptCampaign(dir)
	if err != nil {
		r.doubt(dir, err)
		return
	}
	var b bytes.Buffer
	if err := report.TrialJSON(&b, c); err != nil {
		r.doubt(dir, err)
		return
	}
	r.add(dir, &b)
}
