// Package page makes one HTML page of any mix of this program's JSON documents:
// diagnoses of a fleet, watches, replays, simulations, fits, campaigns, benchmarks.
//
// A page is one file that needs nothing else: no network, no font, no library. It
// works from a disk and without JavaScript, in print, in light and dark, and on a
// telephone. Its own style and script are allowed by their hashes, and nothing else
// is, so that what a document says can never run, load or link to anything.
//
// [Page.Add] reads documents, which are hostile as all input: sizes are bounded,
// long series are thinned while they are read in a way that keeps every extreme,
// and what is no document of ours is an error that leaves the page as it was.
// [Page.Write] writes the page. The same documents in the same order give the same bytes.
//
// Each kind of document is a file of its own with a type that fulfils the interface
// kind, and a line in kinds: what the page takes of a document, what it says of it in
// a sentence, and its section. A document of a kind that is not known yet becomes a
// table of its keys.
//
// The package opens no files, judges nothing and computes no statistics: what it
// shows is what the documents say.
package page
