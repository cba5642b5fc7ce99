//! A wire to a database that can be cut.

#![allow(dead_code, clippy::unwrap_used, reason = "shared by tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The fault at the appointed packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// It is lost, and the connection with it.
    Before,
    /// It arrives, and the connection is lost before the answer.
    After,
    /// It is lost, and nobody says so.
    Silence,
}

/// A port that leads to the server until it is told otherwise.
pub(crate) struct Relay {
    pub(crate) port: u16,
    packets: Arc<AtomicI64>,
}

impl Relay {
    pub(crate) async fn to(server: String, fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let packets = Arc::new(AtomicI64::new(i64::MAX));
        let left = Arc::clone(&packets);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(carry(client, server, fault, Arc::clone(&left)));
            }
        });
        Self { port, packets }
    }

    /// Lets so many more packets to the server pass.
    pub(crate) fn fail_after(&self, packets: i64) {
        self.packets.store(packets, Ordering::SeqCst);
    }
}

async fn carry(mut client: TcpStream, mut server: TcpStream, fault: Fault, left: Arc<AtomicI64>) {
    let (mut question, mut answer) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut question) => {
                let Ok(length @ 1..) = read else { return };
                let over = left.fetch_sub(1, Ordering::SeqCst) <= 0;
                match fault {
                    Fault::Before if over => return,
                    Fault::Silence if over => std::future::pending().await,
                    _ => server.write_all(&question[..length]).await.unwrap(),
                }
                if over {
                    // it has arrived once the server answers
                    let _ = server.read(&mut answer).await;
                    return;
                }
            }
            read = server.read(&mut answer) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&answer[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}
