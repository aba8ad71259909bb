package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/explain"
	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/klog"
)

// explainSchema names the JSON document of the explain command.
const explainSchema = "cswatch.explain/v1"

func newExplainCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain [ID|PARAMETER|MESSAGE]...",
		GroupID: groupDiagnose,
		Short:   "Say what a finding, an advice, a kernel parameter or a kernel line means",
		Long: "explain tells what a finding, an advice or missing evidence means, which kernel releases have a parameter and\n" +
			"with which default, and what a line of the kernel says. Without an argument it lists what it knows.",
		Example: "  cswatch explain reference-read-delay\n  cswatch explain clocksource.max_cswd_read_retries\n" +
			"  cswatch explain 'clocksource: wd-tsc-wd read-back delay of 130760ns, clock-skew test skipped!'",
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var ids []cobra.Completion
			for _, e := range explain.All() {
				if strings.HasPrefix(e.ID, prefix) {
					ids = append(ids, cobra.CompletionWithDesc(e.ID, e.Title))
				}
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		query := strings.Join(args, " ")
		entries := explain.All()
		if query != "" {
			var found bool
			if entries, found = explained(query); !found {
				return unexplained(query)
			}
		}
		if format.String() == "json" {
			return env.writeJSON(struct {
				Schema  string          `json:"schema"`
				Query   string          `json:"query"`
				Entries []explain.Entry `json:"entries"`
			}{explainSchema, query, entries})
		}
		if query == "" {
			return report.ExplainList(env.Stdout, entries, textOptions(env))
		}
		return report.Explain(env.Stdout, entries, textOptions(env))
	}
	return cmd
}

// explained looks a query up as an id or a parameter, and else as a line of the kernel.
func explained(query string) ([]explain.Entry, bool) {
	if entries, ok := explain.Lookup(query); ok {
		return entries, true
	}
	var entries []explain.Entry
	r := klog.NewReader(strings.NewReader(query), "argument")
	for r.Next() {
		kind := r.Event().Kind
		found, _ := explain.Lookup(string(kind))
		for _, e := range found {
			if e.Class == explain.Message && !slices.ContainsFunc(entries, func(o explain.Entry) bool { return o.ID == e.ID }) {
				entries = append(entries, e)
			}
		}
	}
	return entries, len(entries) > 0
}

func unexplained(query string) error {
	if near := explain.Suggest(query, 3); len(near) > 0 {
		return usagef("nothing is known of %q; did you mean %s?", query, report.Either(near))
	}
	return usagef("nothing is known of %q: it is no id, no kernel parameter and no line of the kernel about clocks; see cswatch explain", query)
}
