use proptest::prelude::*;

use super::*;

#[test]
fn credentials_go_and_the_rest_stays() {
    for (given, expected) in [
        ("", ""),
        ("sk-real-secret-value-123456", "****"),
        (
            "denied, token sk-real-secret-value-123456",
            "denied, token ****",
        ),
        ("api_key=sk-abcdef1234567890SECRETKEY", "api_key=****"),
        (
            "Authorization: Bearer abcdef0123456789abcdef",
            "Authorization: Bearer [redacted]",
        ),
        ("bearer abcdef0123456789abcdef", "Bearer [redacted]"),
        (
            "Authorization: Basic dXNlcjpwYXNzd29yZA==",
            "Authorization: Basic [redacted]",
        ),
        (
            "Proxy-Authorization: Digest username-hash-abcdef0123456789",
            "Proxy-Authorization: Digest [redacted]",
        ),
        (
            "Authorization: abcdef0123456789",
            "Authorization: [redacted]",
        ),
        ("eyJabc.def.ghi", "****"),
        (
            "https://user:pa@ss@proxy.example.com:8443/connect",
            "https://[redacted]@proxy.example.com:8443/connect",
        ),
        (
            "Set-Cookie: sid=abc123def456; Path=/; HttpOnly",
            "Set-Cookie: sid=[redacted]; Path=[redacted]; HttpOnly",
        ),
        (
            "provider rejected api key: relaykey_abcdefghijklmn",
            "provider rejected api key: ****",
        ),
        (
            "provider rejected token ****ae54",
            "provider rejected token ****",
        ),
        (
            "credential relayKeyAbcdefghijkl rejected",
            "credential **** rejected",
        ),
        ("password=hunter2", "password=[redacted]"),
        ("DB_PWD='hunter2-swordfish'", "DB_PWD='****'"),
        ("PWD=/home/user/project", "PWD=/home/user/project"),
        (
            r#"{"access_token":"sk-live-secret","x-api-key":"header-secret","password":"pw-secret"}"#,
            r#"{"access_token":"****","x-api-key":"****","password":"[redacted]"}"#,
        ),
        (
            "https://example.com/?access_token=abcdefghijklmnop&x=1",
            "https://example.com/?access_token=****&x=1",
        ),
        ("secret=\"two words here\"", "secret=\"****\""),
        (
            "secret: 'it\\'s one' and more",
            "secret: '[redacted]' and more",
        ),
        ("glpat-abcdefghijklmnopqrst", "****"),
        (
            "x -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- y",
            "x [redacted] y",
        ),
        ("-----BEGIN PRIVATE KEY-----\nabc", "[redacted]"),
        ("token=päßwörter-sind-geheim", "token=****"),
        (
            "postgres://admin:hunter2@db/x",
            "postgres://[redacted]@db/x",
        ),
    ] {
        assert_eq!(text(given), expected, "{given}");
    }
}

#[test]
fn markdown_words_and_identifiers_stay() {
    for given in [
        "Bold **text** and ***x***",
        "max_tokens=4096 used 120 tokens",
        "\"completion_tokens\": 12, \"total_tokens\":30",
        "550e8400-e29b-41d4-a716-446655440000",
        "TestGeneratedArtifactsAreDeterministic",
        "token-based-authentication is documented",
        "see docs/token-handling-guidelines.md",
        "the token authentication failed",
        "commit 22338e662c66a0cb0f6055263afc18e122640e71",
        "a: b, c = d",
        "https://example.com/a@b",
    ] {
        assert_eq!(text(given), given);
    }
}

#[test]
fn diagnostics_lose_what_is_only_shaped_like_a_key() {
    for (given, expected) in [
        ("550e8400-e29b-41d4-a716-446655440000", "****"),
        ("relay failed for Zm9vYmFyYmF6cXV4", "relay failed for ****"),
        (
            "all lowercase-with-dashes-long-token",
            "all lowercase-with-dashes-long-token",
        ),
        (
            "ALL_UPPERCASE_LONG_IDENTIFIER",
            "ALL_UPPERCASE_LONG_IDENTIFIER",
        ),
        ("exit status 7", "exit status 7"),
    ] {
        assert_eq!(diagnostics(given), expected);
    }
}

#[test]
fn control_characters_are_made_visible() {
    assert_eq!(
        visible("a\u{1b}]52;c;x\u{7}\u{9b}2J\r\nb\tc\u{7f}"),
        "a\\u{1b}]52;c;x\\u{7}\\u{9b}2J\\r\nb\tc\\u{7f}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_redacted_stays_as_it_is(
        given in r#"((api_key|token|secret|password|Authorization|Cookie|Set-Cookie|x|tokens|Bearer|https://|sk-|eyJ|\*\*\*\*|\[redacted\]|"|'|=|: | |;|&|@|/|\.|\\|ä|🦀|\n|[a-zA-Z0-9_-]{1,20})){0,12}"#,
    ) {
        let once = text(&given);
        prop_assert_eq!(text(&once), once.clone(), "{}", given);
        let once = diagnostics(&given);
        prop_assert_eq!(diagnostics(&once), once.clone(), "{}", given);
    }

    #[test]
    fn no_part_of_a_secret_comes_through(
        secret in "[a-z]{6}[A-Z]{4}[0-9]{4}[a-z]{6}",
        form in prop::sample::select(vec![
            "api_key={}", "token: {}", "\"secret\":\"{}\"", "password = '{} {}'", "sk-{}",
            "Authorization: Bearer {}", "Cookie: a={}; b={}", "https://u:{}@h/", "ghp_{}{}",
            "x?access_token={}&y=1", "MY_API-KEY:{}", "the token {} expired",
        ]),
    ) {
        let given = form.replace("{}", &secret);
        for shown in [text(&given), diagnostics(&given)] {
            for part in secret.as_bytes().windows(8) {
                let part = std::str::from_utf8(part).unwrap();
                prop_assert!(!shown.contains(part), "{} -> {}", given, shown);
            }
        }
    }
}
