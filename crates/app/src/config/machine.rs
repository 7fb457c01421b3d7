//! What all runs of the user on this machine share: `[machine]` of the user's own file.

use serde_json::json;
use team_executor_agents::Seats;
use team_executor_files::{Code, Finding};
use toml::de::DeTable;

use super::show::List;
use super::values::{Reader, get};
use super::{Origin, Set, Settings};
use crate::App;
use crate::error::Error;

pub(super) const KEYS: &[&str] = &["workers"];
/// Where the seats are in the folder for the state of this program.
const FOLDER: &str = "machine";

/// How many workers there may be on this machine at a time.
pub(super) fn read(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Option<Set<u32>> {
    let value = get(root, "machine")?;
    if matches!(reader.from(value.span()), Origin::Project(_)) {
        let help = "move it to your own file; `team-executor config` says where that is".to_owned();
        let message = "a project cannot limit the runs of other projects".to_owned();
        reader.wrong(message, value.span(), "only your own file can say this", help);
        return None;
    }
    let table = reader.table(root, "machine")?;
    reader.only(table, "machine", KEYS);
    reader.whole(table, "workers", 1)
}

/// Lists what is in force.
pub(super) fn show(list: &mut List, settings: &Settings) {
    if let Some(set) = &settings.machine_workers {
        list.add("machine.workers", json!(set.value), set.from.clone());
    }
}

/// The seats of this machine, if there is a limit.
pub(crate) fn seats(app: &App, settings: &Settings) -> Result<Option<Seats>, Error> {
    let Some(set) = &settings.machine_workers else { return Ok(None) };
    let Some(folder) = app.state_folder() else {
        let message =
            "[machine] workers needs a folder that all of your runs know, and neither XDG_STATE_HOME nor HOME is set";
        return Err(Finding::error(Code::Usage, message).help("set HOME, or remove [machine]").into());
    };
    let folder = folder.join(FOLDER);
    let shown = folder.display().to_string();
    Seats::open(&folder, set.value).map(Some).map_err(|error| {
        let message = format!("the limit of the machine cannot be kept: cannot open {shown}: {error}");
        Error::io(Finding::error(Code::Usage, message).help("make the folder usable, or remove [machine]"))
    })
}
