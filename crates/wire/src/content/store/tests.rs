use super::*;

/// A payload of so many bytes, whose first page ends within a character.
fn payload(bytes: u64) -> RawJson {
    let bytes = usize::try_from(bytes).unwrap();
    let mut text = "{\"x\":\"".to_owned();
    while text.len() + 2 + 3 < bytes {
        text.push('€');
    }
    while text.len() + 2 < bytes {
        text.push('x');
    }
    text.push_str("\"}");
    RawJson::parse(&text).unwrap()
}

fn page(
    store: &ContentStore,
    reference: &ContentRef,
    offset: u64,
) -> Result<ContentReadResult, RpcError> {
    store.read(&ContentReadParams::new(reference.clone(), offset))
}

#[test]
fn beyond_the_limit_a_payload_travels_by_reference() {
    let store = ContentStore::new();
    for (bytes, inline) in [
        (EXTERNALIZE_FIELD_BYTES, true),
        (EXTERNALIZE_FIELD_BYTES + 1, false),
        (CONTENT_REF_OBJECT_BYTES, false),
    ] {
        let outgoing = store.externalize(payload(bytes), "/payload").unwrap();
        assert_eq!(outgoing.externalized.is_none(), inline, "{bytes}");
        for field in outgoing.externalized.iter().flatten() {
            assert_eq!(
                (field.total_bytes, field.json_pointer.as_str()),
                (bytes, "/payload")
            );
        }
    }
    let error = store
        .externalize(payload(CONTENT_REF_OBJECT_BYTES + 1), "/payload")
        .unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::FrameTooLarge));
    assert_eq!(store.usage(), (0, 0));
}

#[test]
fn pages_join_to_the_value_wherever_they_are_cut() {
    let store = ContentStore::new();
    let value = payload(2 * CONTENT_REF_CHUNK_BYTES);
    let outgoing = store.externalize(value.clone(), "/payload").unwrap();
    let field = &outgoing.externalized.as_ref().unwrap()[0];
    for start in [0, 1, CONTENT_REF_CHUNK_BYTES - 1, CONTENT_REF_CHUNK_BYTES] {
        let mut bytes: Vec<u8> = Vec::new();
        let mut offset = start;
        loop {
            let page = page(&store, &field.content_ref, offset).unwrap();
            assert_eq!((page.offset, page.total_bytes), (offset, field.total_bytes));
            let data = BASE64_STANDARD.decode(&page.data_base64).unwrap();
            bytes.extend(&data);
            match page.next_offset {
                Some(next) => {
                    assert_eq!(data.len() as u64, CONTENT_REF_CHUNK_BYTES);
                    offset = next;
                }
                None => break,
            }
        }
        assert_eq!(
            bytes,
            value.as_str().as_bytes()[usize::try_from(start).unwrap()..]
        );
    }
    let end = page(&store, &field.content_ref, field.total_bytes).unwrap();
    assert_eq!((end.data_base64.as_str(), end.next_offset), ("", None));
    let error = page(&store, &field.content_ref, field.total_bytes + 1).unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::ContentRefExpired));
    let other = ContentRef::new("content_000000000000000000000000").unwrap();
    let error = page(&store, &other, 0).unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::ContentRefExpired));
}

#[test]
fn what_a_call_needs_stays_and_goes_with_the_call() {
    let store = ContentStore::new();
    let needed = store.externalize(payload(100_000), "/payload").unwrap();
    let reference = needed.externalized.as_ref().unwrap()[0].content_ref.clone();
    let mut events = Vec::new();
    for _ in 0..MAX_OBJECTS + 3 {
        let event = store.externalize(payload(70_000), "/payload").unwrap();
        events.push(event.externalized.unwrap()[0].content_ref.clone());
        event.pin.unwrap().release();
    }
    assert_eq!(store.usage().0, MAX_OBJECTS + 1);
    assert!(page(&store, &reference, 0).is_ok());
    // The oldest are gone.
    assert!(
        events[..3]
            .iter()
            .all(|event| page(&store, event, 0).is_err())
    );
    assert!(
        events[3..]
            .iter()
            .all(|event| page(&store, event, 0).is_ok())
    );
    drop(needed);
    assert!(page(&store, &reference, 0).is_err());
}

#[test]
fn bytes_are_bounded_as_well_as_values() {
    let store = ContentStore::new();
    for _ in 0..6 {
        let event = store
            .externalize(payload(CONTENT_REF_OBJECT_BYTES), "/payload")
            .unwrap();
        event.pin.unwrap().release();
    }
    assert_eq!(store.usage().1 as u64, MAX_BYTES);
}

#[test]
fn a_replacement_by_reference_names_a_value_of_this_host() {
    let store = ContentStore::new();
    let value = payload(100_000);
    let outgoing = store.externalize(value.clone(), "/payload").unwrap();
    let field = outgoing.externalized.as_ref().unwrap()[0].clone();
    let decision = reasonix_extension_protocol::types::Decision::Replace;
    let with = |change: &dyn Fn(&mut ExternalizedField)| {
        let mut field = field.clone();
        field.json_pointer = JsonPointer::new("/replacement").unwrap();
        change(&mut field);
        let mut result = InterceptResult::new(decision).with_replacement(Externalizable::Null);
        result.externalized = Some(vec![field]);
        result
    };
    assert_eq!(
        store.replacement(&with(&|_| {})).unwrap(),
        Some(value.clone())
    );
    let changes: [&dyn Fn(&mut ExternalizedField); 4] = [
        &|field| field.total_bytes += 1,
        &|field| field.sha256 = Sha256::new("0".repeat(64)).unwrap(),
        &|field| field.content_ref = ContentRef::new("content_1").unwrap(),
        &|field| field.json_pointer = JsonPointer::new("/payload").unwrap(),
    ];
    for change in changes {
        let error = store.replacement(&with(change)).unwrap_err();
        assert_eq!(error.reason(), Some(ErrorReason::ProtocolError));
    }
    let mut twice = with(&|_| {});
    twice.replacement = Some(Externalizable::Inline(value));
    assert!(store.replacement(&twice).is_err());
    let mut two = with(&|_| {});
    two.externalized.as_mut().unwrap().push(field);
    assert!(store.replacement(&two).is_err());
}
