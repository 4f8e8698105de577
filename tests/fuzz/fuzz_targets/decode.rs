//! What decodes is encoded as something that decodes to the same; what does not is refused with a place.
#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use reasonix_extension_protocol::{
    HookPoint, RawJson, decode, encode,
    methods::MethodName,
    types::{
        ContentReadResult, InitializeParams, InitializeResult, InterceptParams, InterceptResult,
        StreamChunkParams, StreamOpenParams, UiPublishParams, UiRequestParams, UiRequestResult,
    },
};
use serde::{Serialize, de::DeserializeOwned};

fn there_and_back<T: DeserializeOwned + Serialize + PartialEq + Debug>(json: &[u8]) {
    match decode::<T>(json) {
        Ok(value) => {
            let again = encode(&value).expect("what decodes can be encoded");
            assert_eq!(decode::<T>(&again).as_ref(), Ok(&value));
        }
        Err(error) => {
            let place = error.pointer();
            assert!(place.is_empty() || place.starts_with('/'));
        }
    }
}

fuzz_target!(|input: &[u8]| {
    for method in MethodName::ALL {
        let _ = method.check_params(Some(input));
        let _ = method.check_result(input);
    }
    there_and_back::<ContentReadResult>(input);
    there_and_back::<InitializeParams>(input);
    there_and_back::<InitializeResult>(input);
    there_and_back::<InterceptParams>(input);
    there_and_back::<InterceptResult>(input);
    there_and_back::<StreamChunkParams>(input);
    there_and_back::<StreamOpenParams>(input);
    there_and_back::<UiPublishParams>(input);
    there_and_back::<UiRequestParams>(input);
    there_and_back::<UiRequestResult>(input);
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(raw) = RawJson::parse(text) {
        assert_eq!(RawJson::parse(raw.as_str()).as_ref(), Ok(&raw));
        let plain: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(raw.as_str()).unwrap(),
            plain
        );
        for point in HookPoint::ALL {
            let _ = point.check_payload(&raw);
        }
    }
});
