package beneath

import (
	"fmt"
	"io/fs"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// checkKind applies contract §5 to what a handle reached: regular files and directories, none of a kernel file system.
// magic is 0 if the object shares the root's file system.
func (s *Set) checkKind(root, fd int, info Info, how How) (magic uint32, err error) {
	r := s.members[root].root
	if info.ID.Dev != r.id.Dev {
		if magic, err = fsMagic(fd); err != nil {
			return 0, fail(err)
		}
		if kernelFS(magic) {
			return 0, refuse(rootbound.SpecialFile, "kernel", nil)
		}
	} else if kernelFS(r.magic) {
		return 0, refuse(rootbound.SpecialFile, "kernel", nil)
	}
	switch {
	case info.Mode&fs.ModeType == 0:
		if how == Dir {
			return 0, refuse(rootbound.NotADirectory, "", nil)
		}
	case info.Mode.IsDir():
		if how == File {
			return 0, refuse(rootbound.IsADirectory, "", nil)
		}
	case isLink(info):
		return 0, refuse(rootbound.PathUnresolvable, "link", nil)
	default:
		return 0, refuse(rootbound.SpecialFile, kindName(info.Mode), nil)
	}
	return magic, nil
}

func kindName(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return ""
}

// kernelFS reports whether a file system holds kernel objects rather than files: contract §5, special_file.
func kernelFS(magic uint32) bool {
	switch magic {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, configfsMagic, unix.BPF_FS_MAGIC,
		unix.DEVPTS_SUPER_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.AAFS_MAGIC, unix.BINFMTFS_MAGIC,
		unix.EFIVARFS_MAGIC, unix.PSTOREFS_MAGIC, unix.NSFS_MAGIC, unix.PID_FS_MAGIC, unix.RDTGROUP_SUPER_MAGIC,
		unix.XENFS_SUPER_MAGIC, unix.OPENPROM_SUPER_MAGIC, unix.USBDEVICE_SUPER_MAGIC, unix.BINDERFS_SUPER_MAGIC,
		fusectlMagic, mqueueMagic, rpcPipeMagic, unix.ANON_INODE_FS_MAGIC, unix.PIPEFS_MAGIC, unix.SOCKFS_MAGIC:
		return true
	}
	return false
}

// Magics of statfs(2) that x/sys does not name.
const (
	configfsMagic = 0x62656570
	fusectlMagic  = 0x65735543
	mqueueMagic   = 0x19800202
	rpcPipeMagic  = 0x67596969
)

func fsMagic(fd int) (uint32, error) {
	var st unix.Statfs_t
	for {
		err := unix.Fstatfs(fd, &st)
		if err != unix.EINTR {
			return uint32(st.Type), err
		}
	}
}

func fsName(magic uint32) string {
	switch magic {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.RAMFS_MAGIC:
		return "ramfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	case unix.F2FS_SUPER_MAGIC:
		return "f2fs"
	case unix.BCACHEFS_SUPER_MAGIC:
		return "bcachefs"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.SMB_SUPER_MAGIC:
		return "smb"
	case unix.FUSE_SUPER_MAGIC:
		return "fuse"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.CEPH_SUPER_MAGIC:
		return "ceph"
	case unix.MSDOS_SUPER_MAGIC:
		return "vfat"
	case unix.EXFAT_SUPER_MAGIC:
		return "exfat"
	case unix.ISOFS_SUPER_MAGIC:
		return "iso9660"
	case unix.SQUASHFS_MAGIC:
		return "squashfs"
	case unix.EROFS_SUPER_MAGIC_V1:
		return "erofs"
	case unix.PROC_SUPER_MAGIC:
		return "proc"
	case unix.SYSFS_MAGIC:
		return "sysfs"
	}
	return fmt.Sprintf("0x%x", magic)
}
