package arena

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Seals; see the package's documentation for who sets which. fixed has all that a mapping needs in order to be safe.
const (
	fixed  = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	sealed = unix.F_SEAL_SEAL
	ours   = unix.F_SEAL_FUTURE_WRITE // only those write who have it mapped already
)

// create makes a file of memory that has all its pages and keeps its size.
func create(bytes uint64) (*os.File, error) {
	if err := checkSize(bytes); err != nil {
		return nil, err
	}
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("weir-arena", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("weir-arena", flags)
	}
	switch {
	case errors.Is(err, unix.ENOSYS):
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	case err != nil:
		return nil, fmt.Errorf("arena: create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "weir-arena")
	if err := errors.Join(reserve(f, bytes), seal(f, fixed)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// reserve gives a file its pages. Without it the first write to a page that cannot be had would be a SIGBUS.
func reserve(f *os.File, bytes uint64) error {
	err := control(f, func(fd int) error {
		for {
			if err := unix.Fallocate(fd, 0, 0, int64(bytes)); !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
	if err != nil {
		return fmt.Errorf("arena: reserve %d bytes: %w", bytes, err)
	}
	return nil
}

func seal(f *os.File, seals int) error {
	err := control(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		return err
	})
	switch {
	case errors.Is(err, unix.EINVAL): // FUTURE_WRITE is known since Linux 5.1
		return fmt.Errorf("%w: seals %#x: %w", ErrUnsupported, seals, err)
	case err != nil:
		return fmt.Errorf("arena: seals %#x: %w", seals, err)
	}
	return nil
}

// check refuses a file that is not of this size for good, or that lacks other seals.
func check(f *os.File, bytes uint64, seals int) error {
	if err := checkSize(bytes); err != nil {
		return err
	}
	return control(f, func(fd int) error {
		switch has, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); {
		case err != nil: // no file that could have any
			return fmt.Errorf("%w: %w", ErrSeals, err)
		case has&seals != seals:
			return fmt.Errorf("%w: has seals %#x, needs %#x", ErrSeals, has, seals)
		}
		var is unix.Stat_t // behind the seals: from now on it cannot change
		if err := unix.Fstat(fd, &is); err != nil {
			return fmt.Errorf("arena: size: %w", err)
		}
		if uint64(is.Size) != bytes {
			return fmt.Errorf("%w: %d bytes, not %d", ErrSize, is.Size, bytes)
		}
		return nil
	})
}

// mapFile maps the whole file, with all its pages at once: one by one they cost 12 times as much.
func mapFile(f *os.File, bytes int, write bool) (mem []byte, err error) {
	protection := unix.PROT_READ
	if write {
		protection |= unix.PROT_WRITE
	}
	err = control(f, func(fd int) (err error) {
		mem, err = unix.Mmap(fd, 0, bytes, protection, unix.MAP_SHARED|unix.MAP_POPULATE)
		return err
	})
	return mem, err
}

func unmap(mem []byte) {
	if err := unix.Munmap(mem); err != nil { // it can fail only if mem is not what mapFile has returned
		panic(err)
	}
}

// control calls do with the file's descriptor, which is not closed meanwhile.
func control(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if broken := c.Control(func(fd uintptr) { err = do(int(fd)) }); broken != nil {
		return broken
	}
	return err
}
