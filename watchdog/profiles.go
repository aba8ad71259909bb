package watchdog

import "github.com/cswatch/cswatch/clocksource"

const (
	us = clocksource.Microsecond
	ms = clocksource.Millisecond
)

// Profiles returns the profile of every era of [Eras].
func Profiles() []Profile {
	eras := Eras()
	all := make([]Profile, 0, len(eras))
	for _, e := range eras {
		if p, ok := ProfileOf(e); ok {
			all = append(all, p)
		}
	}
	return all
}

// ProfileOf returns the profile of an era as a typical release of it behaves, and false for an unknown era.
func ProfileOf(e Era) (Profile, bool) { return ProfileAt(e, release(typical(e))) }

// ProfileAt returns the profile of an era as the given release has it. Some
// details changed within eras: delta rule, multiplication, message conditions.
func ProfileAt(e Era, r Release) (Profile, bool) {
	p, ok := base(e)
	if !ok {
		return Profile{}, false
	}
	p.DeltaX86, p.DeltaOther = deltaRules(r)
	if overflowSafe(r) {
		p.Arithmetic = clocksource.OverflowSafe
	}
	strict := !r.Before("6.11") || r.In("6.10.5") || r.In("6.1.105") || r.In("5.15.224")
	p.Text.RetriedStrict = strict && p.OnSlow == ActCondemn
	p.Text.Prefix = !r.Before("4.2")
	p.Text.UnsignedMS = p.Text.SkewedLine && r.Before("6.8")
	if p.Verify.CPUs == "chosen" {
		// The same change brought the even draw.
		p.Verify.AllIfFew = !r.Before("6.16") || r.In("6.12.35") || r.In("6.1.142") || r.In("5.15.224")
		p.Verify.Uniform = p.Verify.AllIfFew
		p.Verify.Info = !r.Before("6.14") || r.In("6.12.16") || r.In("6.1.129") || r.In("5.15.224")
		p.Verify.Durations = !r.Before("7.0")
	}
	p.ExpiryFromNow = e == E12 && !r.Before("7.3.4")
	// The build option came with 5.18; 5.15 has the number fixed.
	p.Configurable = p.MaxSkew > 0 && e != E12 && !r.Before("5.18")
	return p, true
}

// deltaRules returns the rules of x86 and of the other architectures.
func deltaRules(r Release) (x86, other clocksource.DeltaRule) {
	switch {
	case !r.Before("6.13") || r.In("6.12.5"):
		return clocksource.DeltaMaxRaw, clocksource.DeltaMaxRaw
	case !r.Before("4.5"):
		return clocksource.DeltaTopBit, clocksource.DeltaPlain
	case !r.Before("3.17"):
		return clocksource.DeltaSigned, clocksource.DeltaPlain
	}
	return clocksource.DeltaPlain, clocksource.DeltaPlain
}

func overflowSafe(r Release) bool {
	return !r.Before("6.10") || r.In("6.1.107") || r.In("5.15.224")
}

// typical names the release whose details [ProfileOf] shows: one that was read where there is one.
func typical(e Era) string {
	switch e {
	case E0:
		return "2.6.24"
	case E1:
		return "2.6.35"
	case E2:
		return "3.6"
	case E3:
		return "4.4"
	case E4:
		return "5.4"
	case E5, TipForgive:
		return "5.15"
	case PropDynamicSkew, PropRatio:
		return "5.17"
	case PropRetriesLog2:
		return "6.8"
	case PropMaxDelay:
		return "6.14"
	case E6:
		return "6.1"
	case E7:
		return "6.5"
	case E8:
		return "6.8"
	case E9:
		return "6.11"
	case E10:
		return "6.14"
	case E11:
		return "7.0"
	case E12:
		return "7.2.13"
	}
	if e == LTS515Pause || e == LTS515Long {
		return "5.15.164" // details did not change in the whole span
	}
	if len(e) > 4 {
		return string(e[4:]) // the variants carry their release in the name
	}
	return "0.0"
}

