package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/internal/report"
	"github.com/cswatch/cswatch/internal/unpack"
	"github.com/cswatch/cswatch/sim"
)

// maxMachineBytes bounds the text of a machine; one has some dozen lines.
const maxMachineBytes = 1 << 20

// openMachine returns a machine that comes with cswatch, or reads a file.
func openMachine(name string) (sim.Model, error) {
	if slices.Contains(sim.BuiltinNames(), name) {
		return sim.Builtin(name)
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "/.") {
		return sim.Model{}, usagef("--machine %q: no machine of that name comes with cswatch, and there is no such file; want %s", name, report.Either(sim.BuiltinNames()))
	}
	if err != nil {
		return sim.Model{}, fmt.Errorf("open the machine: %w", err)
	}
	defer f.Close()
	text := &io.LimitedReader{R: f, N: maxMachineBytes + 1}
	m, err := sim.Parse(text)
	if text.N == 0 {
		err = fmt.Errorf("it is larger than %d bytes: is it a machine?", maxMachineBytes)
	}
	if err != nil {
		return sim.Model{}, fmt.Errorf("%s: %w", unpack.Shown(name), err)
	}
	return m, nil
}

// machineTexts lists or prints machines where that was asked for.
func (f *simulateFlags) machineTexts(env *Env) (done bool, err error) {
	names := f.inputs.Machines
	list := slices.Equal(names, []string{"list"})
	switch {
	case list && f.print:
		return true, usagef("--print wants the names of machines, not list")
	case f.print:
		return true, printMachines(env, names)
	case !list:
		return false, nil
	}
	var all []report.SimulatedModel
	for _, name := range sim.BuiltinNames() {
		m, err := sim.Builtin(name)
		if err != nil {
			return true, err
		}
		all = append(all, report.SimulatedModelOf(&m))
	}
	switch f.format.String() {
	case "json":
		return true, report.SimulationJSON(env.Stdout, &report.Simulation{Inputs: f.inputs, Machines: all})
	case "csv":
		return true, usagef("--machine list prints text or json, not csv")
	}
	return true, report.MachinesText(env.Stdout, all, textOptions(env))
}

func printMachines(env *Env, names []string) error {
	for i, name := range names {
		text, err := sim.BuiltinText(name)
		if err != nil {
			return usagef("--print: %w", err)
		}
		if i > 0 {
			fmt.Fprintln(env.Stdout)
		}
		env.Stdout.Write(text)
	}
	return nil
}

// completeMachines offers what --machine takes to a shell.
func completeMachines(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	words := []cobra.Completion{cobra.CompletionWithDesc("list", "say which machines come with cswatch")}
	for _, name := range sim.BuiltinNames() {
		if m, err := sim.Builtin(name); err == nil {
			words = append(words, cobra.CompletionWithDesc(name, m.About))
		}
	}
	return words, cobra.ShellCompDirectiveDefault
}
