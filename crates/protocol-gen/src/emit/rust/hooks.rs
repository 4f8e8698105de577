//! Hook points, each a type, and the slots.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    Roles, header,
    print::{documented, item, number},
    tables::{arms, links_with, module_doc, strings, type_uses},
    types,
};
use crate::{
    model::{Enum, Hook, Model, Type},
    prose,
    resolve::HOOK_POINT,
};

/// `src/hooks.rs`.
pub(super) fn file(model: &Model, roles: &Roles<'_>) -> String {
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

fn decision_enum(model: &Model) -> Option<&Enum> {
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
