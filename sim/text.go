package sim

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cswatch/cswatch/clocksource"
)

// parseTime reads a time with its unit, such as 1.5ms; 0 needs none.
func parseTime(text string) (clocksource.Nanos, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no time: want a number with its unit, such as 60us or 1.5s", text)
	}
	if clocksource.Nanos(d) > longest {
		return 0, fmt.Errorf("%s is too long: want a week at most", text)
	}
	return clocksource.Nanos(d), nil
}

func formatTime(n clocksource.Nanos) string {
	return strings.Replace(time.Duration(n).String(), "µ", "u", 1)
}

// units of frequencies and rates.
var (
	frequencyUnits = map[string]float64{"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
	rateUnits      = map[string]float64{"/s": 1, "/min": 1.0 / 60, "/h": 1.0 / 3600}
)

func parseHz(value, unit string) (clocksource.Hz, error) {
	x, err := strconv.ParseFloat(value, 64)
	factor, known := frequencyUnits[unit]
	if err != nil || !known || !(x > 0 && x*factor < 1e12) {
		return 0, fmt.Errorf("%q is no frequency: want a number and Hz, kHz, MHz or GHz", value+" "+unit)
	}
	return clocksource.Hz(math.Round(x * factor)), nil
}

// parseRate reads a rate such as 8/s.
func parseRate(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, "/")
	x, err := strconv.ParseFloat(number, 64)
	factor, known := rateUnits["/"+unit]
	if text == "0" {
		return 0, nil
	}
	if err != nil || !known || !(x >= 0) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is no rate: want a number with /s, /min or /h, or 0", text)
	}
	return x * factor, nil
}

func parseProbability(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return 0, fmt.Errorf("%q is no probability: want 0 to 1", text)
	}
	return x, nil
}

// parser reads a model.
type parser struct {
	m    Model
	seen map[string]bool
}

