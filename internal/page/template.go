package page

import _ "embed" // the parts of the page that are no Go

//go:embed page.tmpl
var templateText string

//go:embed page.css
var styleText string

//go:embed page.js
var scriptText string

// styles is the style sheet of the page.
func styles() string { return Style() + styleText }

func script() string { return scriptText }
