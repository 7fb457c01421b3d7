//! The columns of `tasks.csv`, and which column of a real header is which. Knows nothing about rows.

use std::borrow::Cow;
use std::sync::Arc;

use team_executor_core::{Complexity, ExecMode, Position, Priority, RunOn, TaskStatus, Verdict};

use crate::code::Code;
use crate::csv::Record;
use crate::fields::{DELIVERS, DESCRIPTIONS, ID, PLANNER_NOTES, ROLES, STATUS_SYNONYMS, TITLES, WAVES};
use crate::finding::{Finding, Findings};
use crate::shape::{Field, Object, Presence, Type};
use crate::span::Span;

/// How many of the columns the format demands; they come first in [`ROW`].
pub(super) const CANONICAL: usize = 11;

/// The role of every task of a table that names none.
pub(super) const DEFAULT_ROLE: &str = "worker";

/// The shape of a row, as an object with a key for each column.
pub static SHAPE: Type = Type::Object(&ROW);

/// Its columns. Names of real headers are compared without blanks around them and in lower case.
pub static ROW: Object = Object {
    about: "One task and its state",
    fields: &[
        Field::required("id", &ID, "Unique name of the task").or(&["task_id"]),
        Field::expected("title", &Type::Text, "the id is shown instead", "For people").or(TITLES),
        Field::expected("description", &Type::Text, "the title is used", "What to do").or(DESCRIPTIONS),
        Field::expected("deps", &Type::Text, "no task waits for another", "Ids of what must be done before, with `;`")
            .or(&["depends_on", "dependencies", "blockedby", "blocked_by", "dependson"]),
        Field::expected(
            "context_from",
            &Type::Text,
            "each task is given the findings of its dependencies",
            "Ids of the tasks whose findings it is given, with `;`",
        ),
        Field::expected(
            "exec_mode",
            &Type::Word(ExecMode::WORDS, &[("", "csv-wave")]),
            "it is `csv-wave`, unless the role's instructions say otherwise",
            "One shot or conversation",
        ),
        Field::expected("role", &Type::Name, "every task has the role `worker`", "Name of the role that does it")
            .or(ROLES),
        Field::expected("wave", &Type::Whole(1), "it was computed from the dependencies", "Which wave it runs in")
            .or(WAVES),
        Field::expected(
            "status",
            &Type::Word(TaskStatus::WORDS, STATUS_SYNONYMS),
            "every task is `pending`",
            "Its status",
        ),
        Field::expected("findings", &Type::Text, "there are none", "Findings, at most 500 characters"),
        Field::expected("error", &Type::Text, "there is none", "Why it failed or was skipped"),
        Field::optional("position", &Type::Word(Position::WORDS, &[]), "Before or after the wave's one-shot tasks"),
        Field::optional("run_on", &Type::Word(RunOn::WORDS, &[]), "Which outcome of its dependencies lets it run"),
        Field::optional("priority", &Type::Word(Priority::WORDS, &[]), "Priority: which ready task starts first"),
        Field::optional("quality_score", &Type::Number(0.0, 100.0), "From reviewers, 0 to 100"),
        Field::optional("supervision_verdict", &Type::Word(Verdict::WORDS, &[]), "From supervisors"),
        Field::optional("attempt_count", &Type::Whole(0), "Attempts after the first"),
        Field::optional("findings_full", &Type::Text, "Full findings, where `findings` was cut"),
        Field::optional("agent", &Type::Text, "Which agent does it, where the user lets sessions choose"),
        Field::optional("min_complexity", &Type::Word(Complexity::WORDS, &[]), "How complex the work must be for it"),
        Field::optional("delivers", &Type::Text, DELIVERS),
        Field::optional("planner_notes", &Type::Text, PLANNER_NOTES),
    ],
};

/// What a program that runs a table as a job adds at its right end. These columns tell about the job, not the task.
pub(crate) const JOB: [&str; 10] = [
    "job_id",
    "item_id",
    "row_index",
    "source_id",
    "status",
    "attempt_count",
    "last_error",
    "result_json",
    "reported_at",
    "completed_at",
];

/// Columns of which another name beside the right one only says more.
const TEXTS: [&str; 3] = ["title", "description", "role"];

/// Which column of a header is which.
#[derive(Debug)]
pub(super) struct Header<'s> {
    /// What each column is called, as it is written.
    pub(super) names: Vec<Cow<'s, str>>,
    /// For each column, its field of [`ROW`], unless it is an extra one.
    meanings: Vec<Option<&'static Field>>,
    /// The first of the columns of a job.
    job: Option<usize>,
}

