package exporter

import (
	"fmt"
	"io"
	"strings"
)

// manyValues is from how many values on a label's are listed once, behind the tables.
const manyValues = 14

// WriteMarkdown writes the documentation of all metrics.
func WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	lists := map[string][]string{}
	for _, m := range append(Metrics(), ServerMetrics()...) {
		fmt.Fprintf(&b, "\n### %s\n\n%s", m.Name, upper(string(m.Type)))
		if m.Unit != "" {
			fmt.Fprintf(&b, ", in %s", m.Unit)
		}
		fmt.Fprintf(&b, ". %s\n", m.Help)
		if m.Note != "" {
			fmt.Fprintf(&b, "%s\n", m.Note)
		}
		if len(m.Labels) > 0 {
			fmt.Fprint(&b, "\n| label | values |\n|---|---|\n")
		}
		for _, l := range m.Labels {
			values := "`" + strings.Join(l.Values, "`, `") + "`"
			switch {
			case len(l.Values) == 0:
				values = "of this build"
			case len(l.Values) > manyValues:
				name := listName(l.Name)
				lists[name] = l.Values
				values = "[" + name + "](#" + strings.ReplaceAll(name, " ", "-") + ")"
			}
			values = strings.ReplaceAll(values, "``", "empty")
			if l.Note != "" {
				values += "; " + l.Note
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", l.Name, values)
		}
	}
	fmt.Fprint(&b, "\n## Values of labels\n")
	for _, name := range []string{"clocksources", "eras", "kinds of events", "findings"} {
		values := lists[name]
		if name == "clocksources" {
			values = ClockNames()
		}
		fmt.Fprintf(&b, "\n### %s\n\n`%s`\n", name, strings.Join(values, "`, `"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// listName is what the values of a label with many are called.
func listName(label string) string {
	switch label {
	case "era":
		return "eras"
	case "kind":
		return "kinds of events"
	case "id":
		return "findings"
	}
	return "clocksources"
}
