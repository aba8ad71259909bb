package host

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/cswatch/cswatch/machine"
)

// cpuinfo is what /proc/cpuinfo says, whatever the architecture. It has no
// common format: x86, arm64, s390x, ppc and riscv each write their own.
type cpuinfo struct {
	arch        string // told by the shape; "" if none fits
	processors  int
	vendor      string
	model       string
	family      int
	modelNumber int
	flags       []string // those of machine.ClockFlags, in its order
	hasFlags    bool
	packages    map[string]bool // values of "physical id"
	bogomips    float64
	platform    string // ppc: pSeries, PowerNV
	machine     string // ppc: "CHRP IBM,9009-42A"
}

var s390Processor = regexp.MustCompile(`^processor [0-9]+$`)

func parseCPUInfo(text string) cpuinfo {
	ci := cpuinfo{packages: make(map[string]bool)}
	var implementer, part string
	eachField(text, ":", func(key, value string) bool {
		switch key {
		case "processor":
			ci.processors++
		case "vendor_id":
			setOnce(&ci.vendor, value)
			if value == "IBM/S390" {
				ci.arch = "s390x"
			}
		case "model name", "cpu", "uarch":
			setOnce(&ci.model, value)
		case "Model": // Raspberry Pi
			ci.model = value
		case "Model Name": // LoongArch
			setOnce(&ci.model, value)
			setOnce(&ci.arch, "loongarch64")
		case "cpu family":
			setNumber(&ci.family, value)
		case "model":
			setNumber(&ci.modelNumber, value) // on ppc a name, which is no number
		case "flags":
			if !ci.hasFlags {
				ci.flags, ci.hasFlags = clockFlags(value), true
				ci.arch = x86Arch(value)
			}
		case "physical id":
			if len(ci.packages) < maxListed {
				ci.packages[value] = true
			}
		case "bogomips":
			if f, err := strconv.ParseFloat(value, 64); err == nil && ci.bogomips == 0 && f > 0 && f < 1e6 {
				ci.bogomips = f
			}
		case "CPU implementer":
			setOnce(&implementer, value)
		case "CPU part":
			setOnce(&part, value)
		case "CPU architecture":
			if value == "8" || value == "AArch64" {
				setOnce(&ci.arch, "aarch64")
			} else {
				setOnce(&ci.arch, "arm")
			}
		case "isa":
			switch {
			case strings.HasPrefix(value, "rv64"):
				setOnce(&ci.arch, "riscv64")
			case strings.HasPrefix(value, "rv32"):
				setOnce(&ci.arch, "riscv32")
			}
		case "timebase":
			setOnce(&ci.arch, "ppc64")
		case "platform":
			ci.platform = value
		case "machine":
			ci.machine = value
		case "# processors": // s390x
			setNumber(&ci.processors, value)
		default:
			if s390Processor.MatchString(key) && ci.model == "" {
				if _, m, ok := strings.Cut(value, "machine = "); ok {
					ci.model = "machine " + strings.TrimSpace(m)
				}
			}
		}
		return true
	})
	if implementer != "" {
		setOnce(&ci.vendor, armVendor(implementer))
		setOnce(&ci.model, armModel(implementer, part))
		setNumber(&ci.modelNumber, part)
	}
	return ci
}

func setOnce(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

// setNumber sets a number that is still 0, from decimal or 0x text.
func setNumber(n *int, value string) {
	if v, err := strconv.ParseInt(value, 0, 32); err == nil && *n == 0 && v > 0 {
		*n = int(v)
	}
}

// x86Arch tells 64 bit by the flag for long mode.
func x86Arch(flags string) string {
	for f := range strings.FieldsSeq(flags) {
		if f == "lm" {
			return "x86_64"
		}
	}
	return "i686"
}

func clockFlags(line string) []string {
	has := make(map[string]bool)
	for f := range strings.FieldsSeq(line) {
		has[f] = true
	}
	var flags []string
	for _, f := range machine.ClockFlags {
		if has[f] {
			flags = append(flags, f)
		}
	}
	return flags
}

// armVendor names the implementer codes that servers and boards have.
func armVendor(code string) string {
	switch strings.ToLower(code) {
	case "0x41":
		return "ARM"
	case "0x42":
		return "Broadcom"
	case "0x43":
		return "Cavium"
	case "0x46":
		return "Fujitsu"
	case "0x48":
		return "HiSilicon"
	case "0x4e":
		return "NVIDIA"
	case "0x50":
		return "APM"
	case "0x51":
		return "Qualcomm"
	case "0x61":
		return "Apple"
	case "0xc0":
		return "Ampere"
	}
	return "implementer " + code
}

func armModel(implementer, part string) string {
	if strings.EqualFold(implementer, "0x41") {
		switch strings.ToLower(part) {
		case "0xd03":
			return "Cortex-A53"
		case "0xd08":
			return "Cortex-A72"
		case "0xd0b":
			return "Cortex-A76"
		case "0xd0c":
			return "Neoverse-N1"
		case "0xd40":
			return "Neoverse-V1"
		case "0xd49":
			return "Neoverse-N2"
		case "0xd4f":
			return "Neoverse-V2"
		}
	}
	if part == "" {
		return ""
	}
	return "part " + part
}

// tscMHz reads the TSC's early calibration off BogoMIPS: where the TSC gives
// the delay loop its rate, loops per jiffy are TSC ticks per jiffy, and
// BogoMIPS is twice that per second in millions.
func (ci cpuinfo) tscMHz() float64 {
	if ci.bogomips == 0 {
		return 0
	}
	for _, f := range ci.flags {
		if f == "constant_tsc" {
			return math.Round(ci.bogomips/2*1000) / 1000
		}
	}
	return 0
}
