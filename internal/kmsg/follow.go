package kmsg

import (
	"bytes"
	"errors"
	"io"
)

// Follower reads what the kernel logs from now on. It is for one goroutine.
type Follower struct {
	device *device
	out    []byte
}

// maxNews bounds what one call of News returns; what is beyond is for the next.
const maxNews = 1 << 20

// Follow opens the kernel's log device at its end. It is refused, a
// *PermissionError, where reading it is; the journal is no substitute.
func (c Config) Follow() (*Follower, error) {
	c = c.withDefaults()
	d, err := openDevice(c.Device, c.system)
	if err != nil {
		return nil, err
	}
	f := &Follower{device: d}
	if err := d.prime(); err != nil { // a device without records would never tell anything
		return nil, errors.Join(err, f.Close())
	}
	for { // what was logged before; a descriptor of its own starts at the oldest record
		news, err := f.News()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if len(news) == 0 {
			return f, nil
		}
	}
}

// News returns the records that were logged since the last call, as the device
// delivers them, without waiting: none where there are none. It is valid until the next call.
func (f *Follower) News() ([]byte, error) {
	f.out = f.out[:0]
	for len(f.out) < maxNews {
		f.device.err = nil
		f.device.fill()
		if err := f.device.err; err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		f.out = append(f.out, f.device.rest...)
		f.device.rest = nil
		if !bytes.HasSuffix(f.out, []byte{'\n'}) {
			f.out = append(f.out, '\n')
		}
	}
	return f.out, nil
}

// Close gives the device back.
func (f *Follower) Close() error { return f.device.Close() }
