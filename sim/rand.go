package sim

// A stream is the random numbers of one process in one boot. They are a function
// of their index and of nothing else: what is asked first does not matter, and
// neither does what is never asked.
type stream uint64

// golden is 2^64 divided by the golden ratio, made odd: the step of Steele,
// Lea and Flood's SplitMix64 (OOPSLA 2014), whose finalizer mix is, with the
// constants of Stafford's variant 13.
const golden = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// newStream returns the stream of a process.
func newStream(seed, boot uint64, process int) stream {
	x := mix(seed + golden)
	x = mix(x ^ boot*golden + golden)
	return stream(mix(x ^ uint64(process+1)*golden))
}

// at returns 64 random bits.
func (s stream) at(index uint64) uint64 { return mix(uint64(s) + (index+1)*golden) }

// unit returns a number between 0 and 1, both excluded.
func (s stream) unit(index uint64) float64 {
	return (float64(s.at(index)>>11) + 0.5) * 0x1p-53
}
