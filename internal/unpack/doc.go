// Package unpack decompresses logs while they are read.
//
// [Reader] looks at the first bytes of an input and, if they are those of gzip,
// xz, zstd or bzip2, returns a reader of what is packed in it; anything else
// passes through as it is. Several members one after the other, and packing
// within packing, are followed.
//
// Input is taken to be hostile: windows and dictionaries are limited before
// memory is asked for, an absurd ratio ends the reading, and damaged or cut
// input delivers what comes before the damage and then a clear error.
//
// The package opens no files, starts no goroutines, and does not read archives
// of several files.
package unpack
