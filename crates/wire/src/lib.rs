//! The wire of the Reasonix Extension Protocol: JSON-RPC 2.0, one object a line, on any byte stream.
//!
//! A [`Connection`] runs over two streams and a [`Service`], which handles what the other side asks;
//! [`Router`] is a table of typed handlers. [`Peer`] is the other side: [`call`](Peer::call) asks it,
//! [`notify`](Peer::notify) tells it. Methods are types of
//! [`reasonix_extension_protocol::methods`], so wrong params do not compile, and whatever comes in is
//! decoded strictly.
//!
//! # Order
//!
//! Requests and notifications of one connection are handled in the order in which they stand on the wire:
//! a notification to its end, a request until its handler is running. Answers may come in any order.
//!
//! # Bounds
//!
//! No queue grows without end and nothing waits for ever. A frame has at most [`MAX_FRAME`] bytes. A peer
//! that sends faster than it is handled is not read until there is room; while a call waits for its
//! answer, more is read, because the answer may stand behind it. A peer that takes no byte for
//! [`WRITE_STALL`] loses the connection. Every call has a deadline.
//!
//! # Unsound frames
//!
//! What breaks JSON-RPC is answered, passed over, or ends the connection, as the table says that stands at
//! the top of `message.rs`. After [`MAX_UNSOUND`] of them the connection ends.

pub mod content;
mod error;
mod frame;
mod inbox;
mod linger;
mod message;
mod outbox;
mod peer;
mod service;

pub use self::{
    error::{CallError, CloseReason, PeerFault, PeerText, RpcError, SERVER_BUSY},
    frame::{FrameError, FrameReader, MAX_FRAME},
    message::{Incoming, RequestId, Unsound},
    outbox::MAX_BEST_EFFORT,
    peer::{Connection, MAX_HANDLERS, MAX_UNSOUND, OnUnsound, Options, Peer, WRITE_STALL, unwound},
    service::{BoxFuture, Context, Reply, Router, Service},
};
