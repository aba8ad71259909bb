package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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

// whole is a flag that takes a whole number, from 0 to most.
type whole struct {
	value *int
	most  int
}

// String returns the number.
func (w whole) String() string { return strconv.Itoa(*w.value) }

// Set takes a number.
func (w whole) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > w.most {
		return fmt.Errorf("want a whole number from 0 to %d", w.most)
	}
	*w.value = n
	return nil
}

// Type names the value in help texts.
func (w whole) Type() string { return "int" }

// wholes is a flag that takes several of them, separated by commas.
type wholes struct {
	values *[]int
	most   int
}

// String returns the numbers.
func (w wholes) String() string {
	var words []string
	for _, n := range *w.values {
		words = append(words, strconv.Itoa(n))
	}
	return "[" + strings.Join(words, ",") + "]"
}

// Set adds numbers.
func (w wholes) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		var n int
		if err := (whole{&n, w.most}).Set(strings.TrimSpace(word)); err != nil {
			return fmt.Errorf("%q is none: want whole numbers from 0 to %d, separated by commas", word, w.most)
		}
		*w.values = append(*w.values, n)
	}
	return nil
}

// Type names the value in help texts.
func (w wholes) Type() string { return "ints" }

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
