package perf

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// maxCacheBytes bounds the symbols that a cache keeps. A larger table of one file is used and not kept.
const maxCacheBytes = 256 << 20

// Cache keeps the symbols of files from one profile to the next. A file that was
// replaced or written to since is read anew. For use by any number of goroutines.
type Cache struct {
	mu      sync.Mutex
	entries map[fileID]*cached
	bytes   int64
	clock   uint64
	limit   int64
	reads   int // for tests
}

// fileID is what a file is known by.
type fileID struct {
	path          string
	device, inode uint64
	modified      int64 // ns since 1970
	size          int64
}

type cached struct {
	program *program
	err     error
	used    uint64
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{entries: map[fileID]*cached{}, limit: maxCacheBytes} }

// program reads the symbols of an open file, known in the profile by path.
func (c *Cache) program(path string, f *os.File) (*program, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the symbols of %s: %w", path, err)
	}
	id := identify(path, info)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	if e := c.entries[id]; e != nil {
		e.used = c.clock
		return e.program, e.err
	}
	c.reads++
	p, err := readProgram(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	e := &cached{p, err, c.clock}
	c.entries[id] = e
	c.bytes += e.size()
	for c.bytes > c.limit && len(c.entries) > 0 {
		c.drop()
	}
	return p, err
}

func (e *cached) size() int64 {
	if e.program == nil {
		return symbolBytes
	}
	return e.program.size + symbolBytes
}

// drop forgets the entry that was used longest ago.
func (c *Cache) drop() {
	var oldest fileID
	var found *cached
	for id, e := range c.entries {
		if found == nil || e.used < found.used {
			oldest, found = id, e
		}
	}
	c.bytes -= found.size()
	delete(c.entries, oldest)
}

func identify(path string, info fs.FileInfo) fileID {
	id := fileID{path: path, modified: info.ModTime().UnixNano(), size: info.Size()}
	id.device, id.inode = deviceAndInode(info)
	return id
}
