//! A folder that is held open, and the one function that opens files below it.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Dir as Entries, FileType, Mode, OFlags, RenameFlags, ResolveFlags, SeekFrom, Stat, fchmod, fstat,
    fsync, mkdirat, openat, openat2, readlinkat, renameat, renameat_with, seek, statat, symlinkat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::How;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
const FILE: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NOCTTY).union(OFlags::NONBLOCK);
const WITHOUT_LINKS: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
/// A link may lead to what is below the folder.
const INSIDE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
/// For a folder of the user's: the umask says who may use it.
const SHARED: Mode = Mode::from_raw_mode(0o777);
/// A file with a longer hole than this is refused by [`How::Read`]. The program writes none.
const LONGEST_HOLE: u64 = 64 << 20;

/// A folder that is held open. Paths are relative to it, and no part of one may be a link.
#[derive(Debug, Clone)]
pub struct Dir {
    fd: Arc<OwnedFd>,
    /// Where it was when it was opened, for messages.
    path: Arc<Path>,
}

impl Dir {
    /// Opens the folder at a path that the user chose, which may lead through links.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        let fd = retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))?;
        Ok(Self { fd: Arc::new(fd), path: path.into() })
    }

    /// The same folder, known by another path.
    pub(crate) fn at(self, path: &Path) -> Self {
        Self { path: path.into(), ..self }
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where something below it was when it was opened, for messages and for other programs.
    pub fn whole(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// Opens a regular file. A link, a folder, a pipe, a socket or a device is refused ([`words`](crate::words) says why), and
    /// a file that another name leads to if it is to be changed in place.
    pub fn file(&self, path: &str, how: How) -> Result<File, Errno> {
        regular(self.resolve(path, FILE | how.flags(), how.mode(), WITHOUT_LINKS)?, how)
    }

    /// The same for what people write: a link is followed if it stays below this folder.
    pub fn file_inside(&self, path: &str, how: How) -> Result<File, Errno> {
        let flags = (FILE | how.flags()).difference(OFlags::NOFOLLOW);
        regular(self.resolve(path, flags, how.mode(), INSIDE)?, how)
    }

    /// A folder that people write: a link is followed if it stays below this folder.
    pub fn dir_inside(&self, path: &str) -> Result<Self, Errno> {
        let fd = self.resolve(path, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty(), INSIDE)?;
        Ok(Self { fd: Arc::new(fd), path: self.path.join(path).into() })
    }

    /// The bytes of a regular file; `FBIG` if there are more than the limit.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, Errno> {
        read_all(self.file(path, How::Read)?, limit)
    }

    /// A folder below this one.
    pub fn dir(&self, path: &str) -> Result<Self, Errno> {
        let fd = self.resolve(path, FOLDER, Mode::empty(), WITHOUT_LINKS).map_err(|errno| match errno {
            // The last part is a link: a folder was asked for, and links are not followed.
            Errno::NOTDIR if self.is_link(path) => Errno::LOOP,
            errno => errno,
        })?;
        Ok(Self { fd: Arc::new(fd), path: self.path.join(path).into() })
    }

    /// The same; folders that are missing are made, for their owner only, with durable names.
    pub fn make_dir(&self, path: &str) -> Result<Self, Errno> {
        self.make_dirs(path, Mode::RWXU)
    }

    /// The same for folders of the user's: who may use them is said by the umask.
    pub fn make_shared_dir(&self, path: &str) -> Result<Self, Errno> {
        self.make_dirs(path, SHARED)
    }

    fn make_dirs(&self, path: &str, mode: Mode) -> Result<Self, Errno> {
        let mut made = self.clone();
        for part in parts(path) {
            let part = component(part)?;
            match retry_on_intr(|| mkdirat(&made, part, mode)) {
                Ok(()) => made.sync()?,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            made = made.dir(part)?;
        }
        Ok(made)
    }

    /// Makes a folder, for its owner only; `EXIST` if there is anything of its name.
    pub fn make_new_dir(&self, path: &str) -> Result<(), Errno> {
        self.within(path, |folder, name| retry_on_intr(|| mkdirat(folder, name, Mode::RWXU)))
    }

    /// What there is at a path; a link is a link.
    pub fn stat(&self, path: &str) -> Result<Stat, Errno> {
        self.within(path, |folder, name| retry_on_intr(|| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)))
    }

    /// Whether there is anything at a path, whatever it is.
    pub fn has(&self, path: &str) -> bool {
        self.stat(path).is_ok()
    }

    /// Whether there is a regular file at a path.
    pub fn has_file(&self, path: &str) -> bool {
        self.is_a(path, FileType::RegularFile)
    }

    /// Whether there is a folder at a path.
    pub fn has_dir(&self, path: &str) -> bool {
        self.is_a(path, FileType::Directory)
    }

    /// How many bytes a regular file has; nothing if there is none.
    pub fn length(&self, path: &str) -> Option<u64> {
        let found = self.stat(path).ok()?;
        (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile).then(|| size(&found))
    }

    /// How many bytes a file seems to have, in one look: a link on the way is followed, so what is opened may be another one.
    pub fn seems_to_have(&self, path: &str) -> Option<u64> {
        let found = retry_on_intr(|| statat(self, path, AtFlags::SYMLINK_NOFOLLOW)).ok()?;
        (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile).then(|| size(&found))
    }

    /// The names in this folder, sorted. A name that is not UTF-8 is none of ours.
    pub fn list(&self) -> Result<Vec<String>, Errno> {
        let mut names = Vec::new();
        for entry in Entries::read_from(&*self.fd)? {
            if let Ok(name) = entry?.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// How many names there are in this folder, UTF-8 or not.
    pub fn count(&self) -> Result<usize, Errno> {
        let mut count = 0;
        for entry in Entries::read_from(&*self.fd)? {
            count += usize::from(!matches!(entry?.file_name().to_bytes(), b"." | b".."));
        }
        Ok(count)
    }

    /// A path to something in this folder that is never too long for a socket. It leads there while the folder is held.
    pub fn short(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd())).join(name)
    }

    /// The same for a socket that is there. A link is refused: it could lead to a socket of another program.
    pub fn socket(&self, name: &str) -> Result<PathBuf, Errno> {
        match FileType::from_raw_mode(self.stat(component(name)?)?.st_mode) {
            FileType::Socket => Ok(self.short(name)),
            FileType::Symlink => Err(Errno::LOOP),
            _ => Err(Errno::NOTSOCK),
        }
    }

    /// Gives something another name, in the place of what had it.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.between(from, to, |(folder, from), (into, to)| retry_on_intr(|| renameat(folder, from, into, to)))
    }

    /// Gives something another name; `EXIST` if there is anything of that name.
    pub fn rename_new(&self, from: &str, to: &str) -> Result<(), Errno> {
        let flags = RenameFlags::NOREPLACE;
        self.between(from, to, |(folder, from), (into, to)| {
            retry_on_intr(|| renameat_with(folder, from, into, to, flags))
        })
    }

    /// Gives each of two things the name of the other, in one step.
    pub fn exchange(&self, one: &str, other: &str) -> Result<(), Errno> {
        let flags = RenameFlags::EXCHANGE;
        self.between(one, other, |(folder, one), (into, other)| {
            retry_on_intr(|| renameat_with(folder, one, into, other, flags))
        })
    }

    /// Moves something to a name in another folder; `EXIST` if there is anything of that name.
    pub fn move_new(&self, from: &str, into: &Self, to: &str) -> Result<(), Errno> {
        let (from, to) = (component(from)?, component(to)?);
        retry_on_intr(|| renameat_with(self, from, into, to, RenameFlags::NOREPLACE))
    }

    /// Removes a name that is not a folder's.
    pub fn remove(&self, path: &str) -> Result<(), Errno> {
        self.within(path, |folder, name| retry_on_intr(|| unlinkat(folder, name, AtFlags::empty())))
    }

    /// Makes a link that leads to a place, instead of one that leads elsewhere.
    pub fn link(&self, path: &str, to: &Path) -> Result<(), Errno> {
        self.within(path, |folder, name| {
            if readlinkat(folder, name, Vec::new()).is_ok_and(|known| known.as_bytes() == to.as_os_str().as_bytes()) {
                return Ok(());
            }
            match retry_on_intr(|| unlinkat(folder, name, AtFlags::empty())) {
                Ok(()) | Err(Errno::NOENT) => retry_on_intr(|| symlinkat(to, folder, name)),
                failed => failed,
            }
        })
    }

    /// Removes an empty folder.
    pub fn remove_dir(&self, path: &str) -> Result<(), Errno> {
        self.within(path, |folder, name| retry_on_intr(|| unlinkat(folder, name, AtFlags::REMOVEDIR)))
    }

    /// Removes a folder with all that is in it, also what its owner may not change. Links are removed, not followed.
    pub fn remove_all(&self, path: &str) -> Result<(), Errno> {
        // Folders from the outermost to the innermost; those are removed in the other order.
        let mut folders = vec![path.to_owned()];
        let mut looked_at = 0;
        while let Some(folder) = folders.get(looked_at).cloned() {
            looked_at += 1;
            let within = self.dir(&folder)?;
            let mode = Mode::from_raw_mode(fstat(&within)?.st_mode);
            if !mode.contains(Mode::WUSR) {
                retry_on_intr(|| fchmod(&within, Mode::RWXU))?;
            }
            for name in within.list()? {
                if within.has_dir(&name) {
                    folders.push(format!("{folder}/{name}"));
                } else {
                    within.remove(&name)?;
                }
            }
        }
        folders.iter().rev().try_for_each(|folder| self.remove_dir(folder))
    }

    /// Keeps others than its owner out of this folder, unless they are kept out already.
    pub fn keep_private(&self) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(fstat(self)?.st_mode);
        if mode.intersects(Mode::RWXG | Mode::RWXO) {
            retry_on_intr(|| fchmod(self, Mode::RWXU))?;
        }
        Ok(())
    }

    /// Makes the names in this folder durable.
    pub fn sync(&self) -> Result<(), Errno> {
        retry_on_intr(|| fsync(self))
    }

    /// Calls with the folder that the last part of a path is in, and that part.
    fn within<T>(&self, path: &str, call: impl Fn(&Self, &str) -> Result<T, Errno>) -> Result<T, Errno> {
        match path.rsplit_once('/') {
            None => call(self, component(path)?),
            Some((above, name)) => call(&self.dir(above)?, component(name)?),
        }
    }

    fn between(
        &self,
        from: &str,
        to: &str,
        call: impl Fn((&Self, &str), (&Self, &str)) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        self.within(from, |folder, from| self.within(to, |into, to| call((folder, from), (into, to))))
    }

    fn is_a(&self, path: &str, kind: FileType) -> bool {
        self.stat(path).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == kind)
    }

    pub(crate) fn is_link(&self, path: &str) -> bool {
        self.is_a(path, FileType::Symlink)
    }

    /// Opens what is at a path.
    fn resolve(&self, path: &str, flags: OFlags, mode: Mode, links: ResolveFlags) -> Result<OwnedFd, Errno> {
        let opened = retry_on_intr(|| openat2(self, path, flags, mode, links));
        match opened {
            Err(Errno::NOSYS | Errno::PERM) => self.resolve_stepwise(path, flags, mode),
            Err(Errno::XDEV) => Err(Errno::LOOP),
            opened => opened,
        }
    }

    /// For systems without `openat2`: one part after the other, and no link anywhere.
    fn resolve_stepwise(&self, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        if path.starts_with('/') {
            return Err(Errno::LOOP);
        }
        let mut parts: Vec<&str> = parts(path).collect();
        if parts.contains(&"..") {
            return Err(Errno::LOOP);
        }
        let last = parts.pop().unwrap_or(".");
        let mut folder = Arc::clone(&self.fd);
        for part in parts {
            folder = Arc::new(retry_on_intr(|| openat(&*folder, part, FOLDER, Mode::empty()))?);
        }
        retry_on_intr(|| openat(&*folder, last, flags | OFlags::NOFOLLOW, mode))
    }
}

