//! Methods, errors, limits and the embedded documents.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    Roles, direction_words, header,
    print::{self, documented, item, number},
    types,
};
use crate::{
    emit::json_schema,
    model::{Document, Method, Model},
    prose,
    resolve::ERROR_REASON,
};

/// `src/limits.rs`.
pub(super) fn limits(model: &Model, roles: &Roles<'_>) -> String {
    let mut out = header("the limits of the definitions");
    out.push('\n');
    out.push_str(&module_doc(
        "The limits of the contract. They are part of it: they never change within a major version.",
    ));
    for limit in &model.limits {
        let name = format_ident!("{}", limit.name.rust);
        let value = number(i128::from(limit.value));
        let note = format!("Wire name `{}`, in {}.", limit.name.wire, limit.unit);
        let docs = documented(&limit.doc, &links(roles), &[note]);
        out.push('\n');
        out.push_str(&item(quote!(#docs pub const #name: u64 = #value;)));
    }
    out
}

/// `src/errors.rs`.
pub(super) fn errors(model: &Model, roles: &Roles<'_>) -> String {
    let mut out = header("the errors of the definitions");
    out.push('\n');
    out.push_str(&module_doc(
        "The frozen errors: each reason with its JSON-RPC code, its message, and whether the same \
         call may succeed later.",
    ));
    out.push_str("\nuse std::fmt;\n");
    let Some(def) = model.enums.get(ERROR_REASON) else {
        return out;
    };
    for text in types::enumeration(
        def,
        &links_with(model, roles, std::iter::empty(), &[ERROR_REASON]),
    ) {
        out.push('\n');
        out.push_str(&text);
    }
    let codes = arms(
        model
            .errors
            .iter()
            .map(|error| (error.name.rust.as_str(), number(i128::from(error.code)))),
    );
    let messages = model.errors.iter().map(|error| {
        let name = format_ident!("{}", error.name.rust);
        let message = &error.message;
        quote!(Self::#name => #message,)
    });
    let retryable = arms(model.errors.iter().map(|error| {
        let retryable = error.retryable;
        (error.name.rust.as_str(), quote!(#retryable))
    }));
    out.push('\n');
    out.push_str(&item(quote! {
        impl ErrorReason {
            /// The JSON-RPC error code that carries the reason.
            #[must_use]
            pub const fn code(self) -> i64 {
                match self { #codes }
            }

            /// The message that carries the reason, as the contract spells it.
            #[must_use]
            pub const fn message(self) -> &'static str {
                match self { #(#messages)* }
            }

            /// Whether the same call may succeed later.
            #[must_use]
            pub const fn is_retryable(self) -> bool {
                match self { #retryable }
            }
        }
    }));
    out
}

/// `src/schema.rs`.
pub(super) fn schema(model: &Model) -> String {
    let contract = json_schema::contract(model);
    let payloads = json_schema::payloads(model);
    let mut out = header("the identity of the definitions");
    out.push('\n');
    out.push_str(&module_doc(
        "The identity of the protocol and the bytes that define it.",
    ));
    let id = &model.protocol.id;
    let major = number(i128::from(model.protocol.major));
    let version = model.protocol.major.to_string();
    let file = json_schema::CONTRACT_FILE;
    let path = format!("../{file}");
    let hash = &contract.hash;
    let mut items = vec![
        quote! {
            /// The id of the protocol, which both peers say when they meet.
            pub const PROTOCOL_ID: &str = #id;
        },
        quote! {
            /// The major version of the protocol. Peers of different major versions do not talk.
            pub const PROTOCOL_MAJOR: u64 = #major;
        },
        quote! {
            /// The major version as the handshake spells it.
            pub const PROTOCOL_VERSION: &str = #version;
        },
        quote! {
            /// The frozen contract: one line of canonical JSON without a newline at the end.
            pub const SCHEMA_JSON: &str = include_str!(#path);
        },
        quote! {
            /// The SHA-256 of [`SCHEMA_JSON`], as `sha256:` and 64 hexadecimal digits.
            pub const SCHEMA_HASH: &str = #hash;
        },
    ];
    if let Some(payloads) = payloads {
        let path = format!("../{}", json_schema::PAYLOADS_FILE);
        let hash = &payloads.hash;
        items.push(quote! {
            /// The documents inside the any-JSON members of the contract, as canonical JSON Schema:
            /// a payload for each hook point, and what else stands where the contract says any JSON.
            pub const PAYLOADS_JSON: &str = include_str!(#path);
        });
        items.push(quote! {
            /// The SHA-256 of [`PAYLOADS_JSON`], as `sha256:` and 64 hexadecimal digits.
            pub const PAYLOADS_HASH: &str = #hash;
        });
    }
    for tokens in items {
        out.push('\n');
        out.push_str(&item(tokens));
    }
    out
}

/// `src/methods.rs`.
pub(super) fn methods(model: &Model, roles: &Roles<'_>) -> String {
    let types = || {
        model
            .methods
            .iter()
            .flat_map(|method| std::iter::once(&method.params).chain(&method.result))
    };
    let links = links_with(model, roles, types(), &[]);
    let mut out = header("the methods of the definitions");
    out.push('\n');
    let mut lines = prose::lines(
        &crate::model::Doc(
            "The methods of the protocol, each a type that ties its name, direction, class, params \
             and result together.\n\nA call is generic over the method type, so a wrong pairing \
             does not compile; `MethodName` finds a method by its name at run time."
                .to_owned(),
        ),
        &|code| (code == "MethodName").then(|| "[`MethodName`]".to_owned()),
    );
    for class in &model.classes {
        lines.push(String::new());
        lines.push(format!(
            "# {}",
            prose::literal(&sentence_case(&class.name.wire))
        ));
        lines.push(String::new());
        lines.extend(prose::lines(&class.doc, &links));
        lines.push(String::new());
        lines.push("| method | direction | params | result |".to_owned());
        lines.push("| --- | --- | --- | --- |".to_owned());
        for method in model
            .methods
            .iter()
            .filter(|method| method.class == class.name.wire)
        {
            let link = |wire: &str| links(wire).unwrap_or_else(|| prose::span(wire));
            lines.push(format!(
                "| [`{}`]({}) | {} | {} | {} |",
                method.name.wire,
                method.name.rust,
                direction_words(method.direction),
                link(&method.params),
                method
                    .result
                    .as_deref()
                    .map_or_else(|| "none".to_owned(), link),
            ));
        }
    }
    out.push_str(&print::module_doc(&lines));
    out.push_str("\nuse std::fmt;\n\n");
    let mut needed = vec!["DecodeError", "Params", "WireType", "decode_params"];
    if model.methods.iter().any(|method| method.result.is_none()) {
        needed.push("FaultKind");
    }
    if model.methods.iter().any(|method| method.result.is_some()) {
        needed.push("decode");
    }
    out.push_str(&type_uses(model, types(), &needed));

    for tokens in method_traits() {
        out.push('\n');
        out.push_str(&item(tokens));
    }
    out.push('\n');
    out.push_str(&item(method_class(model, &links)));
    out.push('\n');
    out.push_str(&item(spellings(
        "MethodClass",
        model
            .classes
            .iter()
            .map(|class| (&class.name.rust, &class.name.wire)),
    )));
    for tokens in method_name(model) {
        out.push('\n');
        out.push_str(&item(tokens));
    }
    for method in &model.methods {
        for tokens in method_type(model, method, &links) {
            out.push('\n');
            out.push_str(&item(tokens));
        }
    }
    out
}

fn method_traits() -> Vec<TokenStream> {
    vec![
        quote! {
            /// A method: its name and the types that belong to it.
            ///
            /// Implemented by the types of this module, which have no values.
            pub trait Method: Send + Sync + 'static {
                /// Which method it is.
                const NAME: MethodName;
                /// What the caller sends.
                type Params: Params;
            }
        },
        quote! {
            /// A method that is answered.
            pub trait Request: Method {
                /// What the callee answers.
                type Result: WireType;
            }
        },
        quote! {
            /// A method that is not answered.
            pub trait Notification: Method {}
        },
        quote! {
            /// A method that the host sends.
            pub trait HostToExtension: Method {}
        },
        quote! {
            /// A method that the extension sends.
            pub trait ExtensionToHost: Method {}
        },
        quote! {
            /// Who sends a method.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[expect(clippy::exhaustive_enums, reason = "a protocol has two sides")]
            pub enum Direction {
                /// The host sends it, the extension handles it.
                HostToExtension,
                /// The extension sends it, the host handles it.
                ExtensionToHost,
            }
        },
    ]
}

fn method_class(model: &Model, links: prose::Links<'_>) -> TokenStream {
    let variants = model.classes.iter().map(|class| {
        let docs = documented(&class.doc, links, &[]);
        let name = format_ident!("{}", class.name.rust);
        quote!(#docs #name,)
    });
    quote! {
        /// What a method is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum MethodClass { #(#variants)* }
    }
}

/// `as_str` of an enum that is not on the wire by itself.
fn spellings<'a>(
    name: &str,
    values: impl Iterator<Item = (&'a String, &'a String)>,
) -> TokenStream {
    let name = format_ident!("{name}");
    let arms = values.map(|(rust, wire)| {
        let rust = format_ident!("{rust}");
        quote!(Self::#rust => #wire,)
    });
    quote! {
        impl #name {
            /// The name in the contract.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { #(#arms)* }
            }
        }
    }
}

fn method_name(model: &Model) -> Vec<TokenStream> {
    let variants = model.methods.iter().map(|method| {
        let name = format_ident!("{}", method.name.rust);
        let doc = format!(" [`{}`]({}).", method.name.wire, method.name.rust);
        quote!(#[doc = #doc] #name,)
    });
    let all = model.methods.iter().map(|method| {
        let name = format_ident!("{}", method.name.rust);
        quote!(Self::#name)
    });
    let names = model.methods.iter().map(|method| {
        let (name, wire) = (format_ident!("{}", method.name.rust), &method.name.wire);
        quote!(Self::#name => #wire,)
    });
    let from = model.methods.iter().map(|method| {
        let (name, wire) = (format_ident!("{}", method.name.rust), &method.name.wire);
        quote!(#wire => Some(Self::#name),)
    });
    let notification = arms(model.methods.iter().map(|method| {
        let notification = method.direction.is_notification();
        (method.name.rust.as_str(), quote!(#notification))
    }));
    let directions = arms(model.methods.iter().map(|method| {
        let direction = if method.direction.from_host() {
            quote!(Direction::HostToExtension)
        } else {
            quote!(Direction::ExtensionToHost)
        };
        (method.name.rust.as_str(), direction)
    }));
    let classes = arms(model.methods.iter().map(|method| {
        let class = model
            .classes
            .iter()
            .find(|class| class.name.wire == method.class)
            .map_or("", |class| class.name.rust.as_str());
        let class = format_ident!("{}", class);
        (method.name.rust.as_str(), quote!(MethodClass::#class))
    }));
    let rust = |wire: &str| {
        let name = model.types.get(wire).map_or("", |ty| ty.name.rust.as_str());
        format_ident!("{}", name)
    };
    let check_params = arms(model.methods.iter().map(|method| {
        let params = rust(&method.params);
        let check = quote!(decode_params::<#params>(params).map(drop));
        (method.name.rust.as_str(), check)
    }));
    let check_result = arms(model.methods.iter().map(|method| {
        let check = match &method.result {
            Some(result) => {
                let result = rust(result);
                quote!(decode::<#result>(result).map(drop))
            }
            None => quote! {{
                let (pointer, kind) = (String::new(), FaultKind::WrongType);
                let length = result.len();
                let message = format!("a notification has no result of {length} bytes");
                Err(DecodeError::new(pointer, kind, message))
            }},
        };
        (method.name.rust.as_str(), check)
    }));
    vec![
        quote! {
            /// The name of a method, known at run time.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[non_exhaustive]
            pub enum MethodName { #(#variants)* }
        },
        quote! {
            impl MethodName {
                /// Every method, by wire name.
                pub const ALL: &[Self] = &[#(#all),*];

                /// The name on the wire.
                #[must_use]
                pub const fn as_str(self) -> &'static str {
                    match self { #(#names)* }
                }

                /// The method of that name on the wire, if the protocol has it.
                #[must_use]
                pub fn from_wire(wire: &str) -> Option<Self> {
                    match wire { #(#from)* _ => None, }
                }

                /// Who sends it.
                #[must_use]
                pub const fn direction(self) -> Direction {
                    match self { #directions }
                }

                /// Whether it is a notification, which is not answered.
                #[must_use]
                pub const fn is_notification(self) -> bool {
                    match self { #notification }
                }

                /// What it is about.
                #[must_use]
                pub const fn class(self) -> MethodClass {
                    match self { #classes }
                }

                /// Decodes params of it, for one who has no use for the value.
                ///
                /// # Errors
                ///
                /// As [`crate::decode_params`].
                pub fn check_params(self, params: Option<&[u8]>) -> Result<(), DecodeError> {
                    match self { #check_params }
                }

                /// Decodes a result of it, for one who has no use for the value. A notification has
                /// none, so any is refused.
                ///
                /// # Errors
                ///
                /// As [`crate::decode`].
                pub fn check_result(self, result: &[u8]) -> Result<(), DecodeError> {
                    match self { #check_result }
                }
            }
        },
        quote! {
            impl fmt::Display for MethodName {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.pad(self.as_str())
                }
            }
        },
    ]
}

fn method_type(model: &Model, method: &Method, links: prose::Links<'_>) -> Vec<TokenStream> {
    let name = format_ident!("{}", method.name.rust);
    let kind = direction_words(method.direction);
    let note = format!("Wire name `{}`: {kind}.", method.name.wire);
    let example = format!(
        "# Examples\n\n```\n{}\n```",
        super::package::example(model, method).join("\n")
    );
    let docs = documented(&method.doc, links, &[note, example]);
    let rust = |wire: &str| {
        let name = model.types.get(wire).map_or("", |ty| ty.name.rust.as_str());
        format_ident!("{}", name)
    };
    let params = rust(&method.params);
    let mut out = vec![
        quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[expect(clippy::exhaustive_enums, reason = "it has no values and never will")]
            pub enum #name {}
        },
        quote! {
            impl Method for #name {
                const NAME: MethodName = MethodName::#name;
                type Params = #params;
            }
        },
    ];
    out.push(match &method.result {
        Some(result) => {
            let result = rust(result);
            quote!(impl Request for #name { type Result = #result; })
        }
        None => quote!(impl Notification for #name {}),
    });
    out.push(if method.direction.from_host() {
        quote!(impl HostToExtension for #name {})
    } else {
        quote!(impl ExtensionToHost for #name {})
    });
    out
}

/// `use crate::{types::{…}, A, B};` for types by wire name, and further names of the crate.
pub(super) fn type_uses<'a>(
    model: &Model,
    wires: impl Iterator<Item = &'a String>,
    more: &[&str],
) -> String {
    let mut contract: BTreeSet<String> = BTreeSet::new();
    let mut payloads: BTreeSet<String> = BTreeSet::new();
    for wire in wires {
        let found = match (model.types.get(wire), model.enums.get(wire)) {
            (Some(ty), _) => Some((&ty.module, &ty.name.rust)),
            (None, Some(def)) => Some((&def.module, &def.name.rust)),
            (None, None) => None,
        };
        let Some((module, name)) = found else {
            continue;
        };
        match model.module(module).map(|module| module.document) {
            Some(Document::Payloads) => payloads.insert(name.clone()),
            Some(Document::Contract) | None => contract.insert(name.clone()),
        };
    }
    print::nested_use(
        more.iter().map(|name| (*name).to_owned()).collect(),
        &[
            ("payloads", payloads.into_iter().collect()),
            ("types", contract.into_iter().collect()),
        ],
    )
}

/// Arms of a match over the values of an enum; values with one outcome share an arm.
pub(super) fn arms<'a>(values: impl Iterator<Item = (&'a str, TokenStream)>) -> TokenStream {
    let mut groups: Vec<(String, TokenStream, Vec<TokenStream>)> = Vec::new();
    for (name, value) in values {
        let name = format_ident!("{}", name);
        let key = value.to_string();
        match groups.iter_mut().find(|(known, _, _)| *known == key) {
            Some((_, _, names)) => names.push(quote!(Self::#name)),
            None => groups.push((key, value, vec![quote!(Self::#name)])),
        }
    }
    let arms = groups
        .into_iter()
        .map(|(_, value, names)| quote!(#(#names)|* => #value,));
    quote!(#(#arms)*)
}

pub(super) fn strings(list: &[String]) -> TokenStream {
    quote!(&[#(#list),*])
}

fn links<'a>(roles: &'a Roles<'_>) -> impl Fn(&str) -> Option<String> + 'a {
    |code| roles.rustdoc_link(code, &BTreeSet::new())
}

/// Links in a file that imports the types of these wire names.
pub(super) fn links_with<'a>(
    model: &'a Model,
    roles: &'a Roles<'_>,
    wires: impl Iterator<Item = &'a String>,
    own: &[&'static str],
) -> impl Fn(&str) -> Option<String> + 'a {
    let mut in_scope: BTreeSet<&str> = wires
        .filter_map(|wire| model.types.get(wire))
        .map(|ty| ty.name.rust.as_str())
        .collect();
    in_scope.extend(own);
    move |code| roles.rustdoc_link(code, &in_scope)
}

pub(super) fn module_doc(text: &str) -> String {
    print::module_doc(&prose::lines(
        &crate::model::Doc(text.to_owned()),
        &prose::no_links,
    ))
}

fn sentence_case(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
