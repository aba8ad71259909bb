package guest

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/load"
)

// Plan is what process 1 does. The zero value says hello, hands over the kernel
// log up to that moment, and ends.
type Plan struct {
	// Window is how long process 1 dwells at most, by the guest's monotonic clock.
	Window time.Duration `json:"window_ns"`
	// EndOn are kinds of events that end the dwelling early.
	EndOn []event.Kind `json:"end_on,omitempty"`
	// Linger is how long to go on after such an event, so that what the kernel
	// says next is still heard. It never extends the window.
	Linger time.Duration `json:"linger_ns"`
	// Run is a program of the initramfs with its arguments. It starts after the
	// hello; its output is handed over line by line. The trial ends when it ends,
	// or, if that comes first, as the fields above say; then it is killed.
	Run []string `json:"run,omitempty"`
	// Symbols are functions of the kernel whose addresses are wanted. They are
	// handed over after the hello; one that the kernel does not have is left out.
	Symbols []string `json:"symbols,omitempty"`
	// Load is driven from the hello until the dwelling ends, beside the program.
	// "" is load.None. A load that cannot be driven ends the trial at once.
	Load load.Kind `json:"load,omitempty"`
	// Fetch are files of the guest that are handed over at the end, when program and
	// load have ended: absolute paths, each at most [MaxFile] bytes. One that is not
	// there is a trouble. An emulated serial port takes about two seconds for a MiB.
	Fetch []string `json:"fetch,omitempty"`
}

// MaxWindow bounds Window and Linger.
const MaxWindow = 24 * time.Hour

// Names of the words. The kernel hands words without a dot that it does not know
// to process 1 as environment variables; it panics if there are more than 32.
const (
	prefix      = "CSWATCH_"
	wordWindow  = prefix + "WINDOW"
	wordEnd     = prefix + "END"
	wordLinger  = prefix + "LINGER"
	wordRun     = prefix + "RUN"
	wordSymbols = prefix + "SYMBOLS"
	wordLoad    = prefix + "LOAD"
	wordFetch   = prefix + "FETCH"
)

// Validate reports everything that is wrong with the plan.
func (p Plan) Validate() error {
	var errs []error
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"window", p.Window}, {"linger", p.Linger}} {
		if d.d < 0 || d.d > MaxWindow {
			errs = append(errs, fmt.Errorf("guest plan: %s %v: want 0 to %v", d.name, d.d, MaxWindow))
		}
	}
	known := event.Kinds()
	for _, k := range p.EndOn {
		if !slices.Contains(known, k) {
			errs = append(errs, fmt.Errorf("guest plan: %q is no kind of event", k))
		}
	}
	if len(p.Run) > 0 && !strings.HasPrefix(p.Run[0], "/") {
		errs = append(errs, fmt.Errorf("guest plan: program %q: want an absolute path in the initramfs", p.Run[0]))
	}
	if len(p.Run) > 0 && p.Window == 0 {
		errs = append(errs, errors.New("guest plan: a program without a window in which to run"))
	}
	for _, arg := range p.Run {
		if strings.Contains(arg, "\x00") {
			errs = append(errs, fmt.Errorf("guest plan: argument %q holds a zero byte", arg))
		}
	}
	for _, name := range p.Symbols {
		if name == "" || strings.ContainsAny(name, " \t\n\x00") {
			errs = append(errs, fmt.Errorf("guest plan: %q is no name of a function", name))
		}
	}
	if p.Load != "" {
		if _, err := load.Parse(string(p.Load)); err != nil {
			errs = append(errs, fmt.Errorf("guest plan: %w", err))
		}
	}
	if !p.Load.Quiet() && p.Window == 0 {
		errs = append(errs, fmt.Errorf("guest plan: the load %s without a window in which to drive it", p.Load))
	}
	for i, name := range p.Fetch {
		if checkPath(name) != nil || slices.Contains(p.Fetch[:i], name) {
			errs = append(errs, fmt.Errorf("guest plan: file %q to fetch: want an absolute path without detours, once", name))
		}
	}
	return errors.Join(errs...)
}

