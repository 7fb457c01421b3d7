//! The first free name. Everything that must not take another's name counts here.

use rustix::io::Errno;

/// The first of `stem-1`, `stem-2`, … that `take` can take, with what it made of it. `take` says `None` for a name that
/// is not free.
pub fn numbered<T, E>(stem: &str, take: impl FnMut(&str) -> Result<Option<T>, E>) -> Result<(String, T), E> {
    first(|number| format!("{stem}-{number}"), take)
}

/// The same of `stem`, `stem-2`, `stem-3`, …
pub fn plain_or_numbered<T, E>(stem: &str, take: impl FnMut(&str) -> Result<Option<T>, E>) -> Result<(String, T), E> {
    let name = |number| if number == 1 { stem.to_owned() } else { format!("{stem}-{number}") };
    first(name, take)
}

/// What `take` says when the system was asked for a name.
pub fn unless_taken<T>(taken: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match taken {
        Err(Errno::EXIST) => Ok(None),
        taken => taken.map(Some),
    }
}

fn first<T, E>(
    name: impl Fn(u64) -> String,
    mut take: impl FnMut(&str) -> Result<Option<T>, E>,
) -> Result<(String, T), E> {
    let mut number = 1_u64;
    loop {
        let name = name(number);
        if let Some(taken) = take(&name)? {
            return Ok((name, taken));
        }
        number = number.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_name_that_is_not_taken_is_given() {
        let free = |taken: &'static [&str]| move |name: &str| Ok::<_, Errno>((!taken.contains(&name)).then_some(()));
        let name = |found: Result<(String, ()), Errno>| found.map(|(name, ())| name);
        assert_eq!(name(numbered("a", free(&[]))), Ok("a-1".to_owned()));
        assert_eq!(name(numbered("a", free(&["a", "a-1", "a-2"]))), Ok("a-3".to_owned()));
        assert_eq!(name(plain_or_numbered("a", free(&["a-2"]))), Ok("a".to_owned()));
        assert_eq!(name(plain_or_numbered("a", free(&["a", "a-2"]))), Ok("a-3".to_owned()));
        assert_eq!(numbered("a", |_| unless_taken(Err::<(), _>(Errno::NOSPC))), Err(Errno::NOSPC));
    }
}
