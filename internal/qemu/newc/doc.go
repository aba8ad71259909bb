// Package newc writes initial RAM file systems: cpio archives in the "newc" form
// that the kernel unpacks at boot.
//
// The same entries always give the same bytes: no owner, no time and no inode
// number of the machine gets into the archive. The folders above an entry are
// added by themselves. The package neither compresses nor reads archives.
package newc