// checkPath reports a path that does not name one file of the guest in one way.
func checkPath(name string) error {
	const longest = 4095 // PATH_MAX without its zero
	if len(name) > longest || !path.IsAbs(name) || path.Clean(name) != name || name == "/" || strings.Contains(name, "\x00") {
		return fmt.Errorf("%q is no absolute path without detours", name)
	}
	return nil
}

// Words returns the plan as words for the kernel command line, free of blanks
// and quotes. Fields with their zero value need no word.
func (p Plan) Words() []string {
	var words []string
	if p.Window != 0 {
		words = append(words, wordWindow+"="+p.Window.String())
	}
	if len(p.EndOn) > 0 {
		kinds := make([]string, len(p.EndOn))
		for i, k := range p.EndOn {
			kinds[i] = string(k)
		}
		words = append(words, wordEnd+"="+joinList(kinds))
	}
	if p.Linger != 0 {
		words = append(words, wordLinger+"="+p.Linger.String())
	}
	if len(p.Run) > 0 {
		words = append(words, wordRun+"="+joinList(p.Run))
	}
	if len(p.Symbols) > 0 {
		words = append(words, wordSymbols+"="+joinList(p.Symbols))
	}
	if p.Load != "" {
		words = append(words, wordLoad+"="+string(p.Load))
	}
	if len(p.Fetch) > 0 {
		words = append(words, wordFetch+"="+joinList(p.Fetch))
	}
	return words
}

// ParsePlan reads a plan from words of the form NAME=VALUE, such as an
// environment. Words that do not begin with CSWATCH_ are others' and passed over;
// an unknown one that does is an error, since a wish that is silently not
// fulfilled would be worse.
func ParsePlan(words []string) (Plan, error) {
	var p Plan
	seen := map[string]bool{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if seen[name] {
			return Plan{}, fmt.Errorf("read the guest plan: %s is given twice", name)
		}
		seen[name] = true
		var err error
		switch name {
		case wordWindow:
			p.Window, err = time.ParseDuration(value)
		case wordLinger:
			p.Linger, err = time.ParseDuration(value)
		case wordEnd:
			var kinds []string
			kinds, err = splitList(value)
			for _, k := range kinds {
				p.EndOn = append(p.EndOn, event.Kind(k))
			}
		case wordRun:
			p.Run, err = splitList(value)
		case wordSymbols:
			p.Symbols, err = splitList(value)
		case wordLoad:
			p.Load, err = load.Parse(value)
		case wordFetch:
			p.Fetch, err = splitList(value)
		default:
			err = errors.New("this guest program does not know the word: build host and guest program from the same source")
		}
		if err != nil {
			return Plan{}, fmt.Errorf("read the guest plan: %s: %w", name, err)
		}
	}
	if err := p.Validate(); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// plainByte reports whether a byte stands for itself in a list. Blanks and
// quotes would be the kernel's, commas separate, and the percent sign escapes.
func plainByte(c byte) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune(`"'%,\`, rune(c))
}

// joinList writes a list as one word: commas between, other bytes as %XX.
func joinList(items []string) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		for j := range len(item) {
			if c := item[j]; plainByte(c) {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
	}
	return b.String()
}

// splitList reads what joinList wrote.
func splitList(s string) ([]string, error) {
	var items []string
	for item := range strings.SplitSeq(s, ",") {
		var b strings.Builder
		for i := 0; i < len(item); i++ {
			c := item[i]
			switch {
			case c == '%':
				if len(item) < i+3 {
					return nil, fmt.Errorf("%q: an escape needs two hexadecimal digits", item)
				}
				high, low := hexDigit(item[i+1]), hexDigit(item[i+2])
				if high < 0 || low < 0 {
					return nil, fmt.Errorf("%q: an escape needs two hexadecimal digits", item)
				}
				b.WriteByte(byte(high<<4 | low))
				i += 2
			case plainByte(c):
				b.WriteByte(c)
			default:
				return nil, fmt.Errorf("%q: byte %#02x must be escaped", item, c)
			}
		}
		items = append(items, b.String())
	}
	return items, nil
}

func hexDigit(c byte) int { return strings.IndexByte("0123456789ABCDEF", c) }
