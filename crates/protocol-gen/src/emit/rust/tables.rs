//! Methods, hooks, errors, limits and the embedded documents.

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
    model::{Document, Hook, Method, Model, Type},
    prose,
    resolve::{ERROR_REASON, HOOK_POINT},
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

/// `src/hooks.rs`.
pub(super) fn hooks(model: &Model, roles: &Roles<'_>) -> String {
    let payloads = || model.hooks.iter().map(|hook| &hook.payload);
    let links = links_with(model, roles, payloads(), &[HOOK_POINT]);
    let mut out = header("the hooks of the definitions");
    out.push('\n');
    out.push_str(&module_doc(
        "The hook points, each a type that ties its point and its payload together.",
    ));
    out.push_str("\nuse std::{fmt, time::Duration};\n\n");
    out.push_str(&type_uses(
        model,
        payloads().chain(decision_enum(model).map(|def| &def.name.wire)),
        &["DecodeError", "RawJson", "ReplacementRules", "WireType"],
    ));
    let Some(def) = model.enums.get(HOOK_POINT) else {
        return out;
    };
    for text in types::enumeration(def, &links) {
        out.push('\n');
        out.push_str(&text);
    }
    for tokens in hook_tables(model, &links) {
        out.push('\n');
        out.push_str(&item(tokens));
    }
    for hook in &model.hooks {
        for tokens in hook_type(model, hook, &links) {
            out.push('\n');
            out.push_str(&item(tokens));
        }
    }
    out
}

