//! The files and folders that workers may expect in a session: the board, and what is optional in a `tc` session. What is
//! there is never touched.

use std::io::{self, Write as _};
use std::path::Path;

use rustix::io::Errno;
use team_executor_beneath::{Dir, How, io_error};
use team_executor_files::tc::{LAYOUT, SHARED};
use team_executor_files::{board, role_state};

/// Makes what is missing. The first failure ends it: the session can be run without.
pub(crate) fn complete(session: &Path) -> io::Result<()> {
    let dir = Dir::open(session).map_err(io_error)?;
    // Planners of today share through the state of the bus.
    let is_shared = dir.has(role_state::FILE);
    for (name, text) in LAYOUT.iter().filter(|(name, _)| !is_shared || *name != SHARED) {
        match name.strip_suffix('/') {
            Some(folder) => unless_there(dir.make_shared_dir(folder).map(drop))?,
            None => begin(&dir, name, text)?,
        }
    }
    Ok(())
}

/// Makes the board of a session, on which workers tell each other what they found, unless something is there.
pub(crate) fn begin_board(session: &Path) -> io::Result<()> {
    begin(&Dir::open(session).map_err(io_error)?, board::FILE, "")
}

fn begin(session: &Dir, name: &str, text: &str) -> io::Result<()> {
    match session.file(name, How::CreateShared) {
        Ok(mut file) => file.write_all(text.as_bytes()),
        made => unless_there(made.map(drop)),
    }
}

/// A link might lead out of the session; its content is not ours to create.
fn unless_there(made: Result<(), Errno>) -> io::Result<()> {
    match made {
        Ok(()) | Err(Errno::EXIST | Errno::LOOP | Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(io_error(errno)),
    }
}
