package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/report"
)

// choice is a flag that takes one word of a closed list; the first is the default.
type choice struct {
	value   string
	allowed []string
}

func newChoice(first string, others ...string) *choice {
	return &choice{value: first, allowed: append([]string{first}, others...)}
}

// String returns the chosen word.
func (c *choice) String() string { return c.value }

// Set takes a word of the list and refuses every other.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("want %s", report.Either(c.allowed))
	}
	c.value = s
	return nil
}

// Type names the value in help texts: the list itself.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// complete offers the list to a shell.
func (c *choice) complete(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.allowed, cobra.ShellCompDirectiveNoFileComp
}

// formatFlag adds --format to a command; the first format is the default.
func formatFlag(cmd *cobra.Command, first string, others ...string) *choice {
	c := newChoice(first, others...)
	cmd.Flags().Var(c, "format", "output format")
	registerCompletion(cmd, "format", c.complete)
	return c
}

func registerCompletion(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // only for a flag that the caller did not define: a mistake in this program
	}
}

// writeJSON prints one document, indented, with <, > and & as they are:
// nothing of ours is pasted into HTML unescaped, and people read these files.
func (e *Env) writeJSON(document any) error {
	enc := json.NewEncoder(e.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("write the JSON document: %w", err)
	}
	return nil
}
