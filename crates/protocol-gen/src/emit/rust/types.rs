//! One Rust file a module: plain structs, enums and newtypes that read like written ones.
//!
//! Order in a file: for each method its params and result, each followed by the parts that it is
//! the first to use; then what is left; then enums; then newtypes. Only the members of a type and
//! the values of an enum keep their declared order.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    Roles, header,
    print::{self, documented, item},
    shape::Shapes,
};
use crate::{
    model::{
        Document, Enum, EnumSource, Field, Integer, Model, Module, Presence, Scalar, Type, TypeRef,
    },
    prose,
};

/// Emits the file of a module.
pub(super) fn module_file(
    model: &Model,
    module: &Module,
    shapes: &Shapes,
    roles: &Roles<'_>,
) -> String {
    let emitter = Emitter::new(model, module, shapes, roles);
    let mut out = header(&format!("module `{}` of the definitions", module.name));
    out.push('\n');
    out.push_str(&emitter.module_docs());
    out.push('\n');
    let uses = emitter.uses();
    if !uses.is_empty() {
        out.push_str(&uses);
        out.push('\n');
    }
    out.push_str(&emitter.items().join("\n"));
    out
}

/// The types of a module in reading order.
pub(super) fn reading_order<'m>(
    model: &'m Model,
    module: &Module,
    roles: &Roles<'_>,
) -> Vec<&'m Type> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    let mut roots: Vec<&str> = Vec::new();
    for method in &model.methods {
        roots.push(&method.params);
        roots.extend(method.result.as_deref());
    }
    roots.extend(model.hooks.iter().map(|hook| hook.payload.as_str()));
    let rest = model.types.keys().map(String::as_str);
    // A part that only other parts use comes after them, so those without a role come last.
    let (parts, tops): (Vec<&str>, Vec<&str>) =
        rest.partition(|name| roles.of(name).is_none() && roles.is_part(name));
    roots.extend(tops);
    roots.extend(parts);
    for root in roots {
        // Depth first, without recursion.
        let mut stack = vec![root];
        while let Some(name) = stack.pop() {
            let Some(ty) = model.types.get(name) else {
                continue;
            };
            if ty.module != module.name || !seen.insert(name) {
                continue;
            }
            order.push(ty);
            for field in ty.fields.iter().rev() {
                if let TypeRef::Object(name) = field.ty.innermost() {
                    stack.push(name);
                }
            }
        }
    }
    order
}

struct Emitter<'a> {
    model: &'a Model,
    module: &'a Module,
    shapes: &'a Shapes,
    roles: &'a Roles<'a>,
    types: Vec<&'a Type>,
    enums: Vec<&'a Enum>,
    scalars: Vec<&'a Scalar>,
    /// Rust names that stand in this file without a path.
    in_scope: BTreeSet<&'a str>,
}

impl<'a> Emitter<'a> {
    fn new(model: &'a Model, module: &'a Module, shapes: &'a Shapes, roles: &'a Roles<'a>) -> Self {
        let types = reading_order(model, module, roles);
        let enums: Vec<&Enum> = model
            .enums
            .values()
            .filter(|def| def.source == EnumSource::Declared && def.module == module.name)
            .collect();
        let scalars: Vec<&Scalar> = model
            .scalars
            .values()
            .filter(|def| def.module == module.name)
            .collect();
        let mut emitter = Self {
            model,
            module,
            shapes,
            roles,
            types,
            enums,
            scalars,
            in_scope: BTreeSet::new(),
        };
        emitter.in_scope = emitter.names_in_scope();
        emitter
    }

