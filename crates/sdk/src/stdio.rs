//! Standard input and output as the wire, and nothing else on it.

#[cfg(not(unix))]
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) type Input = Box<dyn AsyncRead + Unpin + Send>;
pub(crate) type Output = Box<dyn AsyncWrite + Unpin + Send>;

#[cfg(unix)]
pub(crate) use self::unix::take;

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn take(_name: &str) -> io::Result<(Guard, Input, Output)> {
    Ok((
        Guard,
        Box::new(tokio::io::stdin()),
        Box::new(tokio::io::stdout()),
    ))
}

/// Standard output is not guarded here: std has no way to move it.
#[cfg(not(unix))]
pub(crate) struct Guard;

#[cfg(unix)]
mod unix {
    use std::{
        fs::File,
        io::{self, BufRead as _, BufReader},
        os::fd::{AsFd, OwnedFd},
        sync::mpsc,
        thread,
        time::Duration,
    };

    use rustix::{
        fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat},
        pipe::{PipeFlags, pipe_with},
    };
    use tokio::net::{UnixStream, unix::pipe};

    use super::{Input, Output};

    /// Bytes of one stray line that are shown.
    const STRAY_LINE: u64 = 4_096;
    /// How long the end waits for strays to be shown: a child may hold the descriptor.
    const LAST_STRAYS: Duration = Duration::from_millis(100);

    /// Restores standard output and the flags of both streams when it is dropped.
    pub(crate) struct Guard {
        flags: Vec<(OwnedFd, OFlags)>,
        /// Disconnected when every stray is shown.
        strays: mpsc::Receiver<()>,
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            for (file, flags) in &self.flags {
                let _ = fcntl_setfl(file, *flags);
            }
            // The last strays, which a buffer may hold, still go to standard error.
            let _ = io::Write::flush(&mut io::stdout());
            if rustix::stdio::dup2_stdout(io::stderr().as_fd()).is_ok() {
                let _ = self.strays.recv_timeout(LAST_STRAYS);
            }
        }
    }

    /// Takes standard input and output for the wire. What else is printed goes to standard error.
    pub(crate) fn take(name: &str) -> io::Result<(Guard, Input, Output)> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let mut flags = Vec::new();
        for file in [&input, &output] {
            flags.push((file.try_clone()?, fcntl_getfl(file)?));
        }
        let (strays, stray_end) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::stdio::dup2_stdout(&stray_end)?;
        // A process that a handler starts, or a library, would read frames.
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        drop(stray_end);
        let name = name.to_owned();
        // Ends when the last holder of descriptor 1 is gone.
        let (shown, all_shown) = mpsc::channel();
        thread::Builder::new()
            .name("stray-output".to_owned())
            .spawn(move || {
                show_strays(&name, strays.into());
                drop(shown);
            })?;
        let guard = Guard {
            flags,
            strays: all_shown,
        };
        Ok((guard, readable(input)?, writable(output)?))
    }

    fn readable(file: OwnedFd) -> io::Result<Input> {
        Ok(match kind(&file)? {
            Kind::Pipe => Box::new(pipe::Receiver::from_owned_fd(file)?),
            Kind::Socket => Box::new(socket(file)?),
            Kind::Other => Box::new(tokio::fs::File::from_std(File::from(file))),
        })
    }

    fn writable(file: OwnedFd) -> io::Result<Output> {
        Ok(match kind(&file)? {
            Kind::Pipe => Box::new(pipe::Sender::from_owned_fd(file)?),
            Kind::Socket => Box::new(socket(file)?),
            Kind::Other => Box::new(tokio::fs::File::from_std(File::from(file))),
        })
    }

    /// How a descriptor is waited for.
    enum Kind {
        Pipe,
        Socket,
        /// Not at all, such as a file or a terminal: a thread reads and writes it.
        Other,
    }

    fn kind(file: &OwnedFd) -> io::Result<Kind> {
        Ok(match FileType::from_raw_mode(fstat(file)?.st_mode) {
            FileType::Fifo => Kind::Pipe,
            FileType::Socket => Kind::Socket,
            FileType::RegularFile
            | FileType::Directory
            | FileType::Symlink
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Other,
        })
    }

    fn socket(file: OwnedFd) -> io::Result<UnixStream> {
        let socket = std::os::unix::net::UnixStream::from(file);
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }

    /// Shows what was printed beside the wire, with a hint before the first line.
    fn show_strays(name: &str, strays: File) {
        let mut strays = BufReader::new(strays);
        let mut hinted = false;
        let mut line = Vec::new();
        loop {
            line.clear();
            match io::Read::take(&mut strays, STRAY_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if !std::mem::replace(&mut hinted, true) {
                eprintln!(
                    "{name}: something printed to standard output, which is the wire of the protocol; \
                     it is shown here instead\nhint: print to standard error (`eprintln!`)"
                );
            }
            eprintln!(
                "{name}: stdout: {}",
                String::from_utf8_lossy(&line).trim_end()
            );
        }
    }
}
