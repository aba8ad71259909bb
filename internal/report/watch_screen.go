package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/cswatch/cswatch/internal/live"
	"github.com/cswatch/cswatch/machine"
)

// maxNews is how many lines of news a screen shows.
const maxNews = 5

// WatchScreen shows a watch on a terminal and draws itself anew in place. It
// needs a terminal that knows how to move the cursor up and to clear what is below it.
type WatchScreen struct {
	w     io.Writer
	opt   TextOptions
	drawn int // lines on the screen
	news  []string
}

// NewWatchScreen returns a screen on a terminal that is opt.Width columns wide.
func NewWatchScreen(w io.Writer, opt TextOptions) *WatchScreen { return &WatchScreen{w: w, opt: opt} }

// Draw shows a tick and the counts so far, in one Write.
func (s *WatchScreen) Draw(d *LiveWatch, t *live.Tick) error {
	p := &page{opt: s.opt}
	p.opt.Width, p.opt.Color = 0, false // lines are cut to the width, and painted behind that
	for _, text := range p.news(d, t) {
		s.news = append(s.news, fmt.Sprintf("tick %d, CPU %d: %s", t.Number, t.CPU, text))
	}
	s.news = s.news[max(len(s.news)-maxNews, 0):]
	worth := map[machine.Answer]string{machine.Yes: "independent", machine.No: "not independent"}[d.Reference.Independent]
	if worth == "" {
		worth = "perhaps not independent"
	}
	p.line(fmt.Sprintf("%s against %s (%s), era %s, CPUs %s", d.Reference.Counter, d.Reference.Name, worth, d.Era, d.Reference.CPUs))
	p.line("")
	p.line(fmt.Sprintf("%-8s %-5s %s", "tick", "CPU", "verdict"))
	if t.Idle != "" {
		p.line(fmt.Sprintf("%-8d %-5d no check: %s", t.Number, t.CPU, p.safe(t.Idle, maxText)))
	}
	for i := range t.Verdicts {
		p.line(fmt.Sprintf("%-8d %-5d %s", t.Number, t.CPU, p.verdict(&t.Verdicts[i])))
	}
	p.line("")
	p.watchCounts(d)
	if len(s.news) > 0 {
		p.line("")
		for _, text := range s.news {
			p.line(text)
		}
	}
	return s.show(strings.Split(strings.TrimSuffix(p.b.String(), "\n"), "\n"))
}

// Clear takes the screen away, for what stands in its place.
func (s *WatchScreen) Clear() error { return s.show(nil) }

// show replaces the lines on the screen.
func (s *WatchScreen) show(lines []string) error {
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.drawn)
	}
	b.WriteString("\x1b[J")
	for i, l := range lines {
		if r := []rune(l); s.opt.Width > 1 && len(r) >= s.opt.Width {
			l = string(r[:s.opt.Width-1]) // a line that wraps would take two, and be left behind
		}
		if s.opt.Color && i == 0 {
			l = "\x1b[1m" + l + "\x1b[0m"
		}
		b.WriteString(l + "\n")
	}
	s.drawn = len(lines)
	if _, err := io.WriteString(s.w, b.String()); err != nil {
		return fmt.Errorf("draw the screen: %w", err)
	}
	return nil
}
