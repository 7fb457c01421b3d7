//! The signals that ask the program to end. While a run goes on, the run decides what they mean. Before and
//! after that they end the program, as they would without a listener: at a question that the user does not
//! answer, for instance.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::{Handle, Signals};

/// Whether no listener is left, so that a signal has its usual effect.
static UNHEARD: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// What a signal means to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// A person wants it to end, more urgently the second time.
    End,
    /// Its terminal is gone. Both the system and the terminal's program may report that; it is one wish.
    HangUp,
}

impl Signal {
    const fn from_number(signal: c_int) -> Self {
        if signal == SIGHUP { Self::HangUp } else { Self::End }
    }
}

/// Signals are caught until this is dropped.
#[derive(Debug)]
pub(crate) struct Listening(Handle);

impl Listening {
    /// Calls `tell` for each signal, until the listener is dropped. A signal that the parent process ignores, with
    /// `nohup` or in the background of a script, stays ignored.
    pub(crate) fn begin<E>(tell: impl Fn(Signal) -> Result<(), E> + Send + 'static) -> io::Result<Self> {
        let heard: Vec<c_int> = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).collect();
        let unheard = match UNHEARD.get() {
            Some(unheard) => unheard,
            None => {
                let unheard = Arc::new(AtomicBool::new(true));
                for signal in &heard {
                    register_conditional_default(*signal, Arc::clone(&unheard))?;
                }
                UNHEARD.get_or_init(|| unheard)
            }
        };
        let mut signals = Signals::new(&heard)?;
        let handle = signals.handle();
        unheard.store(false, Ordering::SeqCst);
        let listening = Self(handle);
        let listen = move || signals.forever().try_for_each(|signal| tell(Signal::from_number(signal)).map_err(drop));
        thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
        Ok(listening)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(unheard) = UNHEARD.get() {
            unheard.store(true, Ordering::SeqCst);
        }
        self.0.close();
    }
}

/// Whether a signal is ignored, as the program found it or left it.
fn is_ignored(signal: c_int) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
