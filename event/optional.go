package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Opt is a value that the text may not have carried. The zero value is
// "unknown"; it is left out of JSON by the omitzero option.
type Opt[T any] struct {
	Value T
	Known bool
}

// Some returns a known value.
func Some[T any](v T) Opt[T] { return Opt[T]{Value: v, Known: true} }

// IsZero reports that the value is unknown, whatever Value holds.
func (o Opt[T]) IsZero() bool { return !o.Known }

// Get returns the value and whether it is known.
func (o Opt[T]) Get() (T, bool) { return o.Value, o.Known }

// MarshalJSON writes the value, or null if it is unknown.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.Known {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON reads a value; null is unknown.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*o = Opt[T]{}
		return nil
	}
	if err := json.Unmarshal(b, &o.Value); err != nil {
		return err
	}
	o.Known = true
	return nil
}

// Hex is a raw counter value or mask. JSON carries it as a string ("0x1c29fb9"),
// because many JSON readers keep only 53 bits of a number.
type Hex uint64

// MarshalText writes the value as 0x and hexadecimal digits.
func (h Hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

// UnmarshalText reads hexadecimal digits with or without 0x.
func (h *Hex) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(strings.TrimPrefix(string(b), "0x"), 16, 64)
	if err != nil {
		return fmt.Errorf("counter value %q: want hexadecimal digits: %w", b, err)
	}
	*h = Hex(v)
	return nil
}
