//! What is rendered can be read again. Where the findings of all tasks make a file larger than its reader accepts, they are
//! shortened in it, all alike; the journal has them whole. The same state gives the same text, so that what was shortened is
//! never taken for an edit.

use team_executor_core::{Session, Task};
use team_executor_files::findings_text::{MARK, cut_to};

/// How many characters of each text are tried, one after the other.
const STEPS: [usize; 5] = [64 << 10, 8 << 10, 1 << 10, 200, 20];
/// What stands behind a text that was shortened.
const NOTE: &str = " whole: team-executor task get";

/// The text of a file of at most so many bytes, if shorter findings and errors can make it so. The session stays as it is.
pub(crate) fn fitting(session: &mut Session, most: u64, write: impl Fn(&Session) -> String) -> String {
    let written = |session: &Session| {
        let texts = session.tasks.iter().flat_map(|task| [&task.findings, &task.error]).flatten();
        let is_hopeless = texts.map(|text| text.len() as u64).sum::<u64>() > most;
        (!is_hopeless).then(|| write(session)).filter(|text| text.len() as u64 <= most)
    };
    if let Some(text) = written(session) {
        return text;
    }
    let whole: Vec<_> = session.tasks.iter_mut().map(|task| (task.findings.take(), task.error.take())).collect();
    let mut shorter = STEPS.into_iter().filter_map(|chars| {
        for (task, (findings, error)) in session.tasks.iter_mut().zip(&whole) {
            let short = |text: &String| shortened(text, chars);
            (task.findings, task.error) = (findings.as_ref().map(short), error.as_ref().map(short));
        }
        written(session)
    });
    let text = shorter.next().unwrap_or_else(|| write(session));
    let put_back = |(task, (findings, error)): (&mut Task, _)| (task.findings, task.error) = (findings, error);
    session.tasks.iter_mut().zip(whole).for_each(put_back);
    text
}

fn shortened(text: &str, chars: usize) -> String {
    let short = cut_to(text, chars).into_owned();
    if short.len() < text.len() && short.ends_with(MARK) { short + NOTE } else { short }
}

#[cfg(test)]
mod tests {
    use team_executor_core::{Graph, RoleName, SessionId, TaskId, TaskStatus};
    use team_executor_files::{MemoryFolder, load, write};

    use super::*;

    /// R: W-10
    #[test]
    fn long_findings_are_shortened_in_the_file_only() {
        let mut session = Session::new(SessionId::parse("s").unwrap());
        session.tasks = (0..10).map(|nth| task(&format!("T-{nth}"), 3_000)).collect();
        session.tasks.push(task("SHORT", 100));
        let graph = Graph::seal(&session.tasks).graph.unwrap();
        let render = |session: &Session| write::tasks_json(None, session, &graph);
        let (before, all) = (session.clone(), render(&session));
        assert_eq!(fitting(&mut session, all.len() as u64, render), all);
        for most in [all.len() - 1, 16_000, 8_000] {
            let text = fitting(&mut session, most as u64, render);
            assert!(text.len() <= most, "{} of {most}", text.len());
            assert_eq!(fitting(&mut session, most as u64, render), text, "it is a function of the state");
            assert_eq!(session, before);
            let loaded = load(&MemoryFolder::default().with("tasks.json", text), "s", None);
            let findings: Vec<_> =
                loaded.session.unwrap().0.tasks.into_iter().filter_map(|task| task.findings).collect();
            assert!(findings[..10].iter().all(|text| text.starts_with("日日") && text.ends_with(NOTE)), "{findings:?}");
            assert_eq!(findings.len(), 11);
        }
        assert!(fitting(&mut session, 1, render).contains("T-9"), "what cannot fit is written all the same");
    }

    fn task(id: &str, chars: usize) -> Task {
        let mut task = Task::new(TaskId::parse(id).unwrap(), RoleName::parse("r").unwrap());
        (task.status, task.findings) = (TaskStatus::Completed, Some("日".repeat(chars)));
        task
    }
}
