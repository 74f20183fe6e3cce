// Package b is counted.
package b
