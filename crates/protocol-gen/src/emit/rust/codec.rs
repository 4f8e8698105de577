//! How the types are read and written: one table a type, in a private file beside each module.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Roles, header, print::number, scalar, types};
use crate::{
    model::{
        Condition, Demand, Enum, EnumSource, Field, Integer, Model, Module, Presence, Rule,
        ScalarKind, Type, TypeRef, Width,
    },
    resolve::{ERROR_REASON, HOOK_POINT},
};

/// `src/codec.rs`: the files of codecs, and those of the enums of hooks and errors.
pub(super) fn index(model: &Model) -> String {
    let mut out = header("the definitions");
    out.push_str("\n//! How the types are read and written.\n\n");
    let mut modules: Vec<&str> = model
        .modules
        .iter()
        .map(|module| module.name.as_str())
        .collect();
    modules.sort_unstable();
    for module in modules {
        let _ = writeln!(out, "mod {module};");
    }
    let built_in: Vec<&Enum> = [ERROR_REASON, HOOK_POINT]
        .iter()
        .filter_map(|name| model.enums.get(*name))
        .collect();
    if !built_in.is_empty() {
        let names: Vec<&str> = built_in.iter().map(|def| def.name.rust.as_str()).collect();
        let names = match names.as_slice() {
            [one] => (*one).to_owned(),
            _ => names.join(", "),
        };
        let _ = writeln!(out, "\nuse crate::{{{names}, runtime::strict}};");
    }
    for def in built_in {
        out.push('\n');
        out.push_str(&values(def));
    }
    out
}

/// `src/codec/<module>.rs`.
pub(super) fn module_file(model: &Model, module: &Module, roles: &Roles<'_>) -> String {
    let mut out = header(&format!("module `{}` of the definitions", module.name));
    let _ = write!(
        out,
        "\n//! How the types of module `{}` are read and written: a member is there as the word \
         before\n//! the parentheses says, and its value is read and written as what stands in them \
         says.\n\n",
        module.name
    );
    let objects = types::reading_order(model, module, roles);
    let enums: Vec<&Enum> = model
        .enums
        .values()
        .filter(|def| def.source == EnumSource::Declared && def.module == module.name)
        .collect();
    let scalars: Vec<_> = model
        .scalars
        .values()
        .filter(|def| def.module == module.name)
        .collect();
    let mut names: Vec<String> = objects
        .iter()
        .map(|ty| ty.name.rust.clone())
        .chain(enums.iter().map(|def| def.name.rust.clone()))
        .chain(scalars.iter().map(|def| def.name.rust.clone()))
        .collect();
    // Conditions of rules name values of enums, which may stand in another module.
    let mut foreign: Vec<String> = Vec::new();
    for ty in &objects {
        for condition in ty.rules.iter().filter_map(|rule| rule.condition.as_ref()) {
            if let Some(def) = condition_enum(model, ty, condition)
                && def.module != module.name
            {
                let path = match def.source {
                    EnumSource::Hooks | EnumSource::Errors => def.name.rust.clone(),
                    EnumSource::Declared => format!("types::{}", def.name.rust),
                };
                foreign.push(path);
            }
        }
    }
    foreign.sort();
    foreign.dedup();
    names.sort();
    let folder = super::folder(module.document);
    let mut uses = foreign;
    uses.push("runtime::strict".to_owned());
    let path = format!("{folder}::{}", module.name);
    out.push_str(&super::print::nested_use(uses, &[(path.as_str(), names)]));
    for ty in objects {
        out.push('\n');
        out.push_str(&object(model, ty));
    }
    for def in enums {
        out.push('\n');
        out.push_str(&values(def));
    }
    for def in scalars {
        let name = &def.name.rust;
        out.push('\n');
        match (&def.kind, scalar::text_expectation(&def.kind)) {
            (ScalarKind::Integer(integer), _) => {
                let _ = writeln!(
                    out,
                    "strict::count! {{ {name}: {}, {} }}",
                    scalar::rust_integer(*integer),
                    integer_codec(*integer)
                );
            }
            (ScalarKind::String { .. }, Some(expected)) => {
                let _ = writeln!(out, "strict::text! {{ {name}: {expected:?} }}");
            }
            (ScalarKind::String { .. }, None) => {
                let _ = writeln!(out, "strict::text! {{ {name} }}");
            }
        }
    }
    out
}

