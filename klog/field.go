package klog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/event"
)

// fieldNamed returns the field of that name, or nil.
func fieldNamed(name string) *field {
	switch name {
	case "_": // a word that nobody needs
		return &field{name: name, class: classWord, set: ignore, get: unknown}
	case "*": // the rest that nobody needs
		return &field{name: name, class: classRest, set: ignore, get: unknown}
	case "rest":
		return textField(name, classRest, func(e *event.Event) *string { return &e.Detail })
	case "word":
		return textField(name, classWord, func(e *event.Event) *string { return &e.Detail })
	case "cs":
		return textField(name, className, func(e *event.Event) *string { return &e.Clocksource })
	case "ref":
		return textField(name, className, func(e *event.Event) *string { return &e.Reference })
	case "cur":
		return textField(name, className, func(e *event.Event) *string { return &e.Current })
	case "cpus":
		return textField(name, classList, func(e *event.Event) *string { return &e.CPUs })
	case "now":
		return hexField(name, "%x", func(e *event.Event) *event.Opt[event.Hex] { return &e.Now })
	case "last":
		return hexField(name, "%x", func(e *event.Event) *event.Opt[event.Hex] { return &e.Last })
	case "mask":
		return hexField(name, "%x", func(e *event.Event) *event.Opt[event.Hex] { return &e.Mask })
	case "xmask":
		return hexField(name, "0x", func(e *event.Event) *event.Opt[event.Hex] { return &e.Mask })
	case "xcycles":
		return hexField(name, "0x", func(e *event.Event) *event.Opt[event.Hex] { return &e.MaxCycles })
	case "limitms":
		return limitMSField()
	case "mhz":
		return mhzField(3)
	case "mhz6":
		return mhzField(6)
	case "ppm":
		return ppmField()
	case "skewms":
		return derivedMS(name, func(e *event.Event) event.Opt[int64] { return e.SkewNS })
	case "refms":
		return derivedMS(name, func(e *event.Event) event.Opt[int64] { return e.ReferenceIntervalNS })
	case "a", "b", "c", "d":
		return schedField(name)
	}
	if get := decimalNamed(name); get != nil {
		return decimalField(name, 0, get)
	}
	// "{ns:16}" prints right-aligned in sixteen columns, as the messages of 7.1 do.
	base, width, ok := strings.Cut(name, ":")
	if !ok {
		return nil
	}
	columns, err := strconv.Atoi(width)
	if err != nil {
		return nil
	}
	if get := decimalNamed(base); get != nil {
		return decimalField(name, columns, get)
	}
	if get := stampNamed(base); get != nil {
		return stampField(name, columns, get)
	}
	f := fieldNamed(base)
	if f == nil || f.class != className {
		return nil
	}
	plain := f.get
	f.name = name
	f.get = func(e *event.Event) (string, bool) {
		s, ok := plain(e)
		return pad(s, columns), ok
	}
	return f
}

// decimalNamed maps the decimal fields to their places in an event.
func decimalNamed(name string) func(*event.Event) *event.Opt[int64] {
	switch name {
	case "cpu":
		return func(e *event.Event) *event.Opt[int64] { return &e.CPU }
	case "peer":
		return func(e *event.Event) *event.Opt[int64] { return &e.PeerCPU }
	case "delay":
		return func(e *event.Event) *event.Opt[int64] { return &e.DelayNS }
	case "wddelay":
		return func(e *event.Event) *event.Opt[int64] { return &e.WatchdogDelayNS }
	case "limit":
		return func(e *event.Event) *event.Opt[int64] { return &e.LimitNS }
	case "attempt":
		return func(e *event.Event) *event.Opt[int64] { return &e.Attempt }
	case "retries":
		return func(e *event.Event) *event.Opt[int64] { return &e.Retries }
	case "ns":
		return func(e *event.Event) *event.Opt[int64] { return &e.IntervalNS }
	case "refns":
		return func(e *event.Event) *event.Opt[int64] { return &e.ReferenceIntervalNS }
	case "skew":
		return func(e *event.Event) *event.Opt[int64] { return &e.SkewNS }
	case "maxidle":
		return func(e *event.Event) *event.Opt[int64] { return &e.MaxIdleNS }
	case "cycles":
		return func(e *event.Event) *event.Opt[int64] { return &e.Cycles }
	case "other":
		return func(e *event.Event) *event.Opt[int64] { return &e.OtherCycles }
	case "min":
		return func(e *event.Event) *event.Opt[int64] { return &e.MinNS }
	case "max":
		return func(e *event.Event) *event.Opt[int64] { return &e.MaxNS }
	case "seconds":
		return func(e *event.Event) *event.Opt[int64] { return &e.Seconds }
	}
	return nil
}

// stampNamed maps the fields of counter values that a kernel prints in decimal.
func stampNamed(name string) func(*event.Event) *event.Opt[event.Hex] {
	switch name {
	case "stamp":
		return func(e *event.Event) *event.Opt[event.Hex] { return &e.Stamp }
	case "peerstamp":
		return func(e *event.Event) *event.Opt[event.Hex] { return &e.PeerStamp }
	}
	return nil
}

func ignore(*event.Event, string) bool    { return true }
func unknown(*event.Event) (string, bool) { return "", false }
func pad(s string, columns int) string    { return strings.Repeat(" ", max(0, columns-len(s))) + s }

