// Package browser opens pages in a headless Chromium, for tests: what the browser says of a page on its
// console, what the page requests, how it looks in dark and in print, whether its texts can be read.
//
// No test is about how fast a browser is. Where there is none, a test that asks for one is skipped by name.
//
// The package is no part of the program.
package browser
