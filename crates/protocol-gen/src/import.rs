//! Canonical documents in, definitions out: files that generate the same bytes. Knows no folder.
//!
//! What the documents cannot say is filled by rules, which `schema/README.md` states, and every piece of
//! prose that is left to a person begins with [`MARKER`].

mod names;
mod shared;
mod toml;

use std::collections::BTreeSet;

use self::{
    names::{Names, is_type_name, is_wire_name},
    shared::Shared,
    toml::{Inline, Text, list, string},
};
use crate::{
    contract::{
        Contract, DocumentKind, Documents, Member, Object, Rule, Shape, ShapeFault, push_segment,
        sample::{self, Tree},
    },
    model::{Demand, Integer, Width},
};

/// What prose begins with that a person has to write.
pub const MARKER: &str = "TODO(import)";

/// Module of the types of the contract.
const TYPES: &str = "types";
/// Module of the types of the payloads.
const PAYLOADS: &str = "payload_types";
/// The payload of hooks of which nothing is known.
const UNKNOWN_PAYLOAD: &str = "UnknownPayload";
/// The timeout family of hooks of which nothing is known, and its length in milliseconds.
const UNKNOWN_TIMEOUT: (&str, u64) = ("unknown", 5_000);
/// The unit of limits of which nothing is known.
const UNKNOWN_UNIT: &str = "units";
/// The first line of every file, for editors.
const FIRST_LINE: &str = "#:schema ../definitions.generated.json\n";

/// Definitions that were made of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The files, by path below a root.
    pub files: Vec<(String, String)>,
    /// How many pieces of prose a person has to write.
    pub marked: usize,
}

/// Makes definitions of the documents of a contract. They generate the same documents.
///
/// # Errors
///
/// Every place at which a document is not of the shape, or says what definitions cannot.
pub fn import(documents: &Documents) -> Result<Imported, Vec<ShapeFault>> {
    let contract = Contract::read(documents)?;
    let mut faults = Vec::new();
    check_names(&contract, &mut faults);
    let mut names = Names::of(&contract);
    let shared = Shared::of(&contract, &mut names, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    let import = Import {
        contract: &contract,
        names,
        shared,
    };
    let folder = format!("schema/v{}", contract.major);
    let files: Vec<(String, String)> = [
        ("protocol.toml", import.protocol()),
        ("methods.toml", import.methods()),
        ("errors.toml", import.errors()),
        ("hooks.toml", import.hooks()),
        ("types.toml", import.types(TYPES)),
        ("payloads.toml", import.types(PAYLOADS)),
    ]
    .into_iter()
    .filter(|(_, text)| !text.is_empty())
    .map(|(name, text)| (format!("{folder}/{name}"), format!("{FIRST_LINE}{text}")))
    .collect();
    let marked = files
        .iter()
        .map(|(_, text)| text.matches(MARKER).count())
        .sum();
    Ok(Imported { files, marked })
}

/// What a name on the wire must be.
const WIRE: &str = "names are printable ASCII without space, `\"`, `\\`, `<`, `>` and `&`";
/// What the name of a type must be.
const TYPE: &str = "a type begins with an ASCII letter, has ASCII letters, digits and underscores, and is \
                    no word of type expressions and no built-in enum";

/// Names that definitions do not take, each at its place.
fn check_names(contract: &Contract, faults: &mut Vec<ShapeFault>) {
    let mut check = |document, path: &[&str], name: &str, sound: bool, rule: &str| {
        if !sound {
            let mut pointer = String::new();
            for segment in path {
                push_segment(&mut pointer, segment);
            }
            faults.push(ShapeFault {
                document,
                pointer,
                message: format!("definitions cannot have the name {name:?}: {rule}"),
            });
        }
    };
    let schema = DocumentKind::Schema;
    for (name, object) in &contract.types {
        let document = if object.in_contract {
            schema
        } else {
            DocumentKind::Payloads
        };
        check(document, &["$defs", name], name, is_type_name(name), TYPE);
        for (member, of) in &object.members {
            let path = ["$defs", name, "properties", member];
            check(document, &path, member, is_wire_name(member), WIRE);
            if let Shape::Enum(values) = of.shape.innermost() {
                for value in values {
                    let sound = value.is_empty() || is_wire_name(value);
                    check(document, &path, value, sound, WIRE);
                }
            }
        }
    }
    for (name, method) in &contract.methods {
        check(schema, &["methods", name], name, is_wire_name(name), WIRE);
        let path = ["methods", name, "class"];
        let class = &method.class;
        check(schema, &path, class, is_wire_name(class), WIRE);
    }
    for name in contract.errors.keys() {
        check(schema, &["errors"], name, is_wire_name(name), WIRE);
    }
    for name in contract.limits.keys() {
        check(schema, &["limits", name], name, is_wire_name(name), WIRE);
    }
    for name in &contract.events {
        check(schema, &["interceptEvents"], name, is_wire_name(name), WIRE);
    }
}

struct Import<'c> {
    contract: &'c Contract,
    names: Names,
    shared: Shared,
}