fn object(model: &Model, ty: &Type) -> String {
    let mut out = format!(
        "strict::object! {{\n    {}, {} {{\n",
        ty.name.rust,
        literal(&ty.name.wire)
    );
    for (index, field) in ty.fields.iter().enumerate() {
        let _ = writeln!(
            out,
            "        {index}: {} => {}: {}({}),",
            literal(&field.name.wire),
            field.name.rust,
            presence(field),
            field_codec(field)
        );
    }
    out.push_str("    }\n");
    if let Some(params) = params(model, ty) {
        let _ = writeln!(out, "    params {params}");
    }
    if !ty.rules.is_empty() {
        out.push_str("    check |object: &");
        out.push_str(&ty.name.rust);
        out.push_str("| {\n");
        for rule in &ty.rules {
            let _ = writeln!(
                out,
                "        strict::rule({}, {})?;",
                holds(model, ty, rule),
                literal(&super::plain_summary(&rule.doc))
            );
        }
        out.push_str("        Ok(())\n    }\n");
    }
    out.push_str("}\n");
    out
}

/// For the params of a method: whether they may be absent.
fn params(model: &Model, ty: &Type) -> Option<bool> {
    model
        .methods
        .iter()
        .any(|method| method.params == ty.name.wire)
        .then(|| ty.required().next().is_none())
}

fn presence(field: &Field) -> &'static str {
    match field.presence {
        Presence::Required => "required",
        Presence::Optional if field.empty_is_absent => "optional_or_empty",
        Presence::Optional => "optional",
        Presence::ZeroIfAbsent => "zero_if_absent",
    }
}

fn field_codec(field: &Field) -> String {
    if field.empty_is_absent {
        return "strict::OrEmpty".to_owned();
    }
    if field.non_blank {
        return "strict::NonBlank".to_owned();
    }
    let codec = if field.externalizable {
        "strict::Plain".to_owned()
    } else {
        codec(&field.ty)
    };
    if field.boxed {
        format!("strict::Boxed({codec})")
    } else {
        codec
    }
}

fn codec(ty: &TypeRef) -> String {
    match ty {
        TypeRef::String
        | TypeRef::Bool
        | TypeRef::Json
        | TypeRef::Scalar(_)
        | TypeRef::Enum(_)
        | TypeRef::Object(_) => "strict::Plain".to_owned(),
        TypeRef::Integer(integer) => integer_codec(*integer),
        TypeRef::Number { min, max } => {
            let bound = |bound: &Option<i64>| match bound {
                Some(bound) => format!("Some({})", number(i128::from(*bound))),
                None => "None".to_owned(),
            };
            format!(
                "strict::Number {{ min: {}, max: {} }}",
                bound(min),
                bound(max)
            )
        }
        TypeRef::List(inner) => format!("strict::List({})", codec(inner)),
        TypeRef::Map(inner) => format!("strict::Map({})", codec(inner)),
    }
}

fn integer_codec(integer: Integer) -> String {
    let bound = |value: i128| match value {
        value if value == i128::from(i64::MAX) && integer.width == Width::I64 => {
            if integer.unsigned_in_rust() {
                "i64::MAX.unsigned_abs()".to_owned()
            } else {
                "i64::MAX".to_owned()
            }
        }
        value if value == i128::from(i64::MIN) => "i64::MIN".to_owned(),
        value if value == i128::from(u64::MAX) => "u64::MAX".to_owned(),
        value => number(value).to_string().replace(' ', ""),
    };
    format!(
        "strict::Integer {{ min: {}, max: {} }}",
        bound(integer.lowest()),
        bound(integer.highest())
    )
}

