// Package klog reads kernel text.
//
// It has two floors. [RecordReader] frees log records from their containers:
// dmesg in all its forms, journald, syslog, /dev/kmsg, netconsole, logcat,
// JSON, mail, HTML. [Reader] recognises messages in those records by their
// text - never by kernel version, because vendor kernels carry messages of
// other eras - and yields [event.Event] values.
//
// One table holds every message format, and it is read both ways: to parse a
// line and to print one.
//
// The package reads from an io.Reader in bounded memory. It opens no files,
// does not decompress, and judges nothing.
package klog
