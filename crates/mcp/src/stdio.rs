//! A client is served over standard input and output, one JSON message a line, until it closes its end. It may send what it
//! wants, as much as it wants: lines, answers that it does not fetch, and calls a second are bounded.

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{StdioReader, StdioWriter, Transport, stdio_pipes};
use rmcp::{ServerHandler, ServiceExt as _};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// The longest line that is read; a longer one is skipped without an answer. A result has at most half of it.
pub const LINE_BYTES: usize = 2 << 20;
/// How many messages are read at once before a client must be slow.
const BURST: u32 = 100;
/// How long a client waits between messages then.
const PACE: Duration = Duration::from_millis(20);
/// How many answers may wait to be fetched before nothing more is read.
const ANSWERS: usize = 32;

/// Serves one client until it has closed its end.
pub fn serve(handler: impl ServerHandler) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let (read, write) = stdio_pipes();
        match handler.serve(Bounded::new(read, write)).await {
            Ok(service) => service.waiting().await.map(drop).map_err(std::io::Error::other),
            // A client that leaves before it has said who it is has not been served, and that is its own affair.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(std::io::Error::other(error)),
        }
    });
    // A thread may still wait for input.
    runtime.shutdown_background();
    served
}

/// A transport that reads no faster than what it reads can be dealt with.
struct Bounded {
    lines: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    /// One permit for each answer that may wait.
    answers: Arc<Semaphore>,
    /// When the next message would be read if they had come at their pace; the past, if the client was slower.
    due: Instant,
}

impl Bounded {
    fn new(read: StdioReader, write: StdioWriter) -> Self {
        let lines = AsyncRwTransport::new_server(read, write).with_max_line_length(LINE_BYTES);
        Self { lines, answers: Arc::new(Semaphore::new(ANSWERS)), due: Instant::now() }
    }
}

impl Transport<RoleServer> for Bounded {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let waiting = Arc::clone(&self.answers).try_acquire_owned().ok();
        let sent = self.lines.send(item);
        async move {
            let result = sent.await;
            drop(waiting);
            result
        }
    }

    /// To be dropped while it waits loses nothing: what was read so far stays in `lines`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        drop(self.answers.acquire().await.ok()?);
        if let Some(free) = self.due.checked_sub(PACE * BURST) {
            sleep_until(free).await;
        }
        let message = self.lines.receive().await?;
        self.due = self.due.max(Instant::now()) + PACE;
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Transport::<RoleServer>::close(&mut self.lines).await
    }
}
