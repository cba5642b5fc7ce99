//! A command that reads prompts and writes releases, seen from outside.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::failure::{Done, Failure, io};

/// The command, cut into its arguments.
pub(super) struct ReleaseCommand(Vec<String>);

impl ReleaseCommand {
    pub(super) fn new(line: &str) -> Done<Self> {
        match shlex::split(line) {
            Some(words) if !words.is_empty() => Ok(Self(words)),
            _ => Err(Failure::usage(
                "the value of --command is empty, or a quote in it is not closed",
                "for example: --command 'cape perturb --input - --file-format txt --separate'",
            )),
        }
    }

    /// One run: `count` releases of each prompt, one of each in turn.
    pub(super) fn run(
        &self,
        prompts: [&str; 2],
        count: usize,
        patience: Duration,
        progress: &ProgressBar,
    ) -> Done<Vec<String>> {
        if prompts.iter().any(|prompt| prompt.contains('\n')) {
            return Err(Failure::usage(
                "a prompt has several lines, and the command reads one a line",
                "give prompts of one line",
            ));
        }
        let mut child = Command::new(&self.0[0])
            .args(&self.0[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| io("the command cannot be run".into(), &error))?;
        let releases = talk(&mut child, prompts.map(str::to_owned), count, patience, progress);
        // whatever it is doing still, nobody waits for it
        let status = if releases.is_ok() { ended(&mut child, patience) } else { None };
        if status.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let releases = releases?;
        match status {
            Some(status) if status.success() => Ok(releases),
            Some(_) => Err(Failure::new("the command failed", SEE)),
            None => Err(Failure::new("the command did not end after its last release", SEE)),
        }
    }
}

const SEE: &str =
    "run it yourself on some lines: it must write one release for each, and exit with 0";

/// The exit of a process, if it comes in time.
fn ended(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if begun.elapsed() < patience => thread::sleep(Duration::from_millis(5)),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
}

/// Writes the prompts and reads the releases at the same time: either end may wait for the other.
fn talk(
    child: &mut Child,
    prompts: [String; 2],
    count: usize,
    patience: Duration,
    progress: &ProgressBar,
) -> Done<Vec<String>> {
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        unreachable!("both are piped")
    };
    // the threads end with the pipes; nobody waits for them, since a grandchild may hold a pipe open
    thread::spawn(move || {
        let mut stdin = BufWriter::new(stdin);
        // a command that ends early shows by its releases
        let _ = (0..2 * count).try_for_each(|i| writeln!(stdin, "{}", prompts[i % 2]));
    });
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n') {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut releases = Vec::with_capacity(2 * count);
    loop {
        match receiver.recv_timeout(patience) {
            Ok(Ok(line)) if releases.len() < 2 * count => {
                let line = line.strip_suffix(b"\r").unwrap_or(&line);
                releases.push(String::from_utf8_lossy(line).into_owned());
                progress.inc(1);
            }
            Ok(Ok(_)) => {
                return Err(Failure::new(
                    "the command wrote more releases than it got prompts",
                    SEE,
                ));
            }
            Ok(Err(error)) => return Err(io("cannot read from the command".into(), &error)),
            Err(RecvTimeoutError::Timeout) => {
                return Err(Failure::new(
                    format!("the command wrote no release for {} seconds", patience.as_secs()),
                    "give it more time with --timeout, or draw less with -n",
                ));
            }
            Err(RecvTimeoutError::Disconnected) if releases.len() == 2 * count => {
                return Ok(releases);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let (got, asked) = (releases.len(), 2 * count);
                return Err(Failure::new(
                    format!("the command wrote {got} releases for {asked} prompts"),
                    SEE,
                ));
            }
        }
    }
}
