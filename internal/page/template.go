package page

import (
	_ "embed" // the parts of the page that are no Go
	"html/template"
	"strings"

	"github.com/cswatch/cswatch/internal/plot"
)

//go:embed page.tmpl
var templateText string

//go:embed page.css
var styleText string

//go:embed page.js
var scriptText string

// pageTemplate is the page as html/template, which escapes everything by where it stands.
func pageTemplate() *template.Template {
	return template.Must(template.New("page").Parse(templateText))
}

// styles is the style sheet of the page: its colours, light and dark, its own rules and those of the charts.
func styles() string {
	light := plot.Variables(false) + " " + lightInk
	dark := plot.Variables(true) + " " + darkInk
	return strings.NewReplacer("/*light*/", light, "/*dark*/", dark).Replace(styleText) + plot.StyleSheet()
}

// Colours besides those of the charts: text on badges and behind them, links, panels.
const (
	lightInk = "--panel: #f5f6f8; --line: #d4d8de; --link: #0b5cad; --critical: #a40e26; --warning: #7a4b00; --unknown: #4b4f9c; --ok: #0b6b3a; --info: #4d545e; " +
		"--critical-ground: #fde7ea; --warning-ground: #fdf0d5; --unknown-ground: #ecedfb; --ok-ground: #e2f4e9; --info-ground: #eceef1;"
	darkInk = "--panel: #1f2227; --line: #3c4148; --link: #7fb8f5; --critical: #ff9aa6; --warning: #f3c26b; --unknown: #b5b9ff; --ok: #7fd6a2; --info: #c0c6cf; " +
		"--critical-ground: #43171e; --warning-ground: #3d2c0b; --unknown-ground: #26284a; --ok-ground: #12351f; --info-ground: #2a2e34;"
)

func script() string { return scriptText }
