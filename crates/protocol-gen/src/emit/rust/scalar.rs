//! Newtypes of scalars.

use quote::{format_ident, quote};

use super::print::{documented, item, number};
use crate::{
    model::{Integer, Scalar, ScalarKind},
    prose::{Links, span},
};

/// The newtype and its own methods; its traits stand with the codecs.
pub(super) fn items(def: &Scalar, links: Links<'_>) -> Vec<String> {
    let name = format_ident!("{}", def.name.rust);
    let docs = documented(&def.doc, links, &[note(def)]);
    match &def.kind {
        ScalarKind::String { .. } => {
            let constructor = match text_check(&def.kind) {
                Some((check, expected)) => {
                    let wire = &def.name.wire;
                    let error = format!(" When it is not {expected}.");
                    quote! {
                        /// Takes the text.
                        #[doc = ""]
                        /// # Errors
                        #[doc = ""]
                        #[doc = #error]
                        pub fn new(text: impl Into<String>) -> Result<Self, InvalidValue> {
                            let text = text.into();
                            if Self::is_valid(&text) {
                                Ok(Self(text))
                            } else {
                                let expected = #expected;
                                Err(InvalidValue::new(#wire, expected))
                            }
                        }

                        pub(crate) fn is_valid(text: &str) -> bool {
                            #check
                        }
                    }
                }
                None => quote! {
                    /// Takes the text.
                    #[must_use]
                    pub fn new(text: impl Into<String>) -> Self {
                        Self(text.into())
                    }
                },
            };
            vec![
                item(quote! {
                    #docs
                    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
                    pub struct #name(pub(crate) String);
                }),
                item(quote! {
                    impl #name {
                        #constructor

                        /// The text.
                        #[must_use]
                        pub fn as_str(&self) -> &str {
                            &self.0
                        }

                        /// The text.
                        #[must_use]
                        pub fn into_string(self) -> String {
                            self.0
                        }
                    }
                }),
            ]
        }
        ScalarKind::Integer(integer) => {
            let ty = format_ident!("{}", rust_integer(*integer));
            let (low, high) = (number(integer.lowest()), number(integer.highest()));
            let constructor = if is_whole(*integer) {
                quote! {
                    /// Takes the number.
                    #[must_use]
                    pub const fn new(number: #ty) -> Self {
                        Self(number)
                    }
                }
            } else {
                let wire = &def.name.wire;
                let expected = number_expectation(*integer);
                let error = format!(" When it is not {expected}.");
                quote! {
                    /// Takes the number.
                    #[doc = ""]
                    /// # Errors
                    #[doc = ""]
                    #[doc = #error]
                    pub fn new(number: #ty) -> Result<Self, InvalidValue> {
                        if (#low..=#high).contains(&number) {
                            Ok(Self(number))
                        } else {
                            let expected = #expected;
                            Err(InvalidValue::new(#wire, expected))
                        }
                    }
                }
            };
            vec![
                item(quote! {
                    #docs
                    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
                    pub struct #name(pub(crate) #ty);
                }),
                item(quote! {
                    impl #name {
                        #constructor

                        /// The number.
                        #[must_use]
                        pub const fn get(self) -> #ty {
                            self.0
                        }
                    }
                }),
            ]
        }
    }
}

/// Whether making one can fail.
pub(super) fn is_checked(kind: &ScalarKind) -> bool {
    match kind {
        ScalarKind::String { .. } => text_check(kind).is_some(),
        ScalarKind::Integer(integer) => !is_whole(*integer),
    }
}

/// What the text must be, in words; `None` where any will do.
pub(super) fn text_expectation(kind: &ScalarKind) -> Option<String> {
    match kind {
        ScalarKind::String {
            lower_hex: Some(digits),
            ..
        } => Some(format!("{digits} lower-case hexadecimal digits")),
        ScalarKind::String {
            non_blank: true, ..
        } => Some("a string that is not blank".to_owned()),
        ScalarKind::String { .. } | ScalarKind::Integer(_) => None,
    }
}

/// What Rust holds an integer in.
pub(super) fn rust_integer(integer: Integer) -> &'static str {
    if integer.unsigned_in_rust() {
        "u64"
    } else {
        "i64"
    }
}

fn text_check(kind: &ScalarKind) -> Option<(proc_macro2::TokenStream, String)> {
    let expected = text_expectation(kind)?;
    let check = if let ScalarKind::String {
        lower_hex: Some(digits),
        ..
    } = kind
    {
        let digits = number(i128::from(*digits));
        quote!(strict::is_lower_hex(text, #digits))
    } else {
        quote!(!strict::is_blank(text))
    };
    Some((check, expected))
}

fn number_expectation(integer: Integer) -> String {
    format!(
        "an integer from {} to {}",
        integer.lowest(),
        integer.highest()
    )
}

/// Whether every value of the Rust type is allowed.
fn is_whole(integer: Integer) -> bool {
    let (low, high) = if integer.unsigned_in_rust() {
        (0, i128::from(u64::MAX))
    } else {
        (i128::from(i64::MIN), i128::from(i64::MAX))
    };
    integer.lowest() == low && integer.highest() == high
}

fn note(def: &Scalar) -> String {
    let wire = wire_note(def);
    match &def.example {
        Some(example) => format!("{wire} Such as {}.", span(example)),
        None => wire,
    }
}

fn wire_note(def: &Scalar) -> String {
    match (&def.kind, text_expectation(&def.kind)) {
        (_, Some(expected)) => format!("On the wire: {expected}."),
        (ScalarKind::Integer(integer), None) => {
            format!("On the wire: {}.", number_expectation(*integer))
        }
        (ScalarKind::String { .. }, None) => "On the wire: a string.".to_owned(),
    }
}
