package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// member is a member of an ar archive.
type member struct {
	name string
	data []byte
}

func arArchive(members ...member) []byte {
	b := []byte(arMagic)
	for _, m := range members {
		b = fmt.Appendf(b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", m.name, 0, 0, 0, 0o100644, len(m.data))
		b = append(b, m.data...)
		if len(m.data)%2 == 1 {
			b = append(b, '\n')
		}
	}
	return b
}

// tarArchive makes an archive of files, given as name and content in turn.
func tarArchive(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1])), Typeflag: tar.TypeReg}
		if target, isLink := strings.CutPrefix(files[i+1], "->"); isLink {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, target, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(files[i+1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAKernelIsFoundInAPackage(t *testing.T) {
	head := []member{{"debian-binary", []byte("2.0\n")}, {"control.tar.xz", []byte("odd")}}
	old := tarArchive(t, "./boot/config-5.10.0-32-amd64", "x", "./boot/vmlinuz-5.10.0-32-amd64", "KERNEL", "./usr/y", "z")
	recent := tarArchive(t, "./usr/lib/modules/7.3.4+deb13-amd64/modules.order", "x", "./usr/lib/modules/7.3.4+deb13-amd64/vmlinuz", "KERNEL")
	cases := []struct {
		name, release string
		data          member
	}{
		{"in /boot, packed by gzip", "5.10.0-32-amd64", member{"data.tar.gz", gzipped(t, old)}},
		{"in /boot, packed by zstd, with the slash that GNU ar writes", "5.10.0-32-amd64", member{"data.tar.zst/", zstandard(t, old)}},
		{"in /usr/lib/modules, not packed", "7.3.4+deb13-amd64", member{"data.tar", recent}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pkg := arArchive(append(head, c.data)...)
			if !IsPackage(pkg) {
				t.Error("it is not recognised as a package")
			}
			kernel, release, err := FromPackage(bytes.NewReader(pkg))
			if string(kernel) != "KERNEL" || release != c.release || err != nil {
				t.Errorf("kernel %q, release %q, error %v", kernel, release, err)
			}
		})
	}
}

func TestAPackageWithoutAKernelIsRefused(t *testing.T) {
	files := tarArchive(t, "./usr/share/doc/x", "y", "./boot/vmlinuz-link", "->/etc/passwd", "./lib/modules/a/b/vmlinuz", "deep")
	whole := arArchive(member{"debian-binary", []byte("2.0\n")}, member{"data.tar.gz", gzipped(t, files)})
	badSize := bytes.Replace(whole, []byte("4         `\n"), []byte("-4        `\n"), 1)
	cases := []struct {
		name string
		in   []byte
		want string
	}{
		{"nothing", nil, "does not begin like one"},
		{"another archive", []byte("PK\x03\x04 and so on"), "does not begin like one"},
		{"no files", arArchive(member{"debian-binary", []byte("2.0\n")}), "no member data.tar"},
		{"files, none of them a kernel", whole, "none of its files is a kernel"},
		{"files that are cut", whole[:len(whole)-20], "read the files in data.tar.gz"},
		{"a member that is cut", whole[:len(arMagic)+61], "ends within its member debian-binary"},
		{"a header that is damaged", append(whole[:len(arMagic)+64:len(arMagic)+64], bytes.Repeat([]byte("x"), 60)...), "header of a member is damaged"},
		{"a negative size", badSize, "the size of member"},
		{"a packing that is not undone", arArchive(member{"data.tar.lzo", []byte("\x89LZO data of some length")}), "read the files"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			kernel, release, err := FromPackage(bytes.NewReader(c.in))
			if !errors.Is(err, ErrNoPackage) || !strings.Contains(err.Error(), c.want) || kernel != nil || release != "" {
				t.Errorf("kernel %q, release %q, error %v; want one that says %q", kernel, release, err, c.want)
			}
		})
	}
}
