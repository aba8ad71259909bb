package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/cswatch/cswatch/event"
	"github.com/cswatch/cswatch/internal/exporter"
	"github.com/cswatch/cswatch/internal/hw"
	"github.com/cswatch/cswatch/internal/monitor"
	"github.com/cswatch/cswatch/internal/tally"
	"github.com/cswatch/cswatch/machine"
)

// plan says which watchdog runs over the live counters of a machine.
func (f *monitorFlags) plan(env *Env, s *machine.Snapshot) (monitor.WatchPlan, error) {
	watch := watchFlags{era: f.era, reference: f.reference, retries: f.retries}
	if f.retries < 0 {
		watch.retries = retriesOf(s)
	}
	accept := riskHere(s).answer == machine.No
	if !accept {
		// A kernel that is set to more is not copied where that can cost it its TSC.
		watch.retries = min(watch.retries, hw.DefaultReadBacks-1)
	}
	era, err := watch.chooseEra(s)
	if err != nil {
		return monitor.WatchPlan{}, err
	}
	o := watch.options(env, s, era)
	o.AcceptLosingTSC = accept
	return monitor.WatchPlan{Options: o, Release: era.release, EraWhy: cmp.Or(era.doubt, era.why), Kernel: s.Kernel.Release}, nil
}

// listen opens the sockets of a monitor.
func (f *monitorFlags) listen(env *Env, m *monitor.Monitor, h hooks, log *slog.Logger) (*exporter.Server, error) {
	v, here := versionOf(env), snapshotHere()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		exporter.NewCollector(exporter.Subject{
			View: m.View, Booted: m.Booted, Hooks: h.counts,
			Build: exporter.Build{Version: v.Version, Revision: v.Revision},
		}))
	about := func() exporter.About {
		a := exporter.About{Version: v.Version, Host: here.Host, Kernel: here.Kernel.Release, Flags: f.shown(), Started: m.Started(), Booted: m.Booted()}
		a.Flags.Hooks = h.names()
		return a
	}
	c := f.web
	c.Gatherer, c.Ready, c.Healthy, c.Log = registry, m.Ready, m.Healthy, log
	c.Status = func() ([]byte, error) { return exporter.Status(m.View(), about(), time.Now()) }
	c.Page = exporter.Page(m.View, about, time.Now)
	s, err := exporter.Listen(c)
	if err != nil {
		return nil, err
	}
	registry.MustRegister(s)
	return s, nil
}

// shown are the flags as the status document has them.
func (f *monitorFlags) shown() exporter.Flags {
	s := exporter.Flags{
		Listen: f.web.Addresses, TelemetryPath: f.web.TelemetryPath, Era: f.era, Reference: f.reference,
		WatchEvery: f.watch, CostEvery: f.cost, DoctorEvery: f.doctor, State: f.state,
	}
	if f.retries >= 0 {
		s.Retries = event.Some(f.retries)
	}
	return s
}

// serve runs the monitor and its server until the context ends or the server fails.
func (f *monitorFlags) serve(ctx context.Context, m *monitor.Monitor, server *exporter.Server, h hooks) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		var told sync.WaitGroup
		told.Go(func() { h.run(ctx) })
		m.Run(ctx)
		told.Wait()
	}()
	go f.systemd.keepTold(ctx, m)
	err := server.Serve(ctx)
	cancel()
	f.systemd.tell(daemon.SdNotifyStopping)
	<-ran
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// service is the service manager that the program may run under.
type service struct {
	tell func(state string)
	// every is how often it wants to hear that the program is alive, 0 for never.
	every time.Duration
}

// systemdHere tells the systemd that started this program; where none did, nobody.
func systemdHere() service {
	s := service{tell: func(state string) {
		_, _ = daemon.SdNotify(false, state) // who does not listen loses
	}}
	s.every, _ = daemon.SdWatchdogEnabled(false)
	return s
}

// statusEvery is how often systemd is told the verdict in words.
const statusEvery = time.Minute

// keepTold tells systemd when the monitor is ready, that it is alive, and its verdict in words.
func (s service) keepTold(ctx context.Context, m *monitor.Monitor) {
	soon := time.NewTicker(50 * time.Millisecond)
	defer soon.Stop()
	for m.Ready() != nil {
		select {
		case <-ctx.Done():
			return
		case <-soon.C:
		}
	}
	soon.Stop()
	s.tell(daemon.SdNotifyReady)
	every := statusEvery
	if s.every > 0 {
		every = min(every, s.every/2)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	said := ""
	for {
		if s.every > 0 && m.Healthy() == nil {
			s.tell(daemon.SdNotifyWatchdog)
		}
		if words := inWords(m.View()); words != said {
			s.tell("STATUS=" + words)
			said = words
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// inWords is the verdict in a line.
func inWords(v tally.View) string {
	if v.Diagnosis == nil {
		return "no diagnosis yet"
	}
	return string(v.Diagnosis.Status) + ": " + v.Diagnosis.Summary
}