impl Import<'_> {
    fn protocol(&self) -> String {
        let contract = self.contract;
        let mut text = Text::default();
        text.table(&["protocol"]);
        text.key("id", &string(&contract.id));
        text.key("title", &string(&contract.title));
        text.key("major", &contract.major.to_string());
        text.todo("say what the protocol is.");
        text.table(&["package"]);
        text.key("name", &string(&package_name(&contract.id)));
        text.key("version", &string("0.1.0"));
        text.key("description", &string(&format!("{}.", contract.title)));
        text.key("directory", &string("generated"));
        text.key("index", &string("docs/PROTOCOL.generated.md"));
        let payloads = contract.payloads.as_ref();
        if payloads.is_some() || !contract.events.is_empty() {
            text.table(&["payloads"]);
            let made_up = (
                format!("{}.payloads", contract.id),
                format!("{} payloads", contract.title),
            );
            let (id, title) = payloads.map_or((&made_up.0, &made_up.1), |payloads| {
                (&payloads.id, &payloads.title)
            });
            text.key("id", &string(id));
            text.key("title", &string(title));
            if let Some(ty) = payloads.and_then(|payloads| payloads.error_data.as_ref()) {
                text.key("error_data", &string(ty));
            }
        }
        for ((module, document), order) in self.modules().into_iter().zip(1_usize..) {
            text.table(&["modules", module]);
            text.key("order", &order.to_string());
            text.key("document", &string(document));
            text.todo("say what these types are about.");
        }
        let classes: BTreeSet<&String> = contract
            .methods
            .values()
            .map(|method| &method.class)
            .collect();
        let mut taken = BTreeSet::new();
        for (class, order) in classes.into_iter().zip(1_usize..) {
            text.table(&["classes", class]);
            text.key("order", &order.to_string());
            text.rust(names::give(class, names::TYPE, &mut taken));
            text.todo("say what these methods do.");
        }
        let mut taken = BTreeSet::new();
        for (name, limit) in &contract.limits {
            text.table(&["limits", name]);
            text.key("value", &toml::integer(limit.value.into()));
            text.key(
                "unit",
                &string(limit.unit.as_deref().unwrap_or(UNKNOWN_UNIT)),
            );
            text.rust(names::give(name, names::CONSTANT, &mut taken));
            text.todo("say what is limited, in which unit, and what happens beyond.");
        }
        text.finish()
    }

    /// The modules that have types, and the documents that these stand in.
    fn modules(&self) -> Vec<(&'static str, &'static str)> {
        let mut modules = Vec::new();
        if self
            .contract
            .types
            .values()
            .any(|object| object.in_contract)
        {
            modules.push((TYPES, "contract"));
        }
        let payloads = self
            .contract
            .types
            .values()
            .any(|object| !object.in_contract);
        if payloads || self.has_unknown_payload() {
            modules.push((PAYLOADS, "payloads"));
        }
        modules
    }

    /// Hook points are named in the contract, and no document says what they carry.
    fn has_unknown_payload(&self) -> bool {
        !self.contract.events.is_empty() && self.contract.payloads.is_none()
    }

    fn methods(&self) -> String {
        let mut text = Text::default();
        let mut taken = BTreeSet::new();
        for (name, method) in &self.contract.methods {
            text.table(&["methods", name]);
            text.rust(names::give(name, names::TYPE, &mut taken));
            text.key("direction", &string(method.direction.as_str()));
            text.key("class", &string(&method.class));
            text.key("params", &string(&method.params));
            if let Some(result) = &method.result {
                text.key("result", &string(result));
            }
            text.todo("say what it does.");
            text.key("example", &string(&self.example(&method.params)));
            if let Some(result) = &method.result {
                text.key("result_example", &string(&self.example(result)));
            }
        }
        text.finish()
    }

    /// The least message of a type.
    fn example(&self, ty: &str) -> String {
        let mut tree = Tree::Object(Vec::new());
        sample::complete(self.contract, ty, &mut tree, &[]);
        tree.to_string()
    }

    fn errors(&self) -> String {
        let mut text = Text::default();
        let mut taken = BTreeSet::new();
        for (reason, error) in &self.contract.errors {
            text.table(&["errors", reason]);
            text.key("code", &error.code.to_string());
            text.key("retryable", &error.retryable.to_string());
            text.key("message", &string(&error.message));
            text.rust(names::give(reason, names::VALUE, &mut taken));
            text.todo("say when it is sent, and what the receiver does.");
        }
        text.finish()
    }

    fn hooks(&self) -> String {
        let contract = self.contract;
        let mut text = Text::default();
        let mut taken = BTreeSet::new();
        for (name, millis) in &contract.timeouts {
            text.table(&["timeouts", name]);
            text.key("millis", &millis.to_string());
            text.rust(names::give(name, names::TYPE, &mut taken));
            text.todo("say what it is for.");
        }
        let hooks = contract.payloads.as_ref().map(|payloads| &payloads.hooks);
        let terms_of = |name: &String| {
            hooks
                .and_then(|hooks| hooks.get(name))
                .and_then(|hook| hook.terms.as_ref())
        };
        if contract.events.iter().any(|name| terms_of(name).is_none()) {
            let (name, millis) = UNKNOWN_TIMEOUT;
            if !contract.timeouts.contains_key(name) {
                text.table(&["timeouts", name]);
                text.key("millis", &millis.to_string());
                text.todo("say how long the host waits.");
            }
        }
        let mut taken = BTreeSet::new();
        for (name, parameter) in &contract.slots {
            text.table(&["slots", name]);
            if let Some(parameter) = parameter {
                text.key("parameter", &string(parameter));
            }
            text.rust(names::give(name, names::TYPE, &mut taken));
            text.todo("say what its owner decides.");
        }
        let mut taken = BTreeSet::new();
        for name in &contract.events {
            let hook = hooks.and_then(|hooks| hooks.get(name));
            let terms = terms_of(name);
            text.table(&["hooks", name]);
            text.rust(names::give(name, names::VALUE, &mut taken));
            let payload = hook.map_or(self.names.unknown_payload.as_str(), |hook| &hook.payload);
            text.key("payload", &string(payload));
            let timeout = terms.map_or(UNKNOWN_TIMEOUT.0, |terms| &terms.timeout);
            text.key("timeout", &string(timeout));
            if let Some(slot) = terms.and_then(|terms| terms.slot.as_ref()) {
                text.key("slot", &string(slot));
            }
            let decisions = terms.map(|terms| &terms.decisions);
            text.key("decisions", &list(decisions.into_iter().flatten()));
            let adopts = terms.map(|terms| &terms.adopts);
            text.key("adopts", &list(adopts.into_iter().flatten()));
            if let Some(hook) = hook.filter(|hook| !hook.fixed.is_empty()) {
                let mut fixed = Inline::default();
                for (member, value) in &hook.fixed {
                    fixed.key(member, &string(value));
                }
                text.key("fixed", &fixed.finish());
            }
            text.todo("say when it fires, and what a ruling does.");
            let Some(replacement) = hook.map(|hook| &hook.replacement) else {
                continue;
            };
            let lists = [
                ("required", &replacement.required),
                ("non_empty", &replacement.non_empty),
                ("any_of", &replacement.any_of),
                ("object_text", &replacement.object_text),
            ];
            if lists.iter().any(|(_, names)| !names.is_empty()) {
                text.table_below(&["hooks", name, "replacement"]);
            }
            for (key, names) in lists {
                if !names.is_empty() {
                    text.key(key, &list(names));
                }
            }
        }
        text.finish()
    }

    fn types(&self, module: &str) -> String {
        let mut text = Text::default();
        self.shared.write(module, &mut text);
        let used = self.contract.used();
        for (name, object) in &self.contract.types {
            if (module == TYPES) == object.in_contract {
                self.ty(name, object, !used.contains(name.as_str()), &mut text);
            }
        }
        if module == PAYLOADS && self.has_unknown_payload() {
            text.table(&["types", &self.names.unknown_payload]);
            text.todo("say what hooks carry, with a type for each.");
        }
        let text = text.finish();
        if text.is_empty() {
            text
        } else {
            format!("module = {}\n{text}", string(module))
        }
    }

    fn ty(&self, name: &str, object: &Object, unused: bool, text: &mut Text) {
        text.table(&["types", name]);
        text.rust(self.names.rust(name));
        if unused {
            text.key("unused", "true");
        }
        text.todo("say what it says.");
        if !object.members.is_empty() {
            text.table_below(&["types", name, "fields"]);
        }
        let mut taken = BTreeSet::new();
        for (member, of) in &object.members {
            let rust = names::give(member, names::FIELD, &mut taken);
            text.key(&toml::key(member), &self.field(name, member, of, rust));
        }
        for rule in &object.rules {
            rule_of(name, rule, text);
        }
    }

    fn field(&self, ty: &str, name: &str, member: &Member, rust: Option<String>) -> String {
        let mut field = Inline::default();
        let shared = self.shared.of_member(ty, name);
        let expression = expression(&member.shape, shared);
        field.key("type", &string(&expression));
        if member.absent_is_zero {
            field.key("absent_is_zero", "true");
        } else if !member.required {
            field.key("optional", "true");
        }
        if shared.is_none() {
            match &member.shape {
                Shape::Text(text) if text.non_blank => field.key("non_blank", "true"),
                Shape::Integer(integer) => bounds(integer.min, integer.max, &mut field),
                Shape::Number { min, max } => {
                    bounds(min.map(Into::into), max.map(Into::into), &mut field);
                }
                Shape::Any
                | Shape::Bool
                | Shape::Text(_)
                | Shape::Enum(_)
                | Shape::Type(_)
                | Shape::List(_)
                | Shape::Map(_) => {}
            }
        }
        if member.externalizable {
            field.key("externalizable", "true");
        }
        if shared::empty_is_absent(member) {
            field.key("empty_is_absent", "true");
        }
        if let Some(documents) = &member.documents {
            let mut types = Inline::default();
            for (value, ty) in &documents.types {
                types.key(value, &string(ty));
            }
            let mut inline = Inline::default();
            inline.key("by", &string(&documents.by));
            inline.key("types", &types.finish());
            field.key("documents", &inline.finish());
        }
        if let Some(rust) = rust {
            field.key("rust", &string(&rust));
        }
        field.key("doc", &string(&format!("{MARKER}: say what it means.")));
        field.finish()
    }
}

