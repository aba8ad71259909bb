package host

import (
	"errors"
	"path"
	"strings"
)

var (
	errEscape  = errors.New("a symbolic link leads out of the root")
	errLoop    = errors.New("too many symbolic links")
	errSpecial = errors.New("not a regular file")
	// errDangling is about the names of logs only: that they are listed is why the target is missed.
	errDangling = errors.New("a symbolic link to something that is not there")
)

// resolve follows the symbolic links in a slash-separated name. An absolute
// target starts again at the root that the name belongs to, as it would for a
// program that lives there; a relative one that climbs above the root is refused.
func resolve(name string, readlink func(string) (target string, isLink bool, err error)) (string, error) {
	todo := strings.Split(name, "/")
	var done []string
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", errEscape
			}
			done = done[:len(done)-1]
			continue
		}
		next := path.Join(path.Join(done...), part)
		target, isLink, err := readlink(next)
		if err != nil {
			return "", err
		}
		if !isLink {
			done = append(done, part)
			continue
		}
		if links++; links > maxLinks || len(target) > maxLinkText {
			return "", errLoop
		}
		if strings.HasPrefix(target, "/") {
			done = nil
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return path.Join(done...), nil
}
