package sim

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed models/*.txt
var models embed.FS

// BuiltinNames returns the names of the machines that come with the package.
func BuiltinNames() []string {
	entries, err := models.ReadDir("models")
	if err != nil {
		return nil // they are compiled in
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	return names
}

// BuiltinText returns the text of a machine that comes with the package.
func BuiltinText(name string) ([]byte, error) {
	text, err := models.ReadFile(path.Join("models", name+".txt"))
	if err != nil {
		return nil, fmt.Errorf("no machine %q comes with cswatch: there are %s", name, strings.Join(BuiltinNames(), ", "))
	}
	return text, nil
}

// Builtin returns a machine that comes with the package.
func Builtin(name string) (Model, error) {
	text, err := BuiltinText(name)
	if err != nil {
		return Model{}, err
	}
	m, err := Parse(bytes.NewReader(text))
	if err != nil {
		return Model{}, fmt.Errorf("machine %s: %w", name, err)
	}
	return m, nil
}
