package alerting

import (
	"os"
	"testing"
)

const (
	root   = "../.."
	folder = root + "/monitoring"
)

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
