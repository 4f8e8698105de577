//! Rules, hooks, reachability and examples: what holds between definitions.

use std::collections::{BTreeMap, HashSet};

use super::{Resolver, doc};
use crate::{
    definition::{HookDef, Item, TypeDef},
    diagnostic::Code,
    example,
    model::{Condition, Demand, Enum, Field, Model, Presence, Rule, Type, TypeRef},
    source::{At, Spanned},
};

impl Resolver<'_> {
    pub(super) fn rules(
        &mut self,
        name: &str,
        def: &TypeDef,
        fields: &[Field],
        enums: &BTreeMap<String, Enum>,
    ) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (at, rule) in &def.rules {
            let mut conditions = rule
                .when
                .iter()
                .map(|pair| (pair, true))
                .chain(rule.unless.iter().map(|pair| (pair, false)));
            let condition = conditions.next().and_then(|((field, value), equal)| {
                self.enum_member(field, value, fields, enums)
                    .then(|| Condition {
                        field: field.value.clone(),
                        value: value.value.clone(),
                        equal,
                    })
            });
            if let Some(((field, _), _)) = conditions.next() {
                self.bad_rule(field.at, "a rule has at most one condition");
            }
            let optional = |field: &Field| field.presence == Presence::Optional;
            let json = |field: &Field| field.ty == TypeRef::Json && !field.externalizable;
            let demands: Vec<Demand> = [
                rule.requires.as_ref().map(|list| {
                    Demand::Requires(self.fields_of(fields, list, optional, "an optional member"))
                }),
                rule.forbids.as_ref().map(|list| {
                    Demand::Forbids(self.fields_of(fields, list, optional, "an optional member"))
                }),
                rule.object.as_ref().map(|list| {
                    Demand::Object(self.fields_of(fields, list, json, "an any-JSON member"))
                }),
            ]
            .into_iter()
            .flatten()
            .collect();
            if let [demand] = demands.as_slice() {
                rules.push(Rule {
                    condition,
                    demand: demand.clone(),
                    doc: doc(rule.doc.as_ref()),
                });
            } else {
                self.bad_rule(
                    *at,
                    &format!("this rule of `{name}` demands {} things", demands.len()),
                );
            }
        }
        rules
    }

    fn bad_rule(&mut self, at: At, message: &str) {
        self.diagnostics.report(
            Code::BadRule,
            at,
            message,
            "write at most one of `when` and `unless` with one enum member, and exactly one of \
             `requires`, `forbids` and `object`",
        );
    }

    /// Whether `field` is a required enum member and `value` one of its values.
    fn enum_member(
        &mut self,
        field: &Spanned<String>,
        value: &Spanned<String>,
        fields: &[Field],
        enums: &BTreeMap<String, Enum>,
    ) -> bool {
        let found = fields
            .iter()
            .find(|known| known.name.wire == field.value && known.presence == Presence::Required);
        let values = match found.map(|field| &field.ty) {
            Some(TypeRef::Enum(name)) => enums.get(name),
            _ => None,
        };
        let Some(values) = values else {
            self.bad_rule(
                field.at,
                &format!("`{}` is no required enum member of this type", field.value),
            );
            return false;
        };
        let known: Vec<String> = values
            .values
            .iter()
            .map(|value| value.name.wire.clone())
            .collect();
        if known.contains(&value.value) {
            return true;
        }
        self.unresolved("value", value, &known);
        false
    }

    fn fields_of(
        &mut self,
        fields: &[Field],
        list: &Spanned<Vec<Spanned<String>>>,
        fits: impl Fn(&Field) -> bool,
        what: &str,
    ) -> Vec<String> {
        for name in &list.value {
            let found = fields.iter().find(|field| field.name.wire == name.value);
            if !found.is_some_and(&fits) {
                self.diagnostics.report(
                    Code::BadRule,
                    name.at,
                    format!("`{}` is not {what} of this type", name.value),
                    format!("name {what}"),
                );
            }
        }
        super::sorted_names(Some(list))
    }

    /// Members of the payload of a hook.
    pub(super) fn members(
        &mut self,
        ty: Option<&Type>,
        list: Option<&Spanned<Vec<Spanned<String>>>>,
        fits: impl Fn(&Field) -> bool,
        what: &str,
    ) -> Vec<String> {
        if let (Some(ty), Some(list)) = (ty, list) {
            for name in &list.value {
                if !ty.field(&name.value).is_some_and(&fits) {
                    self.diagnostics.report(
                        Code::BadHook,
                        name.at,
                        format!("`{}` is not {what} of `{}`", name.value, ty.name.wire),
                        format!("name {what} of the payload"),
                    );
                }
            }
        }
        super::sorted_names(list)
    }

    pub(super) fn fixed(
        &mut self,
        item: &Item<HookDef>,
        ty: Option<&Type>,
        enums: &BTreeMap<String, Enum>,
    ) -> BTreeMap<String, String> {
        let mut fixed = BTreeMap::new();
        for (field, value) in &item.def.fixed {
            if let Some(ty) = ty {
                self.enum_member(field, value, &ty.fields, enums);
            }
            fixed.insert(field.value.clone(), value.value.clone());
        }
        fixed
    }

    /// Every type is reached from a method, a hook, a document or the error data, or says that it is
    /// not.
    pub(super) fn reachable(&mut self, model: &Model) {
        let mut roots: Vec<&str> = Vec::new();
        for method in &model.methods {
            roots.push(&method.params);
            roots.extend(method.result.as_deref());
        }
        roots.extend(model.hooks.iter().map(|hook| hook.payload.as_str()));
        roots.extend(
            model
                .payloads
                .as_ref()
                .and_then(|payloads| payloads.error_data.as_deref()),
        );
        let used = reach(model, roots.clone());
        let marked = model.types.values().filter(|ty| ty.unused);
        roots.extend(marked.map(|ty| ty.name.wire.as_str()));
        let reached = reach(model, roots);
        for item in &self.definitions.types {
            let name = item.name.value.as_str();
            let mark = item.def.unused.as_ref().filter(|mark| mark.value);
            match mark {
                Some(mark) if used.contains(name) => {
                    self.conflict(mark.at, &format!("`{name}` is used"), "remove `unused`");
                }
                None if !reached.contains(name) => self.report_unused("type", &item.name),
                Some(_) | None => {}
            }
        }
    }

    /// Every example is what its type accepts.
    pub(super) fn examples(&mut self, model: &Model) {
        let definitions = self.definitions;
        let mut check = |text: Option<&Spanned<String>>, ty: &TypeRef| {
            let Some(text) = text else {
                return;
            };
            if let Err(fault) = example::check(&text.value, ty, model) {
                self.diagnostics.report(
                    Code::BadExample,
                    text.at,
                    format!("the example is refused: {fault}"),
                    "write a message that the definitions allow",
                );
            }
        };
        for item in &definitions.methods {
            for (text, ty) in [
                (&item.def.example, &item.def.params),
                (&item.def.result_example, &item.def.result),
            ] {
                if let Some(ty) = ty {
                    check(text.as_ref(), &TypeRef::Object(ty.value.clone()));
                }
            }
        }
        for item in &definitions.scalars {
            check(
                item.def.example.as_ref(),
                &TypeRef::Scalar(item.name.value.clone()),
            );
        }
        for item in &definitions.types {
            let fields = model.types.get(&item.name.value).map(|ty| &ty.fields);
            for ((_, def), field) in item.def.fields.iter().zip(fields.into_iter().flatten()) {
                check(def.example.as_ref(), &field.ty);
            }
        }
    }
}