/// The expression that a rule comes to.
fn holds(model: &Model, ty: &Type, rule: &Rule) -> String {
    let member = |wire: &String| {
        let name = ty.field(wire).map_or("", |field| field.name.rust.as_str());
        format!("object.{name}")
    };
    let demand = match &rule.demand {
        Demand::Requires(names) => names
            .iter()
            .map(|name| format!("{}.is_some()", member(name)))
            .collect::<Vec<_>>(),
        Demand::Forbids(names) => names
            .iter()
            .map(|name| format!("{}.is_none()", member(name)))
            .collect(),
        Demand::Object(names) => names
            .iter()
            .map(|name| {
                let optional = ty
                    .field(name)
                    .is_some_and(|field| field.presence == Presence::Optional);
                if optional {
                    format!(
                        "{}.as_ref().is_none_or(crate::RawJson::is_object)",
                        member(name)
                    )
                } else {
                    format!("{}.is_object()", member(name))
                }
            })
            .collect(),
    };
    let demand = if demand.len() > 1 && rule.condition.is_some() {
        format!("({})", demand.join(" && "))
    } else {
        demand.join(" && ")
    };
    match &rule.condition {
        None => demand,
        Some(condition) => {
            let value = condition_enum(model, ty, condition)
                .and_then(|def| {
                    let value = def
                        .values
                        .iter()
                        .find(|value| value.name.wire == condition.value)?;
                    Some(format!("{}::{}", def.name.rust, value.name.rust))
                })
                .unwrap_or_default();
            let operator = if condition.equal { "!=" } else { "==" };
            format!(
                "{} {operator} {value} || {demand}",
                member(&condition.field)
            )
        }
    }
}

fn condition_enum<'m>(model: &'m Model, ty: &Type, condition: &Condition) -> Option<&'m Enum> {
    match ty.field(&condition.field).map(|field| &field.ty) {
        Some(TypeRef::Enum(name)) => model.enums.get(name),
        _ => None,
    }
}

fn values(def: &Enum) -> String {
    let mut wires: Vec<&str> = def
        .values
        .iter()
        .map(|value| value.name.wire.as_str())
        .collect();
    wires.sort_unstable();
    let mut out = format!("strict::values! {{\n    {} {{\n", def.name.rust);
    for wire in wires {
        let _ = writeln!(out, "        {},", literal(wire));
    }
    out.push_str("    }\n}\n");
    out
}

/// A Rust string literal.
fn literal(text: &str) -> String {
    proc_macro2::Literal::string(text).to_string()
}

/// The parts of the runtime that the codecs use, besides those that every crate has.
pub(super) fn parts(model: &Model) -> BTreeSet<&'static str> {
    let mut parts = BTreeSet::new();
    let fields = model.types.values().flat_map(|ty| &ty.fields);
    for field in fields {
        parts.insert(presence(field));
        if field.empty_is_absent {
            parts.insert("or_empty");
        } else if field.non_blank {
            parts.insert("non_blank");
        } else if field.externalizable {
            parts.insert("plain");
        } else {
            codec_parts(&field.ty, &mut parts);
        }
        if field.boxed {
            parts.insert("boxed");
        }
    }
    if !parts.is_empty() {
        parts.insert("codec");
    }
    if model.types.values().any(|ty| !ty.rules.is_empty()) {
        parts.insert("rules");
    }
    if !model.enums.is_empty() {
        parts.insert("values");
    }
    for scalar in model.scalars.values() {
        match &scalar.kind {
            ScalarKind::String { lower_hex, .. } => {
                parts.insert("text");
                if lower_hex.is_some() {
                    parts.insert("lower_hex");
                }
            }
            ScalarKind::Integer(_) => {
                parts.extend(["codec", "count", "integer"]);
            }
        }
    }
    parts
}

fn codec_parts(ty: &TypeRef, parts: &mut BTreeSet<&'static str>) {
    match ty {
        TypeRef::Integer(_) => {
            parts.insert("integer");
        }
        TypeRef::Number { .. } => {
            parts.insert("number");
        }
        TypeRef::List(inner) => {
            parts.insert("list");
            codec_parts(inner, parts);
        }
        TypeRef::Map(inner) => {
            parts.insert("map");
            codec_parts(inner, parts);
        }
        TypeRef::String
        | TypeRef::Bool
        | TypeRef::Json
        | TypeRef::Scalar(_)
        | TypeRef::Enum(_)
        | TypeRef::Object(_) => {
            parts.insert("plain");
        }
    }
}
