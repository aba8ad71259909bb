// Package plot draws charts as SVG: points with whiskers, lines, bands.
//
// A [Chart] is data: two axes with units, series, reference lines. [Chart.SVG]
// makes one self-contained document of it. Text stays text, so that it can be
// searched and read aloud; colours are the ones of Okabe and Ito, which colour-blind
// readers tell apart, and every series has a marker or a dash of its own besides.
// The document follows the reader's light or dark mode by CSS. The same chart gives
// the same bytes.
//
// The package lays out no text by its font: widths are estimated, generously.
// It knows nothing of clocks, and computes no statistics.
package plot