// Parse reads a machine. The text has one parameter a line, its name first, the
// parameters of a process indented behind the line that names it, and comments
// behind #, of which those on the line of a parameter say where it comes from. The
// result is valid.
func Parse(r io.Reader) (Model, error) {
	p := parser{
		m: Model{Nodes: 1, Remote: 20, HZ: 250, From: 3 * clocksource.NanosPerSecond, Window: 60 * clocksource.NanosPerSecond,
			Shows: 0.5, TSCRead: 20, Hop: 100, RemoteHop: 300, Call: 2000, Sources: map[string]string{}},
		seen: map[string]bool{},
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if err := p.line(lines.Text()); err != nil {
			return Model{}, fmt.Errorf("read a machine, line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Model{}, fmt.Errorf("read a machine: %w", err)
	}
	if p.m.Name == "" {
		return Model{}, fmt.Errorf("read a machine: it has no line \"machine NAME\"")
	}
	if len(p.m.Phases) == 0 {
		p.m.Phases = []Phase{{Name: "run"}}
	}
	for i := range p.m.Processes {
		if p.m.Processes[i].Rates == nil {
			p.m.Processes[i].Rates = make([]float64, len(p.m.Phases))
		}
	}
	if err := p.m.Validate(); err != nil {
		return Model{}, err
	}
	return p.m, nil
}

func (p *parser) line(text string) error {
	code, comment, _ := strings.Cut(text, "#")
	fields := strings.Fields(code)
	if len(fields) == 0 {
		return nil
	}
	indented := code[0] == ' ' || code[0] == '\t'
	key, args := fields[0], fields[1:]
	var err error
	name := key
	switch {
	case indented && len(p.m.Processes) == 0:
		return fmt.Errorf("%q stands before the first process", key)
	case indented:
		proc := &p.m.Processes[len(p.m.Processes)-1]
		name = proc.Name + "." + key
		err = p.attribute(proc, key, args)
	default:
		if key == "phase" || key == "process" {
			name = key + " " + strings.Join(args[:min(len(args), 1)], "")
		}
		err = p.parameter(key, args)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if p.seen[name] {
		return fmt.Errorf("%s is given twice", name)
	}
	p.seen[name] = true
	if comment = strings.TrimSpace(comment); comment != "" {
		p.m.Sources[name] = comment
	}
	return nil
}

// parameter reads a line of the machine itself.
func (p *parser) parameter(key string, args []string) error {
	m := &p.m
	times := map[string]*clocksource.Nanos{"from": &m.From, "window": &m.Window, "tsc-read": &m.TSCRead, "hop": &m.Hop, "remote-hop": &m.RemoteHop, "call": &m.Call}
	counts := map[string]*int{"cpus": &m.CPUs, "nodes": &m.Nodes, "distance": &m.Remote, "hz": &m.HZ}
	var err error
	switch {
	case key == "about":
		m.About = strings.Join(args, " ")
	case key == "machine":
		if len(args) != 1 {
			return fmt.Errorf("want a name without blanks")
		}
		m.Name = args[0]
	case times[key] != nil && len(args) == 1:
		*times[key], err = parseTime(args[0])
	case counts[key] != nil && len(args) == 1:
		*counts[key], err = strconv.Atoi(args[0])
	case key == "tsc" && (len(args) == 2 || len(args) == 3 && args[2] == "calibrated"):
		m.TSC, err = parseHz(args[0], args[1])
		m.Calibrated = len(args) == 3
	case key == "reference" && len(args) == 3:
		m.Reference = args[0]
		m.Rate, err = parseHz(args[1], args[2])
	case key == "shows" && len(args) == 1:
		m.Shows, err = strconv.ParseFloat(args[0], 64)
	case key == "read":
		m.Read, err = ParseDist(strings.Join(args, " "))
	case key == "first-attempt":
		var first Dist
		first, err = ParseDist(strings.Join(args, " "))
		m.First = &first
	case key == "phase" && len(args) == 1:
		m.Phases = append(m.Phases, Phase{Name: args[0]})
	case key == "phase" && len(args) == 3 && args[1] == "until":
		var t clocksource.Nanos
		t, err = parseTime(args[2])
		m.Phases = append(m.Phases, Phase{Name: args[0], Until: t})
	case key == "process" && len(args) == 2:
		m.Processes = append(m.Processes, Process{Name: args[0], Kind: Kind(args[1]), Scope: WholeMachine})
	default:
		return fmt.Errorf("this is no parameter of a machine, or has too many or too few words: %q", strings.Join(args, " "))
	}
	return err
}

// attribute reads a line of a process.
func (p *parser) attribute(proc *Process, key string, args []string) error {
	var err error
	switch {
	case key == "scope" && len(args) == 1:
		proc.Scope = Scope(args[0])
	case key == "count" && len(args) == 1:
		proc.Count, err = strconv.Atoi(args[0])
	case key == "length":
		proc.Length, err = ParseDist(strings.Join(args, " "))
	case key == "extra":
		proc.Extra, err = ParseDist(strings.Join(args, " "))
	case key == "rate":
		proc.Rates, err = p.rates(args)
	case key == "enter" && len(args) == 1:
		proc.Enter, err = parseProbability(args[0])
	case key == "leave" && len(args) == 1:
		proc.Leave, err = parseProbability(args[0])
	case key == "from" && len(args) == 1:
		proc.From, err = parseTime(args[0])
	default:
		return fmt.Errorf("this is no parameter of a process, or has too many or too few words: %q", strings.Join(args, " "))
	}
	return err
}

// rates reads "8/s" for all phases, or "boot 8/s run 0".
func (p *parser) rates(args []string) ([]float64, error) {
	phases := p.m.Phases
	if len(phases) == 0 {
		phases = []Phase{{Name: "run"}}
	}
	rates := make([]float64, len(phases))
	if len(args) == 1 {
		r, err := parseRate(args[0])
		for i := range rates {
			rates[i] = r
		}
		return rates, err
	}
	if len(args) == 0 || len(args)%2 != 0 {
		return nil, fmt.Errorf("want a rate, or pairs of a phase and a rate")
	}
	for i := 0; i < len(args); i += 2 {
		found := false
		for j := range phases {
			if phases[j].Name == args[i] {
				var err error
				if rates[j], err = parseRate(args[i+1]); err != nil {
					return nil, err
				}
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is no phase that was named before", args[i])
		}
	}
	return rates, nil
}
