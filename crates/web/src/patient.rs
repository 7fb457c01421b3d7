//! A connection that gives up when its other end takes nothing for a while.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How long the other end of every connection may take nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Patient {
    stream: TokioIo<TcpStream>,
    patience: Duration,
    limit: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream: TokioIo::new(stream), patience, limit: Box::pin(sleep(patience)), is_waiting: false }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_waiting = false;
            return written;
        }
        if !std::mem::replace(&mut self.is_waiting, true) {
            let latest = Instant::now() + self.patience;
            self.limit.as_mut().reset(latest);
        }
        match self.limit.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Read for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, closed)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, written)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// What becomes of a connection to which much is written, while the other end does something.
    fn written(
        patience: Duration,
        mut other: impl FnMut(&mut std::net::TcpStream) + Send + 'static,
    ) -> io::Result<usize> {
        const MUCH: usize = 64 << 20;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (sender, done) = std::sync::mpsc::channel::<()>();
            let reader = std::thread::spawn(move || {
                let mut stream = std::net::TcpStream::connect(address).unwrap();
                while done.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                    other(&mut stream);
                }
            });
            let (stream, _) = listener.accept().await.unwrap();
            let (mut patient, block) = (Patient::new(stream, patience), vec![0; 64 << 10]);
            let mut all = 0;
            let result = loop {
                match poll_fn(|context| Pin::new(&mut patient).poll_write(context, &block)).await {
                    Ok(_) if all >= MUCH => break Ok(all),
                    Ok(count) => all += count,
                    Err(error) => break Err(error),
                }
            };
            drop((sender, patient));
            reader.join().unwrap();
            result
        })
    }

    #[test]
    fn reader_that_takes_nothing_is_given_up() {
        let result = written(Duration::from_millis(100), |_| std::thread::yield_now());
        assert_eq!(result.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }

    #[test]
    fn reader_that_takes_something_is_waited_for() {
        let mut buffer = vec![0; 256 << 10];
        let result = written(Duration::from_secs(60), move |stream| {
            std::io::Read::read(stream, &mut buffer).ok();
        });
        assert!(result.is_ok(), "{result:?}");
    }
}
