package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cswatch/cswatch/machine"
)

// versionSchema names the JSON document of the version command.
const versionSchema = "cswatch.version/v1"

// versionDocument says which program this is. Everything comes from what the
// Go toolchain recorded at build time, so no build script can get it wrong.
type versionDocument struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`            // a release such as v1.2.3, a pseudo-version, or "(devel)"
	Revision string `json:"revision,omitempty"` // the commit, if the build recorded it
	Time     string `json:"revision_time,omitempty"`
	// Dirty says whether the source differed from the commit; unknown where the build recorded no commit.
	Dirty    machine.Answer `json:"dirty"`
	Go       string         `json:"go_version"`
	Platform string         `json:"platform"` // GOOS/GOARCH
}

func versionOf(env *Env) versionDocument {
	d := versionDocument{
		Schema:   versionSchema,
		Version:  "(devel)",
		Dirty:    machine.Unknown,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := env.BuildInfo()
	if !ok {
		return d
	}
	if info.Main.Version != "" {
		d.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			d.Revision = s.Value
		case "vcs.time":
			d.Time = s.Value
		case "vcs.modified":
			d.Dirty = machine.No
			if s.Value == "true" {
				d.Dirty = machine.Yes
			}
		}
	}
	return d
}

func newVersionCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Say which cswatch this is",
		Long:    "Prints the version, the commit that it was built from, and what built it for which platform.",
		GroupID: groupAbout,
	}
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		d := versionOf(env)
		if format.String() == "json" {
			return env.writeJSON(d)
		}
		fmt.Fprintf(env.Stdout, "cswatch %s\n", d.Version)
		fmt.Fprintf(env.Stdout, "revision  %s\n", d.describeRevision())
		fmt.Fprintf(env.Stdout, "built by  %s\n", d.Go)
		fmt.Fprintf(env.Stdout, "platform  %s\n", d.Platform)
		return nil
	}
	return cmd
}

func (d versionDocument) describeRevision() string {
	if d.Revision == "" {
		return "unknown, because the build recorded no commit"
	}
	text := d.Revision
	if d.Time != "" {
		text += " of " + d.Time
	}
	if d.Dirty == machine.Yes {
		text += ", with local changes"
	}
	return text
}