func textField(name string, c class, at func(*event.Event) *string) *field {
	return &field{
		name: name, class: c,
		set: func(e *event.Event, s string) bool {
			*at(e) = clip(strings.Trim(s, " \t"), event.MaxDetail)
			return true
		},
		get: func(e *event.Event) (string, bool) { s := *at(e); return s, s != "" },
	}
}

func decimalField(name string, columns int, at func(*event.Event) *event.Opt[int64]) *field {
	return &field{
		name: name, class: classDecimal,
		set: func(e *event.Event, s string) bool {
			v, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return false
			}
			*at(e) = event.Some(v)
			return true
		},
		get: func(e *event.Event) (string, bool) {
			v, ok := at(e).Get()
			return pad(strconv.FormatInt(v, 10), columns), ok
		},
	}
}

// stampField is a counter value in decimal. Kernels print all 64 bits without a
// sign: a TSC that was
// set back below zero shows values close to 2^64.
func stampField(name string, columns int, at func(*event.Event) *event.Opt[event.Hex]) *field {
	return &field{
		name: name, class: classUnsigned,
		set: func(e *event.Event, s string) bool {
			v, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				return false
			}
			*at(e) = event.Some(event.Hex(v))
			return true
		},
		get: func(e *event.Event) (string, bool) {
			v, ok := at(e).Get()
			return pad(strconv.FormatUint(uint64(v), 10), columns), ok
		},
	}
}

func hexField(name, style string, at func(*event.Event) *event.Opt[event.Hex]) *field {
	return &field{
		name: name, class: classHex,
		set: func(e *event.Event, s string) bool {
			v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
			if err != nil {
				return false
			}
			*at(e) = event.Some(event.Hex(v))
			return true
		},
		get: func(e *event.Event) (string, bool) {
			v, ok := at(e).Get()
			s := strconv.FormatUint(uint64(v), 16)
			if style == "0x" {
				s = "0x" + s
			}
			return s, ok
		},
	}
}

// mhzField reads "2299.998" as 2 299 998 000 Hz and prints it with that many
// decimals, or with six where fewer would lose some.
func mhzField(decimals int) *field {
	return &field{
		name: "mhz", class: classMHz,
		set: func(e *event.Event, s string) bool {
			hz, ok := parseMHz(s)
			if ok {
				e.FrequencyHz = event.Some(hz)
			}
			return ok
		},
		get: func(e *event.Event) (string, bool) {
			hz, ok := e.FrequencyHz.Get()
			micro := strconv.FormatInt(hz%1_000_000+1_000_000, 10)[1:]
			if hz%1000 != 0 {
				return strconv.FormatInt(hz/1_000_000, 10) + "." + micro, ok
			}
			return strconv.FormatInt(hz/1_000_000, 10) + "." + micro[:decimals], ok
		},
	}
}

func parseMHz(s string) (int64, bool) {
	whole, part, _ := strings.Cut(strings.TrimRight(s, ".-"), ".")
	if len(part) > 6 {
		part = part[:6]
	}
	w, err := strconv.ParseInt(whole, 10, 32)
	if err != nil || w < 0 {
		return 0, false
	}
	p, err := strconv.ParseInt((part + "000000")[:6], 10, 32)
	if err != nil || p < 0 {
		return 0, false
	}
	return w*1_000_000 + p, true
}

func ppmField() *field {
	return &field{
		name: "ppm", class: classMHz,
		set: func(e *event.Event, s string) bool {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return false
			}
			e.RatePPM = event.Some(event.Rate(v))
			return true
		},
		get: func(e *event.Event) (string, bool) {
			v, ok := e.RatePPM.Get()
			return strconv.FormatFloat(float64(v), 'f', -1, 64), ok
		},
	}
}

// derivedMS is a whole number of milliseconds that kernel text prints beside
// the nanoseconds. It is ignored when reading: 6.3 to 6.7 print it wrongly for
// negative skews.
func derivedMS(name string, ns func(*event.Event) event.Opt[int64]) *field {
	return &field{
		name: name, class: classDecimal, set: ignore,
		get: func(e *event.Event) (string, bool) {
			v, ok := ns(e).Get()
			return strconv.FormatInt(v/1_000_000, 10), ok
		},
	}
}

// limitMSField is a limit in milliseconds with three decimals, "62.500".
func limitMSField() *field {
	return &field{
		name: "limitms", class: classMHz,
		set: func(e *event.Event, s string) bool {
			ns, ok := parseMHz(s) // the same digits: units of a millionth
			if ok {
				e.LimitNS = event.Some(ns)
			}
			return ok
		},
		get: func(e *event.Event) (string, bool) {
			ns, ok := e.LimitNS.Get()
			return fmt.Sprintf("%d.%03d", ns/1_000_000, ns/1000%1000), ok
		},
	}
}

func schedField(name string) *field {
	at := func(s *event.Sched) *int64 {
		switch name {
		case "a":
			return &s.Gtod
		case "b":
			return &s.GtodOffset
		case "c":
			return &s.Raw
		}
		return &s.RawOffset
	}
	return &field{
		name: name, class: classDecimal,
		set: func(e *event.Event, s string) bool {
			v, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return false
			}
			e.SchedNS.Known = true
			*at(&e.SchedNS.Value) = v
			return true
		},
		get: func(e *event.Event) (string, bool) {
			s, ok := e.SchedNS.Get()
			return strconv.FormatInt(*at(&s), 10), ok
		},
	}
}

// clip cuts s at n bytes without splitting a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
