package snapshot

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// sample is what QEMU 7.2 saved of a machine with two CPUs, without its memory and
// most of its devices.
func sample(t testing.TB) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "qemu-7.2.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// maker makes small streams. Its devices are map literals, as the description has
// them; data are the bytes of each.
type maker struct {
	devices []map[string]any
	data    [][]byte
}

func (m *maker) add(name string, instance int, data []byte, fields ...map[string]any) {
	m.devices = append(m.devices, map[string]any{"name": name, "instance_id": instance, "version": 1, "fields": fields})
	m.data = append(m.data, data)
}

func (m *maker) bytes() []byte {
	b := []byte("QEVM\x00\x00\x00\x03\x01memory, which nobody looks at")
	for i, d := range m.devices {
		name := d["name"].(string)
		number := []byte{0, 0, 0, byte(i)}
		b = append(append(b, markFull), number...)
		b = append(append(b, byte(len(name))), name...)
		b = binary.BigEndian.AppendUint32(b, uint32(d["instance_id"].(int)))
		b = binary.BigEndian.AppendUint32(b, 1)
		b = append(b, m.data[i]...)
		b = append(append(b, markFooter), number...)
	}
	text, err := json.Marshal(map[string]any{"page_size": 4096, "devices": m.devices})
	if err != nil {
		panic(err)
	}
	return withDescription(append(b, markEOF), text)
}

func withDescription(b, text []byte) []byte {
	b = binary.BigEndian.AppendUint32(append(b, markDesc), uint32(len(text)))
	return append(b, text...)
}

func value(name, kind string, size int) map[string]any {
	return map[string]any{"name": name, "type": kind, "size": size}
}

// small is a machine of two CPUs with a few fields: before the one that is
// wanted in the section of CPU 1 stand an array and a value.
func small() *maker {
	var m maker
	m.add("timer", 0, []byte("\x00\x00\x00\x00\x00\x00\x10\x00--"), value("cpu_ticks_offset", "int64", 8), value("unused", "unused_buffer", 2))
	m.add("cpu", 0, []byte("\x00\x00\x00\x00\x00\x00\x00\x00"), value("env.tsc_offset", "uint64", 8))
	array := value("env.regs", "uint64", 3)
	array["array_len"] = 2
	m.add("cpu", 1, []byte("aaabbbcc\x00\x00\x00\x00\x00\x00\x00\x02\x05\x01s\x00\x00\x00\x01dd"),
		array, value("env.eip", "uint16", 2), value("env.tsc_offset", "uint64", 8))
	m.devices[2]["subsections"] = []map[string]any{{"vmsd_name": "s", "version": 1, "fields": []map[string]any{value("d", "uint16", 2)}}}
	m.add("memory of nothing", 0, nil)
	return &m
}

func mustRead(t *testing.T, b []byte) *Snapshot {
	t.Helper()
	s, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t *testing.T, s *Snapshot, steps ...Step) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.Write(&out, steps...); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
