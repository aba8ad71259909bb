// Package exporter shows what a monitor knows: as metrics for Prometheus, as a JSON document and as a page.
//
// It takes a [tally.View], a copy of what is known, whenever somebody asks, and judges nothing: the verdict is the doctor's.
//
// [Listen] opens the sockets of a [Server], and [Server.Serve] answers GET and HEAD:
//
//	/metrics          the metrics, as text, OpenMetrics or protocol buffers; 503 until they are complete
//	/api/v1/status    the status document
//	/-/ready          200, or 503 with the reason
//	/-/healthy        200, or 503 with the reason
//	/ and the rest    the page
//
// The server runs beside what a machine is for, so what clients can cost it is bounded, whatever they do. It
// listens on the loopback unless told otherwise. No request has a body. The metrics, and the status document, are made once
// for all who ask at a time, never before they asked, and their bytes are shared. Connections are
// bounded; at the bound the one that has kept the server waiting longest makes room. TLS, client certificates and passwords are
// those of the Prometheus exporter toolkit; this package decides only in which order passwords are checked.
//
// The server speaks HTTP/1.1 alone, it tells clients apart by address only where passwords are wrong, and a flood of TLS
// handshakes that clients carry out in full takes CPU all the same.
package exporter