fn hook_tables(model: &Model, links: prose::Links<'_>) -> Vec<TokenStream> {
    let timeouts = arms(model.hooks.iter().map(|hook| {
        let millis = model
            .timeouts
            .iter()
            .find(|timeout| timeout.name.wire == hook.timeout)
            .map_or(0, |timeout| timeout.millis);
        (hook.name.rust.as_str(), duration(millis))
    }));
    let slots = arms(model.hooks.iter().map(|hook| {
        let slot = hook
            .slot
            .as_ref()
            .and_then(|slot| model.slots.iter().find(|known| known.name.wire == *slot));
        let value = match slot {
            Some(slot) => {
                let name = format_ident!("{}", slot.name.rust);
                quote!(Some(Slot::#name))
            }
            None => quote!(None),
        };
        (hook.name.rust.as_str(), value)
    }));
    let decisions = decisions(model);
    let decision_type = match decision_enum(model) {
        Some(def) => {
            let name = format_ident!("{}", def.name.rust);
            quote!(#name)
        }
        None => quote!(&'static str),
    };
    let adopts = arms(
        model
            .hooks
            .iter()
            .map(|hook| (hook.name.rust.as_str(), strings(&hook.adopts))),
    );
    let payloads = arms(model.hooks.iter().map(|hook| {
        let payload = &hook.payload;
        (hook.name.rust.as_str(), quote!(#payload))
    }));
    let check_payload = arms(model.hooks.iter().map(|hook| {
        let name = format_ident!("{}", hook.name.rust);
        (
            hook.name.rust.as_str(),
            quote!(#name::decode_payload(payload).map(drop)),
        )
    }));
    let check_replacement = arms(model.hooks.iter().map(|hook| {
        let name = format_ident!("{}", hook.name.rust);
        (
            hook.name.rust.as_str(),
            quote!(#name::decode_replacement(replacement).map(drop)),
        )
    }));
    let mut out = vec![quote! {
        impl HookPoint {
            /// Wire name of the type of its payload.
            #[must_use]
            pub const fn payload_type(self) -> &'static str {
                match self { #payloads }
            }

            /// How long an extension may take to rule here, where its manifest says nothing.
            #[must_use]
            pub const fn default_timeout(self) -> Duration {
                match self { #timeouts }
            }

            /// The slot whose owner rules last here, if there is one.
            #[must_use]
            pub const fn slot(self) -> Option<Slot> {
                match self { #slots }
            }

            /// The decisions that are legal here.
            #[must_use]
            pub const fn decisions(self) -> &'static [#decision_type] {
                match self { #decisions }
            }

            /// Decodes a payload of this point, for one who has no use for the value.
            ///
            /// # Errors
            ///
            /// As [`Hook::decode_payload`].
            pub fn check_payload(self, payload: &RawJson) -> Result<(), DecodeError> {
                match self { #check_payload }
            }

            /// Decodes a replacement at this point, for one who has no use for the value.
            ///
            /// # Errors
            ///
            /// As [`Hook::decode_replacement`].
            pub fn check_replacement(self, replacement: &RawJson) -> Result<(), DecodeError> {
                match self { #check_replacement }
            }

            /// Wire names of the members of the payload that a replacement changes for the host;
            /// what it says in others only observers see.
            #[must_use]
            pub const fn adopts(self) -> &'static [&'static str] {
                match self { #adopts }
            }
        }
    }];
    if !model.slots.is_empty() {
        let variants = model.slots.iter().map(|slot| {
            let wire = match &slot.parameter {
                Some(parameter) => format!("Wire name `{}:<{parameter}>`.", slot.name.wire),
                None => format!("Wire name `{}`.", slot.name.wire),
            };
            let docs = documented(&slot.doc, links, &[wire]);
            let name = format_ident!("{}", slot.name.rust);
            quote!(#docs #name,)
        });
        let all = model.slots.iter().map(|slot| {
            let name = format_ident!("{}", slot.name.rust);
            quote!(Self::#name)
        });
        let names = arms(model.slots.iter().map(|slot| {
            let wire = &slot.name.wire;
            (slot.name.rust.as_str(), quote!(#wire))
        }));
        let parameters = arms(model.slots.iter().map(|slot| {
            let value = match &slot.parameter {
                Some(parameter) => quote!(Some(#parameter)),
                None => quote!(None),
            };
            (slot.name.rust.as_str(), value)
        }));
        out.push(quote! {
            /// A replacement slot, or a family of them that a parameter tells apart.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[non_exhaustive]
            pub enum Slot { #(#variants)* }
        });
        out.push(quote! {
            impl Slot {
                /// Every slot and family, by wire name.
                pub const ALL: &[Self] = &[#(#all),*];

                /// The name on the wire; of a family, what stands before the colon.
                #[must_use]
                pub const fn as_str(self) -> &'static str {
                    match self { #names }
                }

                /// What stands behind the colon, for a family.
                #[must_use]
                pub const fn parameter(self) -> Option<&'static str> {
                    match self { #parameters }
                }
            }
        });
    }
    out.push(quote! {
        /// A hook point: its name, its payload, and what a replacement of it must satisfy.
        ///
        /// Implemented by the types of this module, which have no values.
        pub trait Hook: Send + Sync + 'static {
            /// Which point it is.
            const POINT: HookPoint;
            /// What must hold at this point beyond the type of the payload.
            const RULES: ReplacementRules;
            /// What the point carries.
            type Payload: WireType;

            /// Decodes a payload of this point.
            ///
            /// # Errors
            ///
            /// When it is not what the point carries; the error names the place and what was expected.
            fn decode_payload(payload: &RawJson) -> Result<Self::Payload, DecodeError> {
                Self::RULES.check_payload(payload)?;
                payload.decode()
            }

            /// Decodes a replacement of the payload, to which more rules apply.
            ///
            /// # Errors
            ///
            /// When it cannot replace the payload; the error names the place and what was expected.
            fn decode_replacement(replacement: &RawJson) -> Result<Self::Payload, DecodeError> {
                let payload = Self::decode_payload(replacement)?;
                Self::RULES.check_replacement(replacement)?;
                Ok(payload)
            }
        }
    });
    out
}

fn decision_enum(model: &Model) -> Option<&crate::model::Enum> {
    let name = model.payloads.as_ref()?.decisions.as_ref()?;
    model.enums.get(name)
}

/// The arms that say which decisions are legal at a hook.
fn decisions(model: &Model) -> TokenStream {
    arms(model.hooks.iter().map(|hook| {
        let list = match decision_enum(model) {
            Some(def) => {
                let name = format_ident!("{}", def.name.rust);
                let values = def
                    .values
                    .iter()
                    .filter(|value| hook.decisions.contains(&value.name.wire))
                    .map(|value| format_ident!("{}", value.name.rust));
                quote!(&[#(#name::#values),*])
            }
            None => strings(&hook.decisions),
        };
        (hook.name.rust.as_str(), list)
    }))
}

fn hook_type(model: &Model, hook: &Hook, links: prose::Links<'_>) -> Vec<TokenStream> {
    let name = format_ident!("{}", hook.name.rust);
    let mut notes = vec![format!("Wire name `{}`.", hook.name.wire)];
    if !hook.fixed.is_empty() {
        let list: Vec<String> = hook
            .fixed
            .iter()
            .map(|(field, value)| format!("`{field}` is `{value}`"))
            .collect();
        notes.push(format!("Here {}.", list.join(" and ")));
    }
    let docs = documented(&hook.doc, links, &notes);
    let payload = model
        .types
        .get(&hook.payload)
        .map_or("", |ty: &Type| ty.name.rust.as_str());
    let payload = format_ident!("{}", payload);
    let fixed = hook
        .fixed
        .iter()
        .map(|(field, value)| quote!((#field, #value)));
    let required = strings(&hook.replacement.required);
    let non_empty = strings(&hook.replacement.non_empty);
    let any_of = strings(&hook.replacement.any_of);
    let object_text = strings(&hook.replacement.object_text);
    vec![
        quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[expect(clippy::exhaustive_enums, reason = "it has no values and never will")]
            pub enum #name {}
        },
        quote! {
            impl Hook for #name {
                const POINT: HookPoint = HookPoint::#name;
                const RULES: ReplacementRules = ReplacementRules {
                    fixed: &[#(#fixed),*],
                    required: #required,
                    non_empty: #non_empty,
                    any_of: #any_of,
                    object_text: #object_text,
                };
                type Payload = #payload;
            }
        },
    ]
}

/// `use crate::{types::{…}, A, B};` for types by wire name, and further names of the crate.
fn type_uses<'a>(model: &Model, wires: impl Iterator<Item = &'a String>, more: &[&str]) -> String {
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

/// A duration in the largest unit that says it whole.
fn duration(millis: u64) -> TokenStream {
    let (value, constructor) = match millis {
        millis if millis > 0 && millis.is_multiple_of(60_000) => (millis / 60_000, "from_mins"),
        millis if millis.is_multiple_of(1_000) => (millis / 1_000, "from_secs"),
        millis => (millis, "from_millis"),
    };
    let (value, constructor) = (number(i128::from(value)), format_ident!("{constructor}"));
    quote!(Duration::#constructor(#value))
}

/// Arms of a match over the values of an enum; values with one outcome share an arm.
fn arms<'a>(values: impl Iterator<Item = (&'a str, TokenStream)>) -> TokenStream {
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

fn strings(list: &[String]) -> TokenStream {
    quote!(&[#(#list),*])
}

fn links<'a>(roles: &'a Roles<'_>) -> impl Fn(&str) -> Option<String> + 'a {
    |code| roles.rustdoc_link(code, &BTreeSet::new())
}

/// Links in a file that imports the types of these wire names.
fn links_with<'a>(
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

fn module_doc(text: &str) -> String {
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