fn reach<'m>(model: &'m Model, mut queue: Vec<&'m str>) -> HashSet<&'m str> {
    let mut reached = HashSet::new();
    while let Some(name) = queue.pop() {
        let Some(ty) = model.types.get(name) else {
            continue;
        };
        if !reached.insert(name) {
            continue;
        }
        for field in &ty.fields {
            if let TypeRef::Object(name) = field.ty.innermost() {
                queue.push(name);
            }
            if let Some(documents) = &field.documents {
                queue.extend(documents.types.values().map(String::as_str));
            }
        }
    }
    reached
}

/// Whether a value of the type is a string with any content.
pub(super) fn is_text(ty: &TypeRef) -> bool {
    *ty == TypeRef::String
}

/// Whether the type has a zero that its bounds allow.
pub(super) fn has_zero(ty: &TypeRef) -> bool {
    match ty {
        TypeRef::String | TypeRef::Bool | TypeRef::List(_) | TypeRef::Map(_) => true,
        TypeRef::Integer(integer) => integer.lowest() <= 0 && integer.highest() >= 0,
        TypeRef::Number { min, max } => {
            min.is_none_or(|min| min <= 0) && max.is_none_or(|max| max >= 0)
        }
        TypeRef::Json | TypeRef::Scalar(_) | TypeRef::Enum(_) | TypeRef::Object(_) => false,
    }
}
