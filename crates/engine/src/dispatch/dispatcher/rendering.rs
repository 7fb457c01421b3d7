//! When what people read is rendered: soon after something has changed, and never for much of the time.

use std::time::Duration;

use super::Dispatcher;
use crate::dispatch::crew::Crew;
use crate::dispatch::desk::Desk;
use crate::options::Failure;

/// Views are rendered at most this often.
const EVERY: Duration = Duration::from_millis(250);
/// While much happens they are rendered for a hundredth of the time, if nothing that changed has to wait for longer than this.
const LATEST: Duration = Duration::from_secs(2);

/// When the views were rendered last, and whether they are up to date. Moments are as the executor's own clock counts.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    began: Duration,
    took: Duration,
    /// When something has changed that they do not show.
    changed: Option<Duration>,
}

impl Rendered {
    /// They were rendered, and something has changed since.
    pub(super) const fn new(began: Duration, took: Duration, now: Duration) -> Self {
        Self { began, took, changed: Some(now) }
    }

    /// Something has changed.
    pub(super) const fn outdate(&mut self, now: Duration) {
        self.changed = Some(now);
    }

    /// How long until they may be rendered again; nothing if they are up to date.
    pub(super) fn wait(&self, now: Duration) -> Option<Duration> {
        self.changed.map(|changed| wait(self.took, now.saturating_sub(self.began), now.saturating_sub(changed)))
    }
}

/// How long to wait with views that took so long when they were begun last, so long ago, and a change that was so long ago. As
/// long as something happens they take a tenth of the time at most. Where nothing more happens hardly anybody waits for
/// them, and they may take a quarter.
fn wait(took: Duration, ago: Duration, changed_ago: Duration) -> Duration {
    let busy = EVERY.max((took * 100).min(LATEST)).max(took * 10).saturating_sub(ago);
    let quiet = EVERY.max((took * 10).min(LATEST)).max(took * 4).saturating_sub(ago);
    busy.min(quiet.max(EVERY.saturating_sub(changed_ago)))
}

impl<C: Crew, D: Desk> Dispatcher<'_, C, D> {
    /// Renders how the run stands, when it is time. Nothing is shown that is not durable.
    pub(super) fn render_in_time(&mut self) -> Result<(), Failure> {
        if self.rendered.wait(self.desk.lived()) != Some(Duration::ZERO) {
            return Ok(());
        }
        self.commit()?;
        let began = self.desk.lived();
        let is_all = self.desk.render(self.conductor.rules());
        let now = self.desk.lived();
        self.rendered = Rendered { began, took: now.saturating_sub(began), changed: (!is_all).then_some(now) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// R: T-04
    #[test]
    fn views_are_never_old_and_never_cost_much() {
        let none = Duration::ZERO;
        assert_eq!(wait(ms(1), ms(900), none), none, "what happens after a while is shown at once");
        assert_eq!(wait(ms(1), none, none), ms(250));
        // As long as something happens all the time.
        assert_eq!(wait(ms(10), ms(800), none), ms(200));
        assert_eq!(wait(ms(50), ms(1_999), none), ms(1), "a big session");
        assert_eq!(wait(ms(50), ms(2_000), none), none);
        assert_eq!(wait(ms(1_000), ms(9_900), none), ms(100), "a slow disk");
        // As soon as nothing more happens.
        assert_eq!(wait(ms(50), ms(400), ms(100)), ms(150));
        assert_eq!(wait(ms(50), ms(400), ms(250)), ms(100));
        assert_eq!(wait(ms(50), ms(500), ms(250)), none);
        assert_eq!(wait(ms(1_000), ms(1_500), ms(300)), ms(2_500));
    }
}
