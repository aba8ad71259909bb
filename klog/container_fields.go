package klog

import (
	"strings"

	"github.com/cswatch/cswatch/event"
)

// dmesgDraft reads the fields of dmesg --json.
func (o *jsonObject) dmesgDraft(d *draft) {
	d.own = true
	pri := o.get("pri")
	if f := o.get("fac"); f != "" {
		if l := levelWord(pri); l >= 0 {
			d.setFacility(f, l)
		}
	} else if n := digits(pri, 1, 4); n > 0 && n == len(pri) {
		d.priority(decimal(pri))
	}
	t := o.get("time")
	if ns, n, _, ok := seconds(t); ok && n == len(t) {
		d.printk = event.Some(ns)
	} else if t != "" {
		d.wall, d.doubt = t, DoubtDmesgT
	}
}

// genericDraft reads what log shippers and controllers write beside a message.
func (o *jsonObject) genericDraft(d *draft) {
	if w := o.first("timestamp", "@timestamp", "time", "ts", "_time", "@t"); w != "" {
		d.wall = w
	}
	ident := o.first("SYSLOG_IDENTIFIER", "syslog_identifier", "identifier", "ident", "appname", "app_name", "programname", "program", "syslogtag")
	ident = strings.TrimSuffix(ident, ":")
	if name, n := processPrefix(ident + ":"); n > 0 {
		ident = name
	}
	f := o.first("facility", "syslogfacility", "SYSLOG_FACILITY", "syslogfacility-text")
	kern := f == "kern" || f == "0"
	others := facilityWord(f) && !kern || digits(f, 1, 2) == len(f) && f != "" && !kern
	switch t := o.get("_TRANSPORT"); {
	case t != "" && t != "kernel" || others:
		d.own = true
		d.foreign(ident)
	case ident != "":
		d.writer(ident)
	case kern || t == "kernel":
		d.own = true
		d.kernel()
	default:
		if c := o.first("component", "logger"); c != "" {
			d.ident = c
		}
	}
}