/// The type expression of a shape, whose innermost value has this name where it is shared.
fn expression(shape: &Shape, shared: Option<&str>) -> String {
    match shape {
        Shape::List(inner) => format!("list<{}>", expression(inner, shared)),
        Shape::Map(inner) => format!("map<{}>", expression(inner, shared)),
        Shape::Type(name) => name.clone(),
        Shape::Any => "json".to_owned(),
        Shape::Bool => "bool".to_owned(),
        Shape::Number { .. } => "number".to_owned(),
        Shape::Enum(_) | Shape::Text(_) | Shape::Integer(_) => match (shared, shape) {
            (Some(name), _) => name.to_owned(),
            (None, Shape::Integer(integer)) => width(*integer).to_owned(),
            (None, _) => "string".to_owned(),
        },
    }
}

fn width(integer: Integer) -> &'static str {
    match integer.width {
        Width::I64 => "i64",
        Width::U64 => "u64",
    }
}

fn bounds(min: Option<i128>, max: Option<i128>, field: &mut Inline) {
    for (key, bound) in [("min", min), ("max", max)] {
        if let Some(bound) = bound {
            field.key(key, &toml::integer(bound));
        }
    }
}

fn rule_of(ty: &str, rule: &Rule, text: &mut Text) {
    text.item_below(&["types", ty, "rules"]);
    if let Some(condition) = &rule.condition {
        let mut inline = Inline::default();
        inline.key(&condition.field, &string(&condition.value));
        let key = if condition.equal { "when" } else { "unless" };
        text.key(key, &inline.finish());
    }
    let (key, names) = match &rule.demand {
        Demand::Requires(names) => ("requires", names),
        Demand::Forbids(names) => ("forbids", names),
        Demand::Object(names) => ("object", names),
    };
    text.key(key, &list(names));
    text.todo("say the rule in words.");
}

/// The name of the package that is generated, from the id of the protocol: its letters and digits, small,
/// in words.
fn package_name(id: &str) -> String {
    let words: Vec<String> = id
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let name = words.join("-");
    if name.starts_with(|c: char| c.is_ascii_lowercase()) {
        format!("{name}-protocol")
    } else {
        format!("protocol-{name}").trim_end_matches('-').to_owned()
    }
}

#[cfg(test)]
mod tests;