/// Opens a regular file that the user named, wherever links lead.
pub(crate) fn open_chosen(path: &Path) -> Result<File, Errno> {
    let flags = FILE.difference(OFlags::NOFOLLOW);
    regular(retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))?, How::Read)
}

/// The bytes of a file; `FBIG` if there are more than the limit.
pub(crate) fn read_all(file: File, limit: u64) -> Result<Vec<u8>, Errno> {
    let size = size(&fstat(&file)?);
    if size > limit {
        return Err(Errno::FBIG);
    }
    // It may grow while it is read: one byte more than the limit tells.
    let mut bytes = Vec::with_capacity(usize::try_from(size + 1).unwrap_or(0));
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if bytes.len() as u64 > limit { Err(Errno::FBIG) } else { Ok(bytes) }
}

/// Refuses what is no regular file, or cannot be used so.
fn regular(file: OwnedFd, how: How) -> Result<File, Errno> {
    if how.makes() {
        return Ok(File::from(file)); // it was not there before
    }
    let found = fstat(&file)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::ISDIR),
        _ => return Err(Errno::NXIO),
    }
    if how.changes_in_place() && found.st_nlink > 1 {
        return Err(Errno::MLINK);
    }
    if how != How::ReadAnything && size(&found) > LONGEST_HOLE && has_long_hole(&file, size(&found)) {
        return Err(Errno::FBIG);
    }
    Ok(File::from(file))
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !matches!(*part, "" | "."))
}

