package host

import (
	"regexp"
	"strings"
)

// rule takes out what an expression finds, but for the first groups of it.
type rule struct {
	re   *regexp.Regexp
	mark string
	keep int // the number of the last group that stays
	// need holds what a line must have one of, in lower case, for the expression
	// to find anything: expressions are slow, and most lines have none.
	need []string
}

func taking(mark string, keep int, need, re string) rule {
	return rule{regexp.MustCompile(re), mark, keep, strings.Split(need, "|")}
}

// concerns says whether a rule can find anything in a line, given in lower case.
func (r rule) concerns(lower string) bool {
	for _, n := range r.need {
		if strings.Contains(lower, n) {
			return true
		}
	}
	return false
}

// serialNames are the words before a serial number.
const serialNames = `serial ?(?:numbers?|num|no\.?|nr\.?|#)?|serialnumber|s/n|sn|service ?tag|asset ?(?:tag|number)|express service code|sequence code|` +
	`lpar(?: extended)? name|vm[0-9]+ (?:extended )?name|plant`

// serialRules take out what stands behind such a word and a colon, up to the next
// comma, and otherwise one word.
var serialRules = []rule{
	taking("<serial>", 2, "serial|s/n|sn|tag|asset|express|sequence|name|plant", `(?i)\b(`+serialNames+`)(\s*[:=]\s*)("[^"]*"|'[^']*'|[^,;\n]*[^,;\s])`),
	taking("<serial>", 1, "identification", `\b(identification = )[0-9A-F]+`),
}

// everywhere holds rules that find nothing in what a kernel says of its clocks.
var everywhere = append([]rule{
	taking("<uuid>", 0, "-", `(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
	taking("<mac>", 0, ":|-", macPairs),
	// Container ids and the like: 32 digits and more is no counter and no mask.
	taking("<hex>", 0, "", `(?i)\b[0-9a-f]{32,}\b`),
	taking("<serial>", 1, "wwn-|naa.|eui.|nvme.", `(?i)\b(wwn-0x|naa\.|eui\.|nvme\.)[0-9a-f]{8,}`),
	taking("<user>", 1, "/home|/users|/accountsservice|/media|/mail|/cron", `(/home/|/Users/|/export/home/|/var/lib/AccountsService/users/|/run/media/|/media/|/var/mail/|/var/spool/mail/|/var/spool/cron/(?:crontabs/)?)[^/\s"',:;)]+`),
	taking("<host>", 1, "hostname", `(?i)((?:set )?hostname (?:to|set to) <?)[^\s>]+`),
}, serialRules...)

const macPairs = `(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5,19}\b`

// clockLine recognises the lines whose numbers are evidence. The rules of
// elsewhere are too coarse for them.
var clockLine = regexp.MustCompile(`^(?:<[0-9]+>)?(?:[0-9]+,[0-9]+,[0-9]+,[^;]*;)?(?:\[[^\]]*\]\s*)*(?:[A-Za-z]+ [ 0-9]+ [0-9:]+ \S+ kernel: )?(?:\[[^\]]*\]\s*)*` +
	`(?:(?:smpboot|x86|x86/tsc|CPU[0-9]+|ACPI): )?(?i:clocksource|tsc|hpet[0-9]*|sched_clock|timekeeping|kvm-clock|rtc_cmos|Measured [0-9]+ cycles|PM-Timer)\b`)

// elsewhere holds the rules for all other lines. Some take out more than they should.
var elsewhere = []rule{
	// What audit records hold are names and commands; no clock is in them.
	taking(redactedMark, 1, "audit(", `(\baudit\([0-9.:]*\): ).+`),
	taking("<mac>", 0, ":", `(?i)\b[0-9a-f]{1,2}(?::[0-9a-f]{1,2}){5}\b`),
	taking("<mac>", 0, ".", `(?i)\b[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}\b`),
	taking("<mac>", 2, "mac|hw|hardware|eth|station|node|perm|bssid|lladdr", `(?i)\b((?:mac|hw|hardware|ethernet|eth|ether|station|node|perm|permanent|bssid|lladdr)[ _-]?(?:addr(?:ess)?(?:es)?)?|hwaddr|ethaddr)(\s*(?:is\b)?\s*[:=]?\s*(?:0x)?)[0-9a-f]{12}\b`),
	taking("<serial>", 2, "s/n|serial|tag", `(?i)\b(s/n|serial ?(?:number|num|no\.?|nr\.?|#)|service ?tag|asset ?(?:tag|number))((?:\s+is)?\s+)("[^"]*"|'[^']*'|[^\s,;]+)`),
	taking("<serial>", 2, "sn", `\b(SN)(\s+)[A-Za-z]*[0-9][A-Za-z0-9._-]{3,}`),
	taking("<serial>", 2, "ww|sas|name", `(?i)\b(wwp?n|wwnn|sas[ _-]?addr(?:ess)?|(?:node|port)[ _-]name)(\W{0,3}(?:0x)?)[0-9a-f]{16}\b`),
	taking("<serial>", 1, "/by-", `(/by-(?:id|uuid|label|partuuid|partlabel|path|diskseq)/)[^\s"',;)]*[^\s"',;):.]`),
	taking(redactedMark, 1, "iqn.|nqn.", `(?i)\b((?:iqn|nqn)\.)[^\s"',;)]+`),
	taking("<ip>", 0, "ip-", `\bip-[0-9]{1,3}(?:-[0-9]{1,3}){3}\b`),
	taking("<user>", 1, "user|session", `(?i)(\bof user |\bfor user |\bnew user: name=|\bsession opened for )[^\s"',;)]+`),
	taking(redactedMark, 1, "ssid", `\b((?:SSID|ssid|essid|ESSID)[ =:]+)("[^"]*"|'[^']*'|[^\s,;]+)`),
	taking(redactedMark, 0, "@", `\b[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`),
	taking(redactedMark, 2, "=", `\b(comm|exe|cwd|proctitle|host|domain|nis-domain|bootserver|rootserver|rootpath|ipaddr|gw|nameserver[0-9]*)(=)("[^"]*"|[^\s,;]+)`),
}

var (
	// Candidates for addresses; code decides.
	ipv4Text = regexp.MustCompile(`[0-9]{1,3}(?:\.[0-9]{1,3}){3}`)
	ipv6Text = regexp.MustCompile(`(?i)[0-9a-f:]*:[0-9a-f:.]*:[0-9a-f:.]*`)

	// What audit and login records say of users; (E, S, FS, A, O)UID="name" and the like, too.
	quoteUser = regexp.MustCompile(`\b(acct|user|ruser|rhost|USER|USERNAME|LOGNAME|hostname|addr|laddr|raddr|[A-Z]{0,3}[UG]ID)=("[^"]*"|[^\s,;]+)`)
	builder   = regexp.MustCompile(`(Linux version \S+ \()([^()@\s]+@[^()\s]+)(\))`)
	cmdlineIn = regexp.MustCompile(`^(.*?(?:[Cc]ommand line|Unknown kernel command line parameters?):? ?"?)(.*)$`)
	sysHost   = regexp.MustCompile(`^((?:<[0-9]+>)?(?:[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]+(?:Z|[+-][0-9:]{4,6})) )(\S+)( \S+: )`)
)
