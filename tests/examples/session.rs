//! Decodes a recorded conversation between a host and a sidecar, one frame a line: `>` before what
//! the host wrote, `<` before what the sidecar wrote.
#![expect(clippy::print_stdout, reason = "it reports to a person")]

use std::{collections::BTreeMap, process::ExitCode};

use reasonix_extension_protocol::{
    DecodeError, HookPoint, RawJson, decode, methods::MethodName, payloads::ErrorData,
    types::InterceptResult,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A frame, as far as it matters here; what surrounds params and results is the wire's business.
#[derive(Deserialize)]
struct Frame<'a> {
    id: Option<i64>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<ErrorObject>,
}

#[derive(Deserialize)]
struct ErrorObject {
    data: Option<ErrorData>,
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: session FILE");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: read `{path}`: {error}");
            return ExitCode::from(5);
        }
    };
    // What each side has asked and the other has not answered yet.
    let mut asked: BTreeMap<(char, i64), (MethodName, Option<HookPoint>)> = BTreeMap::new();
    let (mut accepted, mut refused) = (0_u32, 0_u32);
    for (number, line) in text.lines().enumerate() {
        let mut chars = line.chars();
        let Some(side) = chars.next() else { continue };
        let frame: Frame<'_> = match serde_json::from_str(chars.as_str()) {
            Ok(frame) => frame,
            // The recording has misuse in it: frames that are none.
            Err(error) => {
                println!("{}: no frame: {error}", number + 1);
                refused += 1;
                continue;
            }
        };
        match outcome(side, &frame, &mut asked) {
            Ok(()) => accepted += 1,
            Err(error) => {
                println!("{}: {error}", number + 1);
                refused += 1;
            }
        }
    }
    println!("{accepted} frames accepted, {refused} refused");
    // The recording is mostly sound; that most of it is refused is our fault.
    if accepted > 5 * refused {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn outcome(
    side: char,
    frame: &Frame<'_>,
    asked: &mut BTreeMap<(char, i64), (MethodName, Option<HookPoint>)>,
) -> Result<(), DecodeError> {
    if let Some(method) = frame.method.as_deref().and_then(MethodName::from_wire) {
        let params = frame.params.map(|params| params.get().as_bytes());
        method.check_params(params)?;
        let point = hook_payload(params)?;
        if let Some(id) = frame.id {
            asked.insert((side, id), (method, point));
        }
        return Ok(());
    }
    let other = if side == '>' { '<' } else { '>' };
    let question = frame.id.and_then(|id| asked.remove(&(other, id)));
    if let (Some((method, point)), Some(result)) = (question, frame.result) {
        method.check_result(result.get().as_bytes())?;
        if let Some(point) = point
            && let Some(replacement) = decode::<InterceptResult>(result.get().as_bytes())?
                .replacement
                .and_then(reasonix_extension_protocol::Externalizable::into_inline)
        {
            point.check_replacement(&replacement)?;
        }
    }
    // An error's data was decoded with its frame.
    let _ = frame.error.as_ref().and_then(|error| error.data.as_ref());
    Ok(())
}

/// The hook point of an intercept or event, whose payload is held to it.
fn hook_payload(params: Option<&[u8]>) -> Result<Option<HookPoint>, DecodeError> {
    #[derive(Deserialize)]
    struct Hooked {
        event: Option<HookPoint>,
        payload: Option<RawJson>,
    }

    let Some(hooked) = params.and_then(|json| serde_json::from_slice::<Hooked>(json).ok()) else {
        return Ok(None);
    };
    if let (Some(point), Some(payload)) = (hooked.event, &hooked.payload) {
        point.check_payload(payload)?;
    }
    Ok(hooked.event)
}
