//! A remark about something that is done all the same.

/// A remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Something odd that is survived.
    Warning(String),
    /// How something is done.
    Note(String),
}

impl Remark {
    /// The sentence.
    pub fn text(&self) -> &str {
        match self {
            Self::Warning(text) | Self::Note(text) => text,
        }
    }
}

/// Adds warnings.
pub(crate) fn warn(remarks: &mut Vec<Remark>, messages: impl IntoIterator<Item = String>) {
    remarks.extend(messages.into_iter().map(Remark::Warning));
}
