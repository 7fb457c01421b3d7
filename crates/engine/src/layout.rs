//! The optional files and folders of a `tc` session, which its workers may expect. What is there is never touched.

use std::fs::{File, create_dir};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use team_executor_files::tc::LAYOUT;

/// Makes what is missing. The first failure ends it: the session can be run without.
pub(crate) fn complete(session: &Path) -> io::Result<()> {
    for (name, text) in LAYOUT {
        let path = session.join(name);
        if name.ends_with('/') {
            unless_there(create_dir(path))?;
            continue;
        }
        // A link might lead out of the session; what is below it is not ours to make.
        let below_link = path.parent().is_some_and(|folder| folder != session && folder.is_symlink());
        if !below_link {
            unless_there(File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes())))?;
        }
    }
    Ok(())
}

fn unless_there(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
