//! What the types of the protocol stand on: strict decoding and encoding, raw JSON, and errors that
//! say where and what. Knows no type of the protocol.

mod decode;
mod explain;
mod raw;
mod rules;
pub(crate) mod strict;

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

pub use self::{
    decode::{DecodeError, EncodeError, FaultKind, decode, decode_params, decode_str, encode},
    raw::{Externalizable, MAX_DEPTH, RawJson},
    rules::ReplacementRules,
    strict::InvalidValue,
};

/// An object type of the protocol.
pub trait WireType:
    Clone + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Its name in the contract.
    const WIRE_NAME: &'static str;
}

/// An object type that is the params of a method.
pub trait Params: WireType {
    /// Whether absent params, and `null`, read as an object without members: so for a type that
    /// requires none.
    const MAY_BE_ABSENT: bool;
}

// Tests are not copied.
#[cfg(test)]
mod tests;
