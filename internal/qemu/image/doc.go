// Package image reads kernel images of the x86 architecture.
//
// [Inspect] tells a bzImage from a vmlinux and says what it can boot by;
// [Extract] decompresses the vmlinux within a bzImage, which saves an emulated
// machine two thirds of its boot time; [FromPackage] finds the kernel in a Debian
// package while reading it. Images packed by gzip, xz (with the x86 filter), zstd,
// bzip2 and lz4 are read, lzma and lzo are not.
//
// Input is taken to be hostile: offsets and sizes in headers are checked against
// the file before they are used, and output is streamed and limited. The package
// opens no files and does not read images of other architectures.
package image