/// Refuses what is not one name in a folder.
fn component(name: &str) -> Result<&str, Errno> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) { Err(Errno::INVAL) } else { Ok(name) }
}

fn size(found: &Stat) -> u64 {
    u64::try_from(found.st_size).unwrap_or(0)
}

/// Whether there is a hole in a file that is longer than any that the program could have left.
fn has_long_hole(file: &OwnedFd, size: u64) -> bool {
    let mut at = 0;
    while at < size {
        let Ok(hole) = seek(file, SeekFrom::Hole(at)) else { return false };
        let end = seek(file, SeekFrom::Data(hole)).unwrap_or(size);
        if end.saturating_sub(hole) > LONGEST_HOLE {
            let _at_the_start = seek(file, SeekFrom::Start(0));
            return true;
        }
        at = end.max(at + 1);
    }
    let _at_the_start = seek(file, SeekFrom::Start(0));
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::words;

    /// A folder with one of each shape at `file` and `sub/file`, and a canary outside.
    struct World {
        top: tempfile::TempDir,
        dir: Dir,
    }

    const HOWS: [How; 5] = [How::Read, How::ReadAnything, How::Write, How::Append, How::CreateNew];

    impl World {
        fn new() -> Self {
            let top = tempfile::tempdir().unwrap();
            let path = top.path().join("dir");
            std::fs::create_dir_all(path.join("sub")).unwrap();
            std::fs::write(top.path().join("canary"), "outside").unwrap();
            Self { dir: Dir::open(&path).unwrap(), top }
        }

        fn at(&self, path: &str) -> PathBuf {
            self.top.path().join("dir").join(path)
        }

        fn canary(&self) -> String {
            std::fs::read_to_string(self.top.path().join("canary")).unwrap()
        }

        fn node(&self, path: &str, kind: FileType) -> Result<(), Errno> {
            rustix::fs::mknodat(CWD, self.at(path), kind, Mode::RWXU, rustix::fs::makedev(1, 5))
        }
    }

    #[test]
    fn links_pipes_folders_and_devices_are_refused_for_every_use() {
        let world = World::new();
        symlink("../canary", world.at("link")).unwrap();
        symlink("../../canary", world.at("sub/link")).unwrap();
        symlink(world.top.path().join("canary"), world.at("absolute")).unwrap();
        symlink("nowhere", world.at("dangling")).unwrap();
        symlink("..", world.at("up")).unwrap();
        world.node("pipe", FileType::Fifo).unwrap();
        let has_device = world.node("device", FileType::CharacterDevice).is_ok(); // only root can make one
        let mut refused = vec![
            ("link", Errno::LOOP),
            ("sub/link", Errno::LOOP),
            ("absolute", Errno::LOOP),
            ("up/canary", Errno::LOOP),
            ("../canary", Errno::LOOP),
            ("/etc/passwd", Errno::LOOP),
            ("sub", Errno::ISDIR),
            ("pipe", Errno::NXIO),
        ];
        refused.extend(has_device.then_some(("device", Errno::NXIO)));
        for (path, errno) in refused {
            for how in HOWS.into_iter().filter(|how| *how != How::CreateNew) {
                let found = world.dir.file(path, how).unwrap_err();
                assert_eq!(found, errno, "{path} {how:?}");
                let stepwise = world.dir.resolve_stepwise(path, FILE | how.flags(), how.mode());
                let is_refused = stepwise.is_err() || !matches!(errno, Errno::LOOP);
                assert!(is_refused, "{path} {how:?} without openat2");
            }
            assert!(world.dir.file(path, How::CreateNew).is_err(), "{path}");
            assert!(!words(errno).contains("os error"));
        }
        assert_eq!(world.dir.file("dangling", How::Append).unwrap_err(), Errno::LOOP);
        assert!(!world.at("nowhere").exists());
        assert_eq!(world.dir.dir("up").unwrap_err(), Errno::LOOP);
        assert_eq!(world.dir.dir("pipe").unwrap_err(), Errno::NOTDIR);
        assert_eq!(world.canary(), "outside");
    }

    #[test]
    fn a_hard_link_is_read_but_not_changed() {
        let world = World::new();
        std::fs::hard_link(world.top.path().join("canary"), world.at("hard")).unwrap();
        assert_eq!(world.dir.read("hard", 100), Ok(b"outside".to_vec()));
        for how in [How::Write, How::Append] {
            assert_eq!(world.dir.file("hard", how).unwrap_err(), Errno::MLINK);
        }
        let mut log = world.dir.append_or_set_aside("hard").unwrap();
        std::io::Write::write_all(&mut log, b"new").unwrap();
        assert_eq!((world.canary(), world.dir.read("hard", 9)), ("outside".to_owned(), Ok(b"new".to_vec())));
        assert_eq!(world.dir.read("hard.aside-1", 100), Ok(b"outside".to_vec()));
    }

    #[test]
    fn a_file_of_holes_is_refused_and_a_file_above_its_limit() {
        let world = World::new();
        let giant = File::create(world.at("giant")).unwrap();
        giant.set_len(8 << 40).unwrap();
        assert_eq!(world.dir.file("giant", How::Read).unwrap_err(), Errno::FBIG);
        assert!(world.dir.file("giant", How::ReadAnything).is_ok());
        std::fs::write(world.at("five"), "12345").unwrap();
        assert_eq!(world.dir.read("five", 5), Ok(b"12345".to_vec()));
        assert_eq!(world.dir.read("five", 4), Err(Errno::FBIG));
    }

    #[test]
    fn obstacle_is_kept_under_another_name() {
        let world = World::new();
        symlink("../canary", world.at("sub/log")).unwrap();
        for nth in 0..2 {
            drop(world.dir.append_or_set_aside("sub/log").unwrap());
            assert_eq!(world.dir.length("sub/log"), Some(0));
            drop(world.dir.create_or_set_aside("sub/log").unwrap());
            assert!(world.dir.has(&format!("sub/log.aside-{}", nth + 2)));
        }
        assert!(world.at("sub/log.aside-1").is_symlink());
        assert_eq!(world.canary(), "outside");
    }

    #[test]
    fn names_below_links_are_neither_seen_nor_moved_nor_removed() {
        let world = World::new();
        symlink("..", world.at("up")).unwrap();
        assert!(!world.dir.has("up/canary") && world.dir.has("up"));
        assert_eq!(world.dir.remove("up/canary"), Err(Errno::LOOP));
        assert_eq!(world.dir.rename("up/canary", "mine"), Err(Errno::LOOP));
        assert_eq!(world.dir.rename_new("sub", "up/sub"), Err(Errno::LOOP));
        assert_eq!(world.dir.make_dir("up/new").unwrap_err(), Errno::LOOP);
        std::fs::create_dir(world.at("sub/deep")).unwrap();
        symlink("../../../canary", world.at("sub/deep/link")).unwrap();
        world.dir.remove_all("sub").unwrap();
        assert!(!world.dir.has("sub"));
        assert_eq!(world.canary(), "outside");
    }

    #[test]
    fn folders_are_made_for_their_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let world = World::new();
        let made = world.dir.make_dir("a/b/c").unwrap();
        assert_eq!(made.path(), world.at("a/b/c"));
        let mode = std::fs::metadata(world.at("a/b")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(world.dir.make_new_dir("a/b"), Err(Errno::EXIST));
        assert_eq!(made.list(), Ok(Vec::new()));
    }
}
