package beneath

import (
	"context"
	"encoding/binary"
	"strconv"
	"sync/atomic"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

func (s *Set) root(i int) *Root { return s.members[i].root }

// Notifier is one instance of inotify(7). Its watches are of directories that a handle was held of when they began, so
// they are of that very object, and it keeps no descriptor open for them. Safe for concurrent use, but for Next, which
// one goroutine at a time calls.
type Notifier struct {
	h      *handle // Next blocks in it: one system call less for each notice than by way of the runtime's poller
	buf    []byte
	shut   atomic.Bool
	waking uint32 // a watch that is removed to wake Next
}

const (
	watchSelf = unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_ONLYDIR
	watchAll  = watchSelf | unix.IN_EXCL_UNLINK | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB
)

// ownFDs is where a held descriptor has a path: inotify_add_watch(2) takes nothing else.
const ownFDs = "/proc/self/fd/"

// ownTasks is a directory that nobody else watches here: kernel file systems are no roots.
const ownTasks = "/proc/self/task/"

// NewNotifier makes an instance. limit_reached where this user or process may have no more of them; io_error, Detail
// "no /proc", where the system has no procfs to name a held directory by.
func NewNotifier() (*Notifier, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(ownFDs, &st); err != nil || st.Type != unix.PROC_SUPER_MAGIC {
		return nil, &rootbound.Error{Reason: rootbound.IOError, Detail: "no /proc", Next: "Watching needs a mounted /proc; use what does not watch.", Err: err}
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	switch {
	case err == unix.EMFILE || err == unix.ENFILE:
		return nil, &rootbound.Error{Reason: rootbound.LimitReached, Detail: "inotify instances",
			Next: "Ask the operator to raise fs.inotify.max_user_instances, or the limit of open files.", Retryable: true, Err: err}
	case err != nil:
		return nil, fail(err)
	}
	n := &Notifier{h: newHandle(fd), buf: make([]byte, 64<<10)}
	wd, err := unix.InotifyAddWatch(fd, ownFDs, unix.IN_DELETE_SELF|unix.IN_ONLYDIR)
	if err != nil {
		n.h.drop()
		return nil, watchRefused(err)
	}
	n.waking = uint32(wd)
	return n, nil
}

// Close ends all watches, and Next. A second Close does nothing.
func (n *Notifier) Close() error {
	if !n.shut.Swap(true) {
		_, _ = unix.InotifyRmWatch(n.h.fd, n.waking)
		n.h.drop()
	}
	return nil
}

// Add watches the entries of the directory o, and itself. The same directory has the same number each time.
// limit_reached: no more watches.
func (n *Notifier) Add(o *Object) (WatchID, error) { return n.addObject(o, watchAll) }

// AddSelf watches for o itself being moved or removed; its entries only if Add does so.
func (n *Notifier) AddSelf(o *Object) (WatchID, error) {
	return n.addObject(o, watchSelf|unix.IN_MASK_ADD)
}

func (n *Notifier) addObject(o *Object, mask uint32) (WatchID, error) {
	if err := o.hold(); err != nil {
		return 0, err
	}
	defer o.h.drop()
	if !o.IsDir() {
		return 0, refuse(rootbound.NotADirectory, "", nil)
	}
	return n.add(o.h.fd, o.info.ID, mask)
}

func (n *Notifier) add(fd int, id ObjectID, mask uint32) (WatchID, error) {
	path := ownFDs + strconv.Itoa(fd)
	// The path is the kernel's name for the descriptor that is held here; that it leads there is checked all the same.
	if i, err := stat(unix.AT_FDCWD, path, 0); err != nil || i.ID != id {
		return 0, refuse(rootbound.IOError, "no /proc", err)
	}
	if n.shut.Load() || !n.h.hold() {
		return 0, released()
	}
	defer n.h.drop()
	for {
		wd, err := unix.InotifyAddWatch(n.h.fd, path, mask)
		switch err {
		case nil:
			return WatchID(wd), nil
		case unix.EINTR:
		default:
			return 0, watchRefused(err)
		}
	}
}

func watchRefused(err error) error {
	if err != unix.ENOSPC && err != unix.ENOMEM {
		return fail(err)
	}
	return &rootbound.Error{Reason: rootbound.LimitReached, Detail: "inotify watches",
		Next: "Watch less, or ask the operator to raise fs.inotify.max_user_watches.", Retryable: true, Err: err}
}

// Remove ends a watch. One that has ended is no error.
func (n *Notifier) Remove(id WatchID) {
	if n.h.hold() {
		_, _ = unix.InotifyRmWatch(n.h.fd, uint32(id))
		n.h.drop()
	}
}

// Mark has Next tell a notice Forgotten of this number behind all that it has to tell by now.
func (n *Notifier) Mark() (WatchID, error) {
	if n.shut.Load() || !n.h.hold() {
		return 0, released()
	}
	defer n.h.drop()
	wd, err := unix.InotifyAddWatch(n.h.fd, ownTasks, unix.IN_DELETE_SELF|unix.IN_ONLYDIR)
	if err == nil {
		_, err = unix.InotifyRmWatch(n.h.fd, uint32(wd))
	}
	if err != nil {
		return 0, watchRefused(err)
	}
	return WatchID(wd), nil
}

// AddTree is Add for o and Object.Walk below it, in one: each directory that visit goes into is watched before its
// entries are read, and entered is told of it: its last name ("" for o itself) and how many levels below o it is. So
// whatever appears below o is visited, or told by Next, or both. If entered answers again, the watch was removed
// meanwhile, and another is made. Deeper than Walk goes nothing could be told of: that is limit_reached. That, cancelled and generation_stale end the walk, from whatever they come;
// other errors of entered only keep it out of that directory. What was added until then stays, and was told to entered.
func (n *Notifier) AddTree(ctx context.Context, o *Object, entered func(id WatchID, dir ObjectID, name string, depth int) (again bool, err error),
	visit func(*Node) (Step, error), failed func(rel string, err error)) error {
	name := ""
	t := &tree{ctx: ctx, named: true, course: Course{Failed: failed, Visit: func(node *Node) (Step, error) {
		step, err := visit(node)
		name = node.name
		return step, err
	}}}
	t.enter = func(fd int, id ObjectID) (err error) {
		for again := true; again && err == nil; {
			var wd WatchID
			if wd, err = n.add(fd, id, watchAll); err == nil {
				again, err = entered(wd, id, name, len(t.levels))
			}
		}
		switch rootbound.ReasonOf(err) {
		case rootbound.LimitReached, rootbound.GenerationStale, rootbound.Cancelled:
			t.fatal = err
		}
		return err
	}
	return o.traverseBy(t, "", true)
}

// Next waits for notices and hands each to tell. It returns when those at hand are told; an error means that there will
// be no more.
func (n *Notifier) Next(tell func(Notice)) error {
	if n.shut.Load() || !n.h.hold() {
		return released()
	}
	defer n.h.drop()
	size, err := unix.Read(n.h.fd, n.buf)
	switch {
	case n.shut.Load():
		return released()
	case err == unix.EINTR:
		return nil
	case err != nil:
		return fail(err)
	}
	for b := n.buf[:size]; len(b) >= unix.SizeofInotifyEvent; {
		wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		if end > len(b) {
			break
		}
		name := b[unix.SizeofInotifyEvent:end]
		for len(name) > 0 && name[len(name)-1] == 0 {
			name = name[:len(name)-1]
		}
		b = b[end:]
		tell(Notice{WatchID(wd), whatOf(mask), string(name), mask&unix.IN_ISDIR != 0})
	}
	return nil
}

func whatOf(mask uint32) (w What) {
	for _, k := range [...]struct {
		mask uint32
		what What
	}{
		{unix.IN_CREATE, Made}, {unix.IN_MODIFY, Written}, {unix.IN_CLOSE_WRITE, Shut}, {unix.IN_ATTRIB, Attributes},
		{unix.IN_DELETE, Removed}, {unix.IN_MOVED_FROM, MovedFrom}, {unix.IN_MOVED_TO, MovedTo}, {unix.IN_MOVE_SELF, SelfMoved},
		{unix.IN_DELETE_SELF | unix.IN_UNMOUNT, SelfGone}, {unix.IN_IGNORED, Forgotten}, {unix.IN_Q_OVERFLOW, Lost},
	} {
		if mask&k.mask != 0 {
			w |= k.what
		}
	}
	return w
}