    fn names_in_scope(&self) -> BTreeSet<&'a str> {
        let own = self
            .types
            .iter()
            .map(|def| &def.name)
            .chain(self.enums.iter().map(|def| &def.name))
            .chain(self.scalars.iter().map(|def| &def.name))
            .map(|name| name.rust.as_str());
        let foreign = self
            .foreign()
            .into_values()
            .flatten()
            .collect::<BTreeSet<_>>();
        own.chain(foreign).collect()
    }

    /// Rust names of other files that the fields here need, by the path that they come from.
    fn foreign(&self) -> BTreeMap<&'static str, BTreeSet<&'a str>> {
        let mut out: BTreeMap<&'static str, BTreeSet<&str>> = BTreeMap::new();
        let model = self.model;
        for ty in &self.types {
            for field in &ty.fields {
                let (module, rust) = match field.ty.innermost() {
                    TypeRef::Object(name) => match model.types.get(name) {
                        Some(def) => (def.module.as_str(), def.name.rust.as_str()),
                        None => continue,
                    },
                    TypeRef::Scalar(name) => match model.scalars.get(name) {
                        Some(def) => (def.module.as_str(), def.name.rust.as_str()),
                        None => continue,
                    },
                    TypeRef::Enum(name) => match model.enums.get(name) {
                        Some(def) => match def.source {
                            EnumSource::Declared => (def.module.as_str(), def.name.rust.as_str()),
                            EnumSource::Hooks | EnumSource::Errors => {
                                out.entry("crate").or_default().insert(&def.name.rust);
                                continue;
                            }
                        },
                        None => continue,
                    },
                    TypeRef::String
                    | TypeRef::Bool
                    | TypeRef::Integer(_)
                    | TypeRef::Number { .. }
                    | TypeRef::Json
                    | TypeRef::List(_)
                    | TypeRef::Map(_) => continue,
                };
                if module == self.module.name {
                    continue;
                }
                let path = match model.module(module).map(|module| module.document) {
                    Some(document) if document == self.module.document => "super",
                    Some(Document::Payloads) => "crate::payloads",
                    Some(Document::Contract) | None => "crate::types",
                };
                out.entry(path).or_default().insert(rust);
            }
        }
        out
    }

    fn uses(&self) -> String {
        let fields = || self.types.iter().flat_map(|ty| &ty.fields);
        let mut std = Vec::new();
        if fields().any(|field| has(&field.ty, &|ty| matches!(ty, TypeRef::Map(_)))) {
            std.push(("std::collections".to_owned(), vec!["BTreeMap".to_owned()]));
        }
        if !self.enums.is_empty() {
            std.push(("std".to_owned(), vec!["fmt".to_owned()]));
        }
        std.sort();
        // One `use` a crate.
        if std.len() == 2 {
            std = vec![(
                "std".to_owned(),
                vec!["collections::BTreeMap".to_owned(), "fmt".to_owned()],
            )];
        }
        let mut krate: Vec<String> = Vec::new();
        if fields().any(|field| has(&field.ty, &|ty| *ty == TypeRef::Json)) {
            krate.push("RawJson".to_owned());
        }
        if fields().any(|field| field.externalizable) {
            krate.push("Externalizable".to_owned());
        }
        if fields().any(|field| field.documents.is_some()) {
            krate.push("DecodeError".to_owned());
        }
        if self
            .scalars
            .iter()
            .any(|def| super::scalar::is_checked(&def.kind))
        {
            krate.push("InvalidValue".to_owned());
        }
        if self
            .scalars
            .iter()
            .any(|def| super::scalar::text_expectation(&def.kind).is_some())
        {
            krate.push("runtime::strict".to_owned());
        }
        let mut foreign = self.foreign();
        krate.extend(
            foreign
                .remove("crate")
                .into_iter()
                .flatten()
                .map(str::to_owned),
        );
        let mut documents: BTreeSet<&str> = BTreeSet::new();
        for field in fields() {
            for name in field.documents.iter().flat_map(|of| of.types.values()) {
                if let Some(def) = self.model.types.get(name) {
                    documents.insert(&def.name.rust);
                }
            }
        }
        foreign
            .entry("crate::payloads")
            .or_default()
            .extend(documents);

        let mut groups = vec![std];
        let mut local: Vec<(String, Vec<String>)> = Vec::new();
        if let Some(names) = foreign.remove("super") {
            local.push((
                "super".to_owned(),
                names.into_iter().map(str::to_owned).collect(),
            ));
        }
        let nested: Vec<(&str, Vec<String>)> = foreign
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(path, names)| {
                (
                    path.trim_start_matches("crate::"),
                    names.into_iter().map(str::to_owned).collect(),
                )
            })
            .collect();
        groups.push(local);
        let mut out = print::uses(&groups);
        let own = print::nested_use(krate, &nested);
        if !own.is_empty() {
            let in_group = groups.last().is_some_and(|local| !local.is_empty());
            if !in_group && !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&own);
        }
        out
    }

    fn module_docs(&self) -> String {
        let links = |code: &str| self.roles.rustdoc_link(code, &self.in_scope);
        let mut lines = prose::lines(&self.module.doc, &links);
        let methods: Vec<_> = self
            .model
            .methods
            .iter()
            .filter(|method| {
                self.types.iter().any(|ty| {
                    ty.name.wire == method.params || Some(&ty.name.wire) == method.result.as_ref()
                })
            })
            .collect();
        if !methods.is_empty() {
            lines.push(String::new());
            lines.push("| method | direction | params | result |".to_owned());
            lines.push("| --- | --- | --- | --- |".to_owned());
            for method in methods {
                let link = |wire: &String| links(wire).unwrap_or_else(|| prose::span(wire));
                lines.push(format!(
                    "| [`{}`](crate::methods::{}) | {} | {} | {} |",
                    method.name.wire,
                    method.name.rust,
                    super::direction_words(method.direction),
                    link(&method.params),
                    method
                        .result
                        .as_ref()
                        .map_or_else(|| "none".to_owned(), link),
                ));
            }
        }
        print::module_doc(&lines)
    }

    fn items(&self) -> Vec<String> {
        let mut out = Vec::new();
        for ty in &self.types {
            out.extend(self.object(ty));
        }
        for def in &self.enums {
            out.extend(enumeration(def, &|code| {
                self.roles.rustdoc_link(code, &self.in_scope)
            }));
        }
        for def in &self.scalars {
            let links = |code: &str| self.roles.rustdoc_link(code, &self.in_scope);
            out.extend(super::scalar::items(def, &links));
        }
        out
    }

    fn object(&self, ty: &Type) -> Vec<String> {
        let links = |code: &str| self.roles.rustdoc_link(code, &self.in_scope);
        let name = format_ident!("{}", ty.name.rust);
        let mut more = vec![self.role_line(ty)];
        if !ty.rules.is_empty() {
            let mut list = String::from("Decoding and encoding hold it to these rules:\n");
            for rule in &ty.rules {
                list.push('\n');
                list.push_str("- ");
                list.push_str(&prose::lines(&rule.doc, &links).join("\n  "));
            }
            more.push(list);
        }
        let docs = documented(&ty.doc, &links, &more);
        let all_optional = ty.required().next().is_none();
        let default = all_optional.then(|| quote!(, Default));
        let fields = self
            .shapes
            .of(&ty.name.wire, &ty.fields)
            .map(|(field, shape)| {
                let docs = documented(&field.doc, &links, &field_notes(field));
                let ident = field_ident(field);
                quote!(#docs pub #ident: #shape,)
            });
        let mut out = vec![item(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq #default)]
            #[non_exhaustive]
            pub struct #name { #(#fields)* }
        })];
        if ty.takes_required_struct() {
            out.extend(self.required_struct(ty));
        }
        out.push(self.methods(ty));
        for (index, field) in ty.fields.iter().enumerate() {
            if field.documents.is_some() {
                out.push(self.document_enum(ty, index, field));
            }
        }
        out
    }

    /// `Wire type …, params of …`.
    fn role_line(&self, ty: &Type) -> String {
        let wire = prose::span(&ty.name.wire);
        match self.roles.of(&ty.name.wire) {
            Some(role) => format!("Wire type {wire}, {role}."),
            None => format!("Wire type {wire}."),
        }
    }

    fn methods(&self, ty: &Type) -> String {
        let name = format_ident!("{}", ty.name.rust);
        let mut methods = Vec::new();
        if !ty.takes_required_struct() {
            methods.push(self.constructor(ty));
        }
        for (index, field) in ty.fields.iter().enumerate() {
            if field.presence == Presence::Required {
                continue;
            }
            let ident = field_ident(field);
            let setter = format_ident!("with_{}", field.name.rust.trim_end_matches('_'));
            let value = self.shapes.value(&ty.name.wire, index, field);
            let (argument, converted) = argument(field, &value, &ident);
            let assigned = if field.presence == Presence::Optional {
                quote!(Some(#converted))
            } else {
                converted
            };
            let summary = format!(" Sets `{}`.", field.name.wire.replace('`', "'"));
            methods.push(quote! {
                #[doc = #summary]
                #[must_use]
                pub fn #setter(mut self, #ident: #argument) -> Self {
                    self.#ident = #assigned;
                    self
                }
            });
        }
        item(quote!(impl #name { #(#methods)* }))
    }

    fn constructor(&self, ty: &Type) -> TokenStream {
        let mut arguments = Vec::new();
        let mut values = Vec::new();
        for (index, field) in ty.fields.iter().enumerate() {
            let ident = field_ident(field);
            match field.presence {
                Presence::Required => {
                    let value = self.shapes.value(&ty.name.wire, index, field);
                    let (argument, converted) = argument(field, &value, &ident);
                    arguments.push(quote!(#ident: #argument));
                    values.push(if ident == converted.to_string().as_str() {
                        quote!(#ident)
                    } else {
                        quote!(#ident: #converted)
                    });
                }
                Presence::Optional => values.push(quote!(#ident: None)),
                Presence::ZeroIfAbsent => values.push(zero(field, &ident)),
            }
        }
        let summary = if arguments.is_empty() {
            if ty.fields.is_empty() {
                " Creates the value: it has no members."
            } else {
                " Creates the value without any of its members."
            }
        } else {
            " Creates the value from its required members."
        };
        let body = if arguments.is_empty() {
            quote!(Self::default())
        } else {
            quote!(Self { #(#values),* })
        };
        quote! {
            #[doc = #summary]
            #[must_use]
            pub fn new(#(#arguments),*) -> Self { #body }
        }
    }

    /// The struct of the required fields, and the way from it to the type.
    fn required_struct(&self, ty: &Type) -> Vec<String> {
        let links = |code: &str| self.roles.rustdoc_link(code, &self.in_scope);
        let name = format_ident!("{}", ty.name.rust);
        let required = format_ident!("{}", ty.required_struct());
        let docs = format!(
            " The required members of [`{name}`], to create one from: `{name}::from({required} {{ … }})`."
        );
        let why = " The set of required members is frozen, so this struct has no others, ever.";
        let fields = self
            .shapes
            .of(&ty.name.wire, &ty.fields)
            .filter(|(field, _)| field.presence == Presence::Required)
            .map(|(field, shape)| {
                let docs = documented(&field.doc, &links, &field_notes(field));
                let ident = field_ident(field);
                quote!(#docs pub #ident: #shape,)
            });
        let values = ty.fields.iter().map(|field| {
            let ident = field_ident(field);
            match field.presence {
                Presence::Required => quote!(#ident: required.#ident),
                Presence::Optional => quote!(#ident: None),
                Presence::ZeroIfAbsent => zero(field, &ident),
            }
        });
        vec![
            item(quote! {
                #[doc = #docs]
                #[doc = ""]
                #[doc = #why]
                #[derive(Clone, Debug, PartialEq)]
                pub struct #required { #(#fields)* }
            }),
            item(quote! {
                impl From<#required> for #name {
                    fn from(required: #required) -> Self {
                        Self { #(#values),* }
                    }
                }
            }),
        ]
    }

    /// The documents that an any-JSON field can hold, and the way to them.
    fn document_enum(&self, ty: &Type, _index: usize, field: &Field) -> String {
        let Some(of) = &field.documents else {
            return String::new();
        };
        let by = ty.field(&of.by);
        let values = match by.map(|by| &by.ty) {
            Some(TypeRef::Enum(name)) => self.model.enums.get(name),
            _ => None,
        };
        let (Some(by), Some(values)) = (by, values) else {
            return String::new();
        };
        let name = format_ident!("{}", ty.name.rust);
        let document = format_ident!("{}", ty.document_enum());
        let selector = format_ident!("{}", values.name.rust);
        let (by_ident, field_ident) = (field_ident(by), field_ident(field));
        let mut variants = Vec::new();
        let mut arms = Vec::new();
        for value in &values.values {
            let Some(target) = of
                .types
                .get(&value.name.wire)
                .and_then(|wire| self.model.types.get(wire))
            else {
                continue;
            };
            let variant = format_ident!("{}", value.name.rust);
            let target = format_ident!("{}", target.name.rust);
            let doc = if value.name.wire.is_empty() {
                " The document of the empty value.".to_owned()
            } else {
                format!(" The document of `{}`.", value.name.wire)
            };
            variants.push(quote!(#[doc = #doc] #variant(#target),));
            arms.push(quote! {
                #selector::#variant => #document::#variant(self.#field_ident.decode()?),
            });
        }
        let enum_doc = format!(" What [`{name}::{field_ident}`] holds, by [`{name}::{by_ident}`].");
        let method_doc = format!(
            " Decodes `{}` as the document that `{}` says it is.",
            field.name.wire, by.name.wire
        );
        let printed = [
            item(quote! {
                #[doc = #enum_doc]
                #[derive(Clone, Debug, PartialEq)]
                #[non_exhaustive]
                pub enum #document { #(#variants)* }
            }),
            item(quote! {
                impl #name {
                    #[doc = #method_doc]
                    #[doc = ""]
                    #[doc = " # Errors"]
                    #[doc = ""]
                    #[doc = " When it is not that document; the error names the place within it."]
                    pub fn document(&self) -> Result<#document, DecodeError> {
                        let document = match self.#by_ident { #(#arms)* };
                        Ok(document)
                    }
                }
            }),
        ];
        printed.join("\n")
    }
}

/// An enum: its type, its values and its wire spelling.
pub(super) fn enumeration(def: &Enum, links: prose::Links<'_>) -> Vec<String> {
    let name = format_ident!("{}", def.name.rust);
    let note = match def.source {
        EnumSource::Declared => {
            "An unknown value is refused when decoding; later releases of this major version may \
             add values."
        }
        EnumSource::Hooks | EnumSource::Errors => {
            "Later releases of this major version may add values."
        }
    };
    let docs = documented(&def.doc, links, &[note.to_owned()]);
    let variants = def.values.iter().map(|value| {
        let docs = documented(&value.doc, links, &[]);
        let variant = format_ident!("{}", value.name.rust);
        quote!(#docs #variant,)
    });
    let all = def.values.iter().map(|value| {
        let variant = format_ident!("{}", value.name.rust);
        quote!(Self::#variant)
    });
    let arms = def.values.iter().map(|value| {
        let variant = format_ident!("{}", value.name.rust);
        let wire = &value.name.wire;
        quote!(Self::#variant => #wire,)
    });
    let from_arms = def.values.iter().map(|value| {
        let variant = format_ident!("{}", value.name.rust);
        let wire = &value.name.wire;
        quote!(#wire => Some(Self::#variant),)
    });
    vec![
        item(quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[non_exhaustive]
            pub enum #name { #(#variants)* }
        }),
        item(quote! {
            impl #name {
                /// Every value.
                pub const ALL: &[Self] = &[#(#all),*];

                /// The value on the wire.
                #[must_use]
                pub const fn as_str(self) -> &'static str {
                    match self { #(#arms)* }
                }

                /// The value of that spelling on the wire, if there is one.
                #[must_use]
                pub fn from_wire(wire: &str) -> Option<Self> {
                    match wire { #(#from_arms)* _ => None, }
                }
            }
        }),
        item(quote! {
            impl fmt::Display for #name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.pad(self.as_str())
                }
            }
        }),
    ]
}

pub(super) fn field_ident(field: &Field) -> proc_macro2::Ident {
    format_ident!("{}", field.name.rust)
}

/// Bounds and conditions of a field as sentences, where the type does not say them.
fn field_notes(field: &Field) -> Vec<String> {
    let mut notes = Vec::new();
    match field.presence {
        Presence::Required => {}
        Presence::Optional => notes.push("May be absent.".to_owned()),
        Presence::ZeroIfAbsent => {
            notes.push("Reads as its zero where it is absent; always written.".to_owned());
        }
    }
    notes.extend(field.ty.integer().and_then(integer_note));
    match field.ty.number() {
        Some((Some(min), Some(max))) => notes.push(format!("From {min} to {max}.")),
        Some((Some(min), None)) => notes.push(format!("At least {min}.")),
        Some((None, Some(max))) => notes.push(format!("At most {max}.")),
        Some((None, None)) | None => {}
    }
    if field.non_blank {
        notes.push("Not blank.".to_owned());
    }
    if field.empty_is_absent {
        notes.push("An empty string reads as absent.".to_owned());
    }
    if field.externalizable {
        notes.push("May travel by reference: then it is `null` here.".to_owned());
    }
    if let Some(example) = &field.example {
        notes.push(format!("Such as {}.", prose::span(example)));
    }
    if notes.is_empty() {
        notes
    } else {
        vec![notes.join(" ")]
    }
}

/// The bounds of an integer in words, where its Rust type has wider ones.
pub(super) fn integer_note(integer: Integer) -> Option<String> {
    let low = (integer.lowest() > 0 || (!integer.unsigned_in_rust() && integer.min.is_some()))
        .then_some(integer.lowest());
    let high = integer.max.map(|_| integer.highest());
    match (low, high) {
        (Some(low), Some(high)) => Some(format!("From {low} to {high}.")),
        (Some(low), None) => Some(format!("At least {low}.")),
        (None, Some(high)) => Some(format!("At most {high}.")),
        (None, None) => None,
    }
}

/// The argument that sets a field, and the expression that makes the value of it.
fn argument(
    field: &Field,
    value: &TokenStream,
    ident: &proc_macro2::Ident,
) -> (TokenStream, TokenStream) {
    let into = field.externalizable || field.ty == TypeRef::String;
    if field.boxed {
        let TypeRef::Object(_) = &field.ty else {
            return (value.clone(), quote!(#ident));
        };
        return (quote!(impl Into<#value>), quote!(#ident.into()));
    }
    if into {
        (quote!(impl Into<#value>), quote!(#ident.into()))
    } else {
        (value.clone(), quote!(#ident))
    }
}

fn zero(field: &Field, ident: &proc_macro2::Ident) -> TokenStream {
    let value = match &field.ty {
        TypeRef::String => quote!(String::new()),
        TypeRef::Bool => quote!(false),
        TypeRef::Integer(_) => quote!(0),
        TypeRef::Number { .. } => quote!(0.0),
        TypeRef::List(_) => quote!(Vec::new()),
        TypeRef::Map(_) => quote!(BTreeMap::new()),
        TypeRef::Json | TypeRef::Scalar(_) | TypeRef::Enum(_) | TypeRef::Object(_) => {
            quote!(Default::default())
        }
    };
    quote!(#ident: #value)
}

/// Whether the type or a part of it fits.
fn has(ty: &TypeRef, fits: &dyn Fn(&TypeRef) -> bool) -> bool {
    if let TypeRef::List(inner) | TypeRef::Map(inner) = ty {
        fits(ty) || has(inner, fits)
    } else {
        fits(ty)
    }
}
