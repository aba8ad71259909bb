package cli

import (
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cswatch/cswatch/machine"
)

func TestVersionTellsWhatTheBuildRecordedAndNoMore(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	cases := []struct {
		name     string
		info     *debug.BuildInfo
		want     versionDocument
		revision string
	}{
		{
			"a program without build information is a development build",
			nil,
			versionDocument{versionSchema, "(devel)", "", "", machine.Unknown, runtime.Version(), platform},
			"unknown, because the build recorded no commit",
		},
		{
			"a module installed by version has no commit, and dirty stays unknown",
			&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			versionDocument{versionSchema, "v1.2.3", "", "", machine.Unknown, runtime.Version(), platform},
			"unknown, because the build recorded no commit",
		},
		{
			"a clean checkout",
			&debug.BuildInfo{Settings: []debug.BuildSetting{
				setting("vcs.revision", "0123abc"), setting("vcs.time", "2026-11-30T10:00:00Z"), setting("vcs.modified", "false")}},
			versionDocument{versionSchema, "(devel)", "0123abc", "2026-11-30T10:00:00Z", machine.No, runtime.Version(), platform},
			"0123abc of 2026-11-30T10:00:00Z",
		},
		{
			"a checkout with changes",
			&debug.BuildInfo{Settings: []debug.BuildSetting{setting("vcs.revision", "0123abc"), setting("vcs.modified", "true")}},
			versionDocument{versionSchema, "(devel)", "0123abc", "", machine.Yes, runtime.Version(), platform},
			"0123abc, with local changes",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env := newEnv(nil, io.Discard, io.Discard)
			env.BuildInfo = func() (*debug.BuildInfo, bool) { return c.info, c.info != nil }
			got := versionOf(env)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("version document (-want +got):\n%s", diff)
			}
			if r := got.describeRevision(); r != c.revision {
				t.Errorf("revision %q, want %q", r, c.revision)
			}
		})
	}
}
