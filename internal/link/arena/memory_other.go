//go:build !linux

package arena

import "os"

const fixed, sealed, ours = 0, 0, 0

func create(uint64) (*os.File, error)             { return nil, ErrUnsupported }
func seal(*os.File, int) error                    { return ErrUnsupported }
func check(*os.File, uint64, int) error           { return ErrUnsupported }
func mapFile(*os.File, int, bool) ([]byte, error) { return nil, ErrUnsupported }
func reserve(*os.File, uint64) error              { return ErrUnsupported }
func populate([]byte, bool) error                 { return ErrUnsupported }
func unmap([]byte)                                {}