impl<'s> Header<'s> {
    /// Of several columns for one field the first with the right name counts, or else the first with another name.
    pub(super) fn read(record: Record<'_, 's>) -> Self {
        let names: Vec<_> = record.cells().map(|cell| cell.value).collect();
        let folded: Vec<_> = names.iter().map(|name| fold(name)).collect();
        let job = folded.windows(JOB.len()).position(|window| window == JOB);
        let mut header = Self { meanings: vec![None; names.len()], names, job };
        for wanted_exact in [true, false] {
            for (column, name) in folded.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                if let Some((_, field, exact)) = ROW.field(name)
                    && exact == wanted_exact
                    && !header.is_of_job(column)
                    && header.column(field.name).is_none()
                {
                    header.meanings[column] = Some(field);
                }
            }
        }
        header.read_again(&folded);
        header
    }

    /// Names that mean something else where what they mean first is there, or is missing.
    fn read_again(&mut self, folded: &[String]) {
        let named = |name: &str| folded.iter().position(|column| column == name);
        let field = |name: &str| ROW.field(name).map(|(_, field, _)| field);
        if self.column("role").is_none()
            && let Some(agent) = self.column("agent")
        {
            self.meanings[agent] = field("role");
        }
        if self.column("description").is_none()
            && let Some(task) = named("task").filter(|task| self.meanings[*task].is_none() && !self.is_of_job(*task))
        {
            self.meanings[task] = field("description");
        }
    }

    /// How many columns there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Where a field stands.
    pub(super) fn column(&self, field: &str) -> Option<usize> {
        self.meanings.iter().position(|meaning| meaning.is_some_and(|meaning| meaning.name == field))
    }

    /// What a column means; nothing if it is an extra one.
    pub(super) fn meaning(&self, column: usize) -> Option<&'static Field> {
        self.meanings.get(column).copied().flatten()
    }

    /// Every column with a meaning.
    pub(super) fn fields(&self) -> impl Iterator<Item = (usize, &'static Field)> {
        self.meanings.iter().enumerate().filter_map(|(column, meaning)| meaning.map(|field| (column, field)))
    }

    /// Columns with another name of a field, which are not read because the field has a column.
    pub(super) fn others(&self, field: &str) -> impl Iterator<Item = usize> {
        let names =
            move |column: &usize| ROW.field(&fold(&self.names[*column])).is_some_and(|(_, own, _)| own.name == field);
        let is_other =
            move |column: &usize| self.meanings[*column].is_none() && !self.is_of_job(*column) && names(column);
        (0..self.len()).filter(is_other)
    }

    /// Says everything that is wrong or odd about a header.
    pub(super) fn judge(&self, record: Record<'_, '_>, subject: &str, file: &Arc<str>, findings: &mut Findings) {
        for (column, cell) in record.cells().enumerate() {
            let (name, place) = (cell.value.trim(), Span { start: cell.start, end: cell.end });
            let known = ROW.field(&fold(name)).map(|(_, field, exact)| (field, exact));
            let (code, message) = match (self.meaning(column), known) {
                _ if self.job == Some(column) => {
                    (Code::OddTable, "the columns of a job from `job_id` on are kept and not read".to_owned())
                }
                (Some(field), _) if name != field.name => {
                    (Code::FieldAlias, format!("`{name}` was read as `{}`", field.name))
                }
                (Some(_), _) if name != cell.value => {
                    (Code::OddTable, "blanks around the name of a column were dropped".to_owned())
                }
                (None, Some((field, true))) if !self.is_of_job(column) => {
                    (Code::OddTable, format!("`{}` stands in the header twice: the first was read", field.name))
                }
                (None, Some((field, false))) if !self.is_of_job(column) && !TEXTS.contains(&field.name) => {
                    (Code::FieldAlias, format!("`{name}` was ignored, because `{}` is there too", field.name))
                }
                _ => continue,
            };
            findings.push(Finding::warning(code, message).at(file, place, ""));
        }
        let place = Span { start: record.start(), end: record.end() };
        if self.column("id").is_none() {
            // Then it is another sort of table, and what else it lacks is beside the point.
            return findings.push(self.without_id(subject).at(file, place, "no column is called `id`"));
        }
        if self.is_only_a_job() {
            let finding = Finding::error(Code::NoSession, format!("{subject} is the table of a job, not of a team"));
            let finding = finding.at(file, place, "its rows are items, with no task, role or dependency");
            return findings.push(finding.help(self.run_as_job()));
        }
        for field in ROW.fields.iter().filter(|field| self.column(field.name).is_none()) {
            if let Presence::Expected(without) = field.presence {
                let message = format!("`{}` is missing: {without}", field.name);
                findings.push(Finding::warning(Code::DefaultUsed, message).at(file, place, ""));
            }
        }
    }

    fn without_id(&self, subject: &str) -> Finding {
        let finding = Finding::error(Code::MissingField, format!("{subject} missing required field 'id'"));
        match self.names.as_slice() {
            [only] if only.contains([';', '\t']) => finding.help("separate the columns by `,`"),
            names if names.iter().all(|name| name.trim().is_empty()) => {
                finding.help("write a header with a column `id`, and a row for every task")
            }
            _ => finding.help("add a column `id` with a unique name for every task").help(self.run_as_job()),
        }
    }

    /// Whether a program has run it as a job, and no column says that it is more.
    fn is_only_a_job(&self) -> bool {
        let of_team = ["title", "description", "deps", "role", "wave", "exec_mode", "context_from"];
        self.job.is_some() && of_team.iter().all(|field| self.column(field).is_none())
    }

    fn run_as_job(&self) -> String {
        let item = self.names.iter().map(|name| name.trim()).find(|name| !name.is_empty()).unwrap_or("column");
        format!(
            "if every row is an item of the same work, run in its folder: \
             team-executor csv tasks.csv --instruction 'Look into {{{item}}}'"
        )
    }

    /// Whether a column tells about a job, not about a task.
    pub(super) fn is_of_job(&self, column: usize) -> bool {
        self.job.is_some_and(|first| (first..first + JOB.len()).contains(&column))
    }
}

/// A name as it is compared.
pub(super) fn fold(name: &str) -> String {
    name.trim().to_lowercase()
}
