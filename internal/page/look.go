package page

import (
	_ "embed" // the parts of a page that are no Go
	"fmt"
	"html/template"
	"strings"

	"github.com/cswatch/cswatch/internal/plot"
)

//go:embed look.tmpl
var lookTemplates string

//go:embed look.css
var lookStyle string

// Style is the style sheet that all pages of this program begin with: colours, light and dark, text, badges,
// tables, charts, narrow screens and paper. A page whose reader may choose sets data-theme of its root.
func Style() string {
	light := plot.Variables(false) + " " + lightInk
	dark := plot.Variables(true) + " " + darkInk
	return strings.NewReplacer("/*light*/", light, "/*dark*/", dark).Replace(lookStyle) + plot.StyleSheet()
}

// Colours besides those of the charts: text on badges and behind them, links, panels.
const (
	lightInk = "--panel: #f5f6f8; --line: #d4d8de; --link: #0b5cad; --critical: #a40e26; --warning: #7a4b00; --unknown: #4b4f9c; --ok: #0b6b3a; --info: #4d545e; " +
		"--critical-ground: #fde7ea; --warning-ground: #fdf0d5; --unknown-ground: #ecedfb; --ok-ground: #e2f4e9; --info-ground: #eceef1;"
	darkInk = "--panel: #1f2227; --line: #3c4148; --link: #7fb8f5; --critical: #ff9aa6; --warning: #f3c26b; --unknown: #b5b9ff; --ok: #7fd6a2; --info: #c0c6cf; " +
		"--critical-ground: #43171e; --warning-ground: #3d2c0b; --unknown-ground: #26284a; --ok-ground: #12351f; --info-ground: #2a2e34;"
)

// Template parses the text of a page, which can use the templates "badge" of a [Status], "blocks" of a list of [Block],
// "lines", "figure" and "table", and define "above-table" and "below-table" for what its script adds to a table.
func Template(name, text string) (*template.Template, error) {
	t, err := template.New(name).Parse(lookTemplates)
	if err != nil {
		return nil, fmt.Errorf("parse what all pages have in common: %w", err)
	}
	if t, err = t.Parse(text); err != nil {
		return nil, fmt.Errorf("parse the page %q: %w", name, err)
	}
	return t, nil
}

// Ready makes blocks fit to be shown: texts are cleaned of what is invisible or turns text around, figures are drawn
// and get ids that begin with that of their section. It changes the blocks.
func Ready(id string, blocks []Block) error {
	clean(blocks)
	for i, f := range figures(blocks) {
		if f.ID == "" {
			f.ID = fmt.Sprintf("%s-figure-%d", id, i+1)
		}
		if err := f.draw(); err != nil {
			return err
		}
	}
	return nil
}

// Shown is a text of somebody else as a page shows it: on one line, with at most so many bytes.
func Shown(s string, most int) string { return shown(s, most) }

// Grouped puts a space between groups of three digits.
func Grouped(n uint64) string { return grouped(fmt.Sprint(n)) }