// base returns the numbers and rules of an era; each line below one that it
// copies states only the difference.
func base(e Era) (Profile, bool) {
	var p Profile
	switch e {
	case E0:
		p = likeE(E4)
		p.Read, p.Rotate, p.HRESAtInit, p.RatingAtOnce, p.TickStable = ReadSharedReference, false, true, true, false
		p.Skew.Inclusive, p.ResetOnce = true, true
		p.Text.Skew = "delta"
		p.Releases = "2.6.18 to 2.6.30"
	case E1:
		p = likeE(E4)
		p.Read, p.Text.Skew, p.TickStable = ReadSharedReference, "delta", false
		p.ResetOnce = true // a counter is described from 3.0 on
		p.Releases = "2.6.31 to 2.6.39"
	case E2:
		p = likeE(E4)
		p.Text.Skew, p.TickStable = "delta", false
		p.Releases = "3.0 to 4.0"
	case E3:
		p = likeE(E4)
		p.Text.Skew, p.TickStable = "header", false
		p.Releases = "4.1 to about 4.12"
	case E4:
		p = Profile{
			Releases: "about 4.13 to 5.13",
			Read:     ReadClockFirst,
			Skew:     SkewRule{Limit: Limit{Fixed: 62_500 * us}},
			Rotate:   true, TickStable: true,
			Verify: VerifyRule{CPUs: "none"},
			Text:   TextRule{Skew: "header-cpu"},
		}
	case E5:
		p = Profile{
			Releases:         "5.14 to 5.16",
			Read:             ReadThree,
			Retries:          3,
			RetriesParameter: true, VerifyParameter: true,
			ReadLimit: Limit{Fixed: 50 * us},
			OnSlow:    ActCondemn,
			Skew:      SkewRule{Limit: Limit{Reference: 1, Clock: 1}},
			MaxSkew:   50 * us,
			Rotate:    true, TickStable: true,
			Verify: VerifyRule{CPUs: "chosen", Default: 8, ListsPeers: true},
			Text:   TextRule{Skew: "header-cpu", Nanoseconds: true, Delay: "attempt"},
		}
	case E6:
		p = likeE(E5)
		p.Read, p.Retries, p.MaxSkew = ReadFour, 2, 100*us
		p.ReadLimit, p.SkipLimit, p.OnSkip = Limit{Fixed: 100 * us}, Limit{Fixed: 50 * us}, ActKeepReference
		p.Releases = "5.17 to 6.2"
	case E7:
		p = likeE(E6)
		p.MaxSkew, p.ReadLimit, p.SkipLimit = 125*us, Limit{Fixed: 125 * us}, Limit{Fixed: 62_500}
		p.OnSkip = ActSuspend
		p.Text.SkewedLine, p.Text.Delay = true, "excessive"
		p.Releases = "6.3 to 6.7"
	case E8:
		p = likeE(E7)
		p.LongInterval = clocksource.NanosPerSecond
		p.Releases = "6.8, 6.6.15 to about 6.6.45"
	case E9:
		p = likeE(E8)
		auto(&p)
		p.Releases = "6.9 to 6.11, about 6.6.46 and later"
	case E10:
		p = likeE(E9)
		p.ReadLimit, p.SkipLimit = Limit{Reference: 2, Clock: 1}, Limit{Reference: 2}
		p.Text.PrintsConstant = true
		p.Releases = "6.12.0 to 6.12.67, 6.13 to 6.17, early 6.18 releases"
	case E11:
		p = likeE(E10)
		p.ReadLimit, p.SkipLimit = Limit{Reference: 1, Clock: 1}, Limit{Reference: 1}
		p.Releases = "7.0, 6.12.68 and later, perhaps 6.19"
	case E12:
		p = Profile{
			Releases:      "7.1 and later",
			Read:          ReadThree,
			Retries:       2,
			ReadLimit:     Limit{Fixed: 50 * us},
			OnSlow:        ActForgetReference,
			Skew:          SkewRule{CalibratedShift: 11, Shift: 8},
			LongByMaxIdle: true,
			TickStable:    true,
			Verify:        VerifyRule{CPUs: "none"},
			Remote:        RemoteRule{Reads: 5, Timeout: 50 * us, PerDistance: 5 * us, MaxTimeout: 500 * us},
			Text:          TextRule{Skew: "frequency"},
		}
	case TipForgive, PropDynamicSkew, PropRatio, PropRetriesLog2, PropMaxDelay:
		return design(e)
	default:
		return lts(e)
	}
	p.Era = e
	return p, true
}

func lts(e Era) (Profile, bool) {
	var p Profile
	switch e {
	case LTS51050:
		// The limit of the reading is 100 us and the skew limit is still the old
		// one; both are inferred from descriptions of the changes.
		p = likeE(E5)
		p.MaxSkew, p.ReadLimit = 100*us, Limit{Fixed: 100 * us}
		p.Skew.Limit = Limit{Fixed: 62_500 * us}
		all(&p)
		p.Releases = "5.10.50 to 5.10.93"
	case LTS51094:
		p = likeE(E6)
		p.Retries = 3
		all(&p)
		p.Releases = "5.10.94 to 5.10.172"
	case LTS510173:
		p = likeE(LTS51094)
		p.OnSkip = ActSuspend
		p.Releases = "5.10.173 to 5.10.209"
	case LTS510223:
		p = likeE(LTS510173)
		p.LongInterval = clocksource.NanosPerSecond
		p.Releases = "5.10.210 and later"
	case LTS51517:
		p = likeE(E6)
		p.Retries = 3
		p.Releases = "5.15.17 to a release that is not known"
	case LTS515Pause:
		p = likeE(LTS51517)
		p.OnSkip = ActSuspend
		p.Releases = "perhaps 5.15.17 to about 5.15.164"
	case LTS515Long:
		p = likeE(LTS515Pause)
		p.LongInterval = clocksource.NanosPerSecond
		p.Releases = "perhaps 5.15.17 to 5.15.223"
	case LTS6116:
		p = likeE(E6)
		p.OnSkip = ActSuspend
		p.Releases = "6.1.16 to 6.1.77, 6.2.16"
	case LTS6178:
		p = likeE(LTS6116)
		p.LongInterval = clocksource.NanosPerSecond
		p.Releases = "6.1.78 to 6.1.104"
	case LTS61192:
		p = likeE(LTS6178)
		auto(&p)
		p.Releases = "6.1.105 and later"
	case LTS515224:
		p = likeE(LTS61192)
		p.Releases = "about 5.15.165 and later"
	default:
		return Profile{}, false
	}
	p.Era = e
	return p, true
}

// likeE copies the profile of another era.
func likeE(e Era) Profile {
	p, _ := base(e)
	return p
}

// auto replaces the parameter by the number of CPUs (6.9, 6.1.105).
func auto(p *Profile) { p.AutoRetries, p.RetriesParameter, p.Retries = true, false, 1 }

// all is the cross-CPU check of 5.10: every online CPU, no parameter, no list
// in the line, and no nanoseconds in the lines of a verdict.
func all(p *Profile) {
	p.Verify, p.VerifyParameter, p.Text.Nanoseconds = VerifyRule{CPUs: "all"}, false, false
}
