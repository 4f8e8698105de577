//! Scalars, types, fields and type expressions.

use std::collections::{BTreeMap, HashMap};

use super::{Kind, Resolver, checks, doc, is_set, name::Namer};
use crate::{
    definition::{Bound, FieldDef, Given, TypeDef},
    diagnostic::Code,
    graph,
    model::{
        Document, Documents, Enum, Field, Integer, Module, Presence, Scalar, ScalarKind, Type,
        TypeRef, Width,
    },
    names,
    source::{At, Spanned},
};

/// How deep `list<…>` and `map<…>` may nest in a type expression: more is no shape that a person
/// reads.
const MAX_TYPE_DEPTH: usize = 8;

impl Resolver<'_> {
    pub(super) fn scalars(&mut self, modules: &[Module]) -> BTreeMap<String, Scalar> {
        let mut scalars = BTreeMap::new();
        for item in self.sorted("scalar", &self.definitions.scalars) {
            let def = &item.def;
            let name = self.type_name(&item.name, def.rust.as_ref());
            let module = self.module_of(item, modules);
            let kind = match def.ty.as_ref().map(|ty| ty.value.as_str()) {
                Some("string") | None => {
                    self.no_bounds("string", def.min.as_ref(), def.max.as_ref());
                    let lower_hex = def.lower_hex.as_ref().and_then(|digits| {
                        let count = u32::try_from(digits.value).ok().filter(|&count| count > 0);
                        if count.is_none() {
                            self.diagnostics.report(
                                Code::BadBound,
                                digits.at,
                                "`lower_hex` is a count of digits",
                                "write a number from 1",
                            );
                        }
                        count
                    });
                    ScalarKind::String {
                        non_blank: is_set(def.non_blank.as_ref()),
                        lower_hex,
                    }
                }
                Some(width @ ("i64" | "u64")) => {
                    for flag in [
                        def.non_blank.as_ref().map(|flag| flag.at),
                        def.lower_hex.as_ref().map(|digits| digits.at),
                    ]
                    .into_iter()
                    .flatten()
                    {
                        self.conflict(flag, "this key is for strings", "remove it");
                    }
                    ScalarKind::Integer(self.integer(width, def.min.as_ref(), def.max.as_ref()))
                }
                Some(_) => {
                    let ty = def.ty.as_ref().expect("matched as given");
                    self.diagnostics.report(
                        Code::BadType,
                        ty.at,
                        format!("a scalar cannot be of type `{}`", ty.value),
                        "write `string`, `i64` or `u64`",
                    );
                    ScalarKind::String {
                        non_blank: false,
                        lower_hex: None,
                    }
                }
            };
            scalars.insert(
                item.name.value.clone(),
                Scalar {
                    name,
                    module,
                    doc: doc(def.doc.as_ref()),
                    kind,
                    example: def.example.as_ref().map(|text| text.value.clone()),
                },
            );
        }
        scalars
    }

    pub(super) fn types(
        &mut self,
        modules: &[Module],
        enums: &BTreeMap<String, Enum>,
    ) -> BTreeMap<String, Type> {
        let mut types = BTreeMap::new();
        for item in self.sorted("type", &self.definitions.types) {
            let name = self.type_name(&item.name, item.def.rust.as_ref());
            let module = self.module_of(item, modules);
            let fields = self.fields(&item.def, enums);
            let rules = self.rules(&item.name.value, &item.def, &fields, enums);
            types.insert(
                item.name.value.clone(),
                Type {
                    name,
                    module,
                    doc: doc(item.def.doc.as_ref()),
                    fields,
                    rules,
                    unused: is_set(item.def.unused.as_ref()),
                },
            );
        }
        self.documents_stay_apart(modules, &types, enums);
        self.cycles(&mut types);
        types
    }

    fn fields(&mut self, def: &TypeDef, enums: &BTreeMap<String, Enum>) -> Vec<Field> {
        let mut namer = Namer::new("field");
        let mut fields = Vec::new();
        for (wire, field) in &def.fields {
            let name = namer.name(self, wire, field.rust.as_ref(), names::snake);
            let ty = self.field_type(field);
            let presence = self.presence(field, ty.as_ref());
            let externalizable = is_set(field.externalizable.as_ref());
            self.fits(field, ty.as_ref(), presence, enums);
            let documents = self.documents(field, def, ty.as_ref(), enums);
            fields.push(Field {
                name,
                doc: doc(field.doc.as_ref()),
                ty: ty.unwrap_or(TypeRef::Json),
                presence,
                non_blank: is_set(field.non_blank.as_ref()),
                externalizable,
                empty_is_absent: is_set(field.empty_is_absent.as_ref()),
                boxed: false,
                documents,
                example: field.example.as_ref().map(|text| text.value.clone()),
            });
        }
        fields
    }

    fn field_type(&mut self, field: &FieldDef) -> Option<TypeRef> {
        let expression = field.ty.as_ref()?;
        match expression.value.as_str() {
            width @ ("i64" | "u64") => Some(TypeRef::Integer(self.integer(
                width,
                field.min.as_ref(),
                field.max.as_ref(),
            ))),
            "number" => {
                let bound = |this: &mut Self, bound: &Given<Bound>| {
                    let bound = bound.as_ref()?;
                    let value = i64::try_from(bound.value.0).ok();
                    if value.is_none() {
                        this.bad_bound(bound.at, "a number's bound has 64 bits and a sign");
                    }
                    value
                };
                let (min, max) = (bound(self, &field.min), bound(self, &field.max));
                self.ordered(field.min.as_ref(), field.max.as_ref());
                Some(TypeRef::Number { min, max })
            }
            _ => {
                self.no_bounds(&expression.value, field.min.as_ref(), field.max.as_ref());
                self.expression(expression)
            }
        }
    }

    /// `string`, `Name`, `list<T>`, `map<T>` and so on.
    fn expression(&mut self, expression: &Spanned<String>) -> Option<TypeRef> {
        let mut wrappers = Vec::new();
        let mut rest = expression.value.as_str();
        let mut offset = 0;
        loop {
            let inner = rest
                .strip_prefix("list<")
                .map(|inner| (inner, false, "list<".len()))
                .or_else(|| {
                    rest.strip_prefix("map<")
                        .map(|inner| (inner, true, "map<".len()))
                });
            let Some((inner, is_map, skipped)) = inner else {
                break;
            };
            let Some(inner) = inner.strip_suffix('>') else {
                self.bad_type(expression, "an opening `<` has no closing `>` at the end");
                return None;
            };
            wrappers.push(is_map);
            rest = inner;
            offset += skipped;
            if wrappers.len() > MAX_TYPE_DEPTH {
                self.bad_type(expression, "lists and maps nest too deep");
                return None;
            }
        }
        let at = inside(expression, offset, rest.len());
        let name = Spanned {
            value: rest.to_owned(),
            at,
        };
        let mut ty = self.atom(&name)?;
        for is_map in wrappers.into_iter().rev() {
            ty = if is_map {
                TypeRef::Map(Box::new(ty))
            } else {
                TypeRef::List(Box::new(ty))
            };
        }
        Some(ty)
    }

    fn atom(&mut self, name: &Spanned<String>) -> Option<TypeRef> {
        Some(match name.value.as_str() {
            "string" => TypeRef::String,
            "bool" => TypeRef::Bool,
            "number" => TypeRef::Number {
                min: None,
                max: None,
            },
            "json" => TypeRef::Json,
            width @ ("i64" | "u64") => TypeRef::Integer(self.integer(width, None, None)),
            _ => match self.kind(&name.value) {
                Some(Kind::Scalar) => {
                    self.use_name("scalar", &name.value);
                    TypeRef::Scalar(name.value.clone())
                }
                Some(Kind::Enum) => {
                    self.use_name("enum", &name.value);
                    TypeRef::Enum(name.value.clone())
                }
                Some(Kind::Type) => {
                    self.use_name("type", &name.value);
                    TypeRef::Object(name.value.clone())
                }
                None => {
                    let is_name = name
                        .value
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b == b'_');
                    if is_name && !name.value.is_empty() {
                        let mut known: Vec<String> = self.kinds.keys().cloned().collect();
                        known.extend(
                            ["string", "bool", "i64", "u64", "number", "json"].map(str::to_owned),
                        );
                        known.sort();
                        self.unresolved("type", name, &known);
                    } else {
                        self.bad_type(name, "this is no name");
                    }
                    return None;
                }
            },
        })
    }

    fn bad_type(&mut self, expression: &Spanned<String>, why: &str) {
        self.diagnostics
            .report(
                Code::BadType,
                expression.at,
                format!("`{}` is no type expression", expression.value),
                "write `string`, `bool`, `i64`, `u64`, `number`, `json`, a defined name, `list<T>` \
                 or `map<T>`",
            )
            .label(why);
    }

    // Bounds.

    fn integer(
        &mut self,
        width: &str,
        min: Option<&Spanned<Bound>>,
        max: Option<&Spanned<Bound>>,
    ) -> Integer {
        let width = if width == "u64" {
            Width::U64
        } else {
            Width::I64
        };
        let whole = Integer {
            width,
            min: None,
            max: None,
        };
        for bound in [min, max].into_iter().flatten() {
            let value = bound.value.0;
            if value < whole.lowest() || value > whole.highest() {
                let name = match width {
                    Width::I64 => "i64",
                    Width::U64 => "u64",
                };
                self.bad_bound(
                    bound.at,
                    &format!("`{name}` holds {} to {}", whole.lowest(), whole.highest()),
                );
            }
        }
        self.ordered(min, max);
        Integer {
            width,
            min: min.map(|bound| bound.value.0),
            max: max.map(|bound| bound.value.0),
        }
    }

    fn ordered(&mut self, min: Option<&Spanned<Bound>>, max: Option<&Spanned<Bound>>) {
        if let (Some(min), Some(max)) = (min, max)
            && min.value.0 > max.value.0
        {
            self.bad_bound(max.at, "the highest value is below the lowest");
        }
    }

    fn no_bounds(&mut self, ty: &str, min: Option<&Spanned<Bound>>, max: Option<&Spanned<Bound>>) {
        for bound in [min, max].into_iter().flatten() {
            self.bad_bound(bound.at, &format!("`{ty}` has no bounds"));
        }
    }

    fn bad_bound(&mut self, at: At, why: &str) {
        self.diagnostics
            .report(
                Code::BadBound,
                at,
                "the type cannot hold this bound",
                "`min` and `max` are for `i64`, `u64` and `number`, within what these hold",
            )
            .label(why);
    }

    // Other keys.

    fn presence(&mut self, field: &FieldDef, ty: Option<&TypeRef>) -> Presence {
        let zero = is_set(field.absent_is_zero.as_ref());
        match (is_set(field.optional.as_ref()), zero) {
            (true, true) => {
                let at = field.absent_is_zero.as_ref().map(|flag| flag.at);
                if let Some(at) = at {
                    self.conflict(
                        at,
                        "`optional` and `absent_is_zero` exclude each other",
                        "keep `optional` where absence has a meaning of its own, `absent_is_zero` \
                         where it reads as the zero of the type",
                    );
                }
                Presence::Optional
            }
            (true, false) => Presence::Optional,
            (false, false) => Presence::Required,
            (false, true) => {
                if let (Some(ty), Some(flag)) = (ty, &field.absent_is_zero)
                    && (!checks::has_zero(ty) || is_set(field.non_blank.as_ref()))
                {
                    self.conflict(
                        flag.at,
                        "this type has no zero that its bounds allow",
                        "use `optional` instead",
                    );
                }
                Presence::ZeroIfAbsent
            }
        }
    }

    /// Keys that fit only some types.
    fn fits(
        &mut self,
        field: &FieldDef,
        ty: Option<&TypeRef>,
        presence: Presence,
        enums: &BTreeMap<String, Enum>,
    ) {
        let Some(ty) = ty else {
            return;
        };
        if let Some(flag) = field.externalizable.as_ref().filter(|flag| flag.value)
            && !matches!(ty, TypeRef::Json | TypeRef::String)
        {
            self.diagnostics.report(
                Code::BadExternalizable,
                flag.at,
                "a value of this type cannot be `null` in its place",
                "only `json` and `string` can be externalized: the value travels by reference and \
                 `null` stands in its place",
            );
        }
        if let Some(flag) = field.non_blank.as_ref().filter(|flag| flag.value)
            && (*ty != TypeRef::String || is_set(field.externalizable.as_ref()))
        {
            self.conflict(
                flag.at,
                "`non_blank` is for plain strings",
                "remove it, or use a scalar that is `non_blank`",
            );
        }
        let values = ty.enumeration().and_then(|name| enums.get(name));
        if let Some(flag) = field.empty_is_absent.as_ref().filter(|flag| flag.value)
            && (presence != Presence::Optional
                || values.is_none_or(|def| def.values.iter().any(|v| v.name.wire.is_empty())))
        {
            self.conflict(
                flag.at,
                "`empty_is_absent` is for optional enums without an empty value",
                "add `optional = true`, or remove it",
            );
        }
        if presence == Presence::Optional
            && let Some(def) = values
            && def.values.iter().any(|value| value.name.wire.is_empty())
            && let Some(at) = field.ty.as_ref().map(|ty| ty.at)
        {
            self.conflict(
                at,
                "an optional member cannot have an enum with an empty value",
                "peers leave out what is empty, so empty and absent cannot be told apart: remove \
                 the empty value and set `empty_is_absent = true`, or make the member required",
            );
        }
    }

    fn documents(
        &mut self,
        field: &FieldDef,
        def: &TypeDef,
        ty: Option<&TypeRef>,
        enums: &BTreeMap<String, Enum>,
    ) -> Option<Documents> {
        let documents = field.documents.as_ref()?;
        let by = documents.by.as_ref()?;
        if ty.is_some_and(|ty| *ty != TypeRef::Json) || is_set(field.externalizable.as_ref()) {
            self.conflict(
                by.at,
                "`documents` is for `json` that is not externalizable",
                "remove it, or make the field `json`",
            );
        }
        let sibling = def.fields.iter().find(|(name, _)| name.value == by.value);
        let values = sibling
            .filter(|(_, sibling)| !is_set(sibling.optional.as_ref()))
            .and_then(|(_, sibling)| sibling.ty.as_ref())
            .and_then(|ty| enums.get(&ty.value));
        let Some(values) = values else {
            self.conflict(
                by.at,
                &format!("`{}` is no required enum field of this type", by.value),
                "name the sibling field that decides which document it is",
            );
            return None;
        };
        let mut types = BTreeMap::new();
        for (value, name) in &documents.types {
            if !values
                .values
                .iter()
                .any(|known| known.name.wire == value.value)
            {
                let known: Vec<String> = values
                    .values
                    .iter()
                    .map(|known| known.name.wire.clone())
                    .collect();
                self.unresolved("value", value, &known);
            }
            self.object_name(name, "a document");
            types.insert(value.value.clone(), name.value.clone());
        }
        for value in &values.values {
            if !types.contains_key(&value.name.wire) {
                self.conflict(
                    by.at,
                    &format!("no document is given for `{}`", value.name.wire),
                    "give one for each value of the enum",
                );
            }
        }
        Some(Documents {
            by: by.value.clone(),
            types,
        })
    }

    pub(super) fn conflict(&mut self, at: At, message: &str, help: &str) {
        self.diagnostics.report(Code::Conflict, at, message, help);
    }

    /// The frozen contract says nothing about payloads, so it refers to none.
    fn documents_stay_apart(
        &mut self,
        modules: &[Module],
        types: &BTreeMap<String, Type>,
        enums: &BTreeMap<String, Enum>,
    ) {
        let documents: HashMap<&str, Document> = modules
            .iter()
            .map(|module| (module.name.as_str(), module.document))
            .collect();
        let scalars: HashMap<&str, Option<&str>> = self
            .definitions
            .scalars
            .iter()
            .map(|item| {
                let module = item.module.as_ref().map(|module| module.value.as_str());
                (item.name.value.as_str(), module)
            })
            .collect();
        for item in &self.definitions.types {
            let Some(ty) = types.get(&item.name.value) else {
                continue;
            };
            if documents.get(ty.module.as_str()) != Some(&Document::Contract) {
                continue;
            }
            for ((_, def), field) in item.def.fields.iter().zip(&ty.fields) {
                let module = match field.ty.innermost() {
                    TypeRef::Object(name) => types.get(name).map(|ty| ty.module.as_str()),
                    TypeRef::Enum(name) => enums.get(name).map(|def| def.module.as_str()),
                    TypeRef::Scalar(name) => scalars.get(name.as_str()).copied().flatten(),
                    TypeRef::String
                    | TypeRef::Bool
                    | TypeRef::Integer(_)
                    | TypeRef::Number { .. }
                    | TypeRef::Json
                    | TypeRef::List(_)
                    | TypeRef::Map(_) => None,
                };
                if let (Some(module), Some(ty)) = (module, &def.ty)
                    && documents.get(module) == Some(&Document::Payloads)
                {
                    let at = ty.at;
                    self.conflict(
                        at,
                        "the contract cannot refer to a definition of the payloads document",
                        "move the definition to a module of the contract",
                    );
                }
            }
        }
    }

    /// Boxes what refers to itself, and reports what could never end.
    #[expect(
        clippy::indexing_slicing,
        reason = "nodes are indices of types, and all lists have one entry a type"
    )]
    fn cycles(&mut self, types: &mut BTreeMap<String, Type>) {
        let index: HashMap<String, usize> = types
            .keys()
            .enumerate()
            .map(|(index, name)| (name.clone(), index))
            .collect();
        let edges = |required_only: bool| -> Vec<Vec<usize>> {
            types
                .values()
                .map(|ty| {
                    ty.fields
                        .iter()
                        .filter(|field| !required_only || field.presence == Presence::Required)
                        .filter_map(|field| index.get(field.ty.object()?).copied())
                        .collect()
                })
                .collect()
        };
        let required = edges(true);
        let endless = graph::on_cycle(&required);
        let required_component = graph::components(&required);
        let component = graph::components(&edges(false));
        let mut reported = Vec::new();
        for item in &self.definitions.types {
            let Some(&here) = index.get(&item.name.value) else {
                continue;
            };
            if !endless[here] {
                continue;
            }
            for (name, field) in &item.def.fields {
                let target = field
                    .ty
                    .as_ref()
                    .and_then(|ty| index.get(&ty.value))
                    .copied();
                let inside = target
                    .is_some_and(|target| required_component[target] == required_component[here]);
                if inside && !is_set(field.optional.as_ref()) {
                    reported.push((required_component[here], name.at, item.name.value.clone()));
                }
            }
        }
        reported.sort();
        for group in reported.chunk_by(|a, b| a.0 == b.0) {
            let [(_, first, name), rest @ ..] = group else {
                continue;
            };
            let diagnostic = self.diagnostics.report(
                Code::Infinite,
                *first,
                format!("no finite value can have the type `{name}`: it always contains itself"),
                "make one of the fields optional, a list or a map",
            );
            diagnostic.label("this member is required");
            for (_, at, _) in rest {
                diagnostic.also(*at, "and so is this one");
            }
        }
        for (here, ty) in types.values_mut().enumerate() {
            for field in &mut ty.fields {
                if let TypeRef::Object(name) = &field.ty
                    && let Some(&target) = index.get(name)
                {
                    field.boxed = component[target] == component[here];
                }
            }
        }
    }

    pub(super) fn in_contract(&mut self, name: &Spanned<String>, module: &str) {
        self.in_document(name, module, "contract", "a method speaks of the contract");
    }

    pub(super) fn in_payloads(&mut self, name: &Spanned<String>, module: &str) {
        self.in_document(
            name,
            module,
            "payloads",
            "a hook carries a document of the payloads",
        );
    }

    fn in_document(&mut self, name: &Spanned<String>, module: &str, document: &str, why: &str) {
        let found = self
            .definitions
            .modules
            .iter()
            .find(|item| item.name.value == module)
            .and_then(|item| item.def.document.as_ref());
        if found.is_some_and(|found| found.value != document) {
            self.conflict(
                name.at,
                &format!("{why}, and `{}` is in module `{module}`", name.value),
                &format!("move the type to a module with `document = \"{document}\"`"),
            );
        }
    }

    pub(super) fn unused(&mut self, definitions: &crate::definition::Definitions) {
        let lists: [(&'static str, Vec<&Spanned<String>>); 5] = [
            (
                "scalar",
                definitions.scalars.iter().map(|item| &item.name).collect(),
            ),
            (
                "enum",
                definitions.enums.iter().map(|item| &item.name).collect(),
            ),
            (
                "class",
                definitions.classes.iter().map(|item| &item.name).collect(),
            ),
            (
                "timeout",
                definitions.timeouts.iter().map(|item| &item.name).collect(),
            ),
            (
                "module",
                definitions.modules.iter().map(|item| &item.name).collect(),
            ),
        ];
        for (kind, list) in lists {
            for name in list {
                if !self.used.contains(&(kind, name.value.clone())) {
                    self.report_unused(kind, name);
                }
            }
        }
    }

    pub(super) fn report_unused(&mut self, kind: &str, name: &Spanned<String>) {
        self.diagnostics.report(
            Code::Unused,
            name.at,
            format!("nothing uses the {kind} `{}`", name.value),
            "use it or remove it",
        );
    }
}

/// The place of a part of a string, where the string is written without escapes.
fn inside(text: &Spanned<String>, offset: usize, length: usize) -> At {
    let at = text.at;
    let written = (at.end - at.start) as usize;
    if written != text.value.len() + 2 {
        return at;
    }
    let start = at.start + 1 + u32::try_from(offset).unwrap_or(0);
    At {
        file: at.file,
        start,
        end: start + u32::try_from(length).unwrap_or(0),
    }
}
