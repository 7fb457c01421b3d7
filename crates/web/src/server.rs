//! Connections: how many there may be, and how much and how slowly they may speak.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::sleep;

use crate::answer::sealed;
use crate::patient::{PATIENCE, Patient};
use crate::routes::{self, State};

/// How many connections there may be; one more is closed at once.
const CONNECTIONS: usize = 64;
/// The longest head of a request.
const HEAD_BYTES: usize = 16 << 10;
/// How long a client may take to send it.
const HEAD: Duration = Duration::from_secs(10);
/// How many threads read runs. One at a time is quick enough, and what it frees is there for the next: each thread would keep as much
/// as a large run needs.
const THREADS: usize = 1;
/// A page beside a run stays so long after the last request, and so often that is looked at.
const LINGERS: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(500);
/// How long is waited where the system has no room for one more connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until the process ends, or until a run has ended that started it and no tab is open any more.
pub(crate) fn serve(listeners: Vec<TcpListener>, state: State, ended: Option<oneshot::Receiver<()>>) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build()?;
    let served = runtime.block_on(async {
        let (state, room) = (Arc::new(state), Arc::new(Semaphore::new(CONNECTIONS)));
        let mut last = None;
        for listener in listeners {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            last = Some(tokio::spawn(accept(listener, Arc::clone(&state), Arc::clone(&room))));
        }
        match (last, ended) {
            (_, Some(ended)) => {
                ended.await.ok();
                while state.is_looked_at(LINGERS) {
                    sleep(LOOK).await;
                }
                Ok(())
            }
            (Some(task), None) => task.await.map_err(io::Error::other),
            (None, None) => Ok(()),
        }
    });
    // A thread may still follow a run.
    runtime.shutdown_background();
    served
}

async fn accept(listener: tokio::net::TcpListener, state: Arc<State>, room: Arc<Semaphore>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Ok(place) = Arc::clone(&room).try_acquire_owned() {
                    tokio::spawn(connection(stream, Arc::clone(&state), place));
                }
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn connection(stream: TcpStream, state: Arc<State>, place: OwnedSemaphorePermit) {
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(sealed(routes::answer(state, request).await)) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(Patient::new(stream, PATIENCE), service)
        .await;
    // A client that speaks no HTTP, or leaves in the middle, is answered or gone; that is its own affair.
    drop((served, place));
}
