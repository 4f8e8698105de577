//! Methods, and the diagrams of how they follow each other.

use std::collections::BTreeMap;

use super::{Resolver, by_order, doc, given, name::Namer};
use crate::{
    definition::Item,
    diagnostic::Code,
    model::{Class, Diagram, Direction, Method, Type},
    names,
    source::Spanned,
};

impl Resolver<'_> {
    pub(super) fn methods(
        &mut self,
        classes: &[Class],
        types: &BTreeMap<String, Type>,
    ) -> Vec<Method> {
        let mut namer = Namer::new("method");
        let mut methods = Vec::new();
        for item in self.sorted("method", &self.definitions.methods) {
            let def = &item.def;
            let direction = self.direction(def.direction.as_ref());
            if let Some(class) = &def.class {
                if !classes.iter().any(|known| known.name.wire == class.value) {
                    let known: Vec<String> = classes
                        .iter()
                        .map(|known| known.name.wire.clone())
                        .collect();
                    self.unresolved("class", class, &known);
                }
                self.use_name("class", &class.value);
            }
            for name in def.params.iter().chain(&def.result) {
                self.object_name(name, "the params or result of a method");
                if let Some(ty) = types.get(&name.value) {
                    self.in_contract(name, &ty.module);
                }
            }
            let notification = direction.is_notification();
            self.fits_direction(item, notification, "result", def.result.as_ref());
            self.fits_direction(
                item,
                notification,
                "result_example",
                def.result_example.as_ref(),
            );
            methods.push(Method {
                name: namer.name(self, &item.name, def.rust.as_ref(), names::upper_camel),
                direction,
                class: given(def.class.as_ref()),
                params: given(def.params.as_ref()),
                result: def.result.as_ref().map(|name| name.value.clone()),
                doc: doc(def.doc.as_ref()),
                example: given(def.example.as_ref()),
                result_example: def.result_example.as_ref().map(|text| text.value.clone()),
            });
        }
        methods
    }

    pub(super) fn diagrams(&mut self, methods: &[Method]) -> Vec<Diagram> {
        let mut diagrams = Vec::new();
        for item in self.sorted("diagram", &self.definitions.diagrams) {
            let mut steps = Vec::new();
            for step in item.def.steps.iter().flat_map(|steps| &steps.value) {
                if !methods.iter().any(|method| method.name.wire == step.value) {
                    let known: Vec<String> = methods
                        .iter()
                        .map(|method| method.name.wire.clone())
                        .collect();
                    self.unresolved("method", step, &known);
                }
                steps.push(step.value.clone());
            }
            diagrams.push((
                given(item.def.order.as_ref()),
                Diagram {
                    name: item.name.value.clone(),
                    steps,
                    doc: doc(item.def.doc.as_ref()),
                },
            ));
        }
        self.dense("diagram", &self.definitions.diagrams, |def| {
            def.order.as_ref()
        });
        by_order(diagrams, |diagram| diagram.name.clone())
    }

    fn direction(&mut self, text: Option<&Spanned<String>>) -> Direction {
        let Some(text) = text else {
            return Direction::HostToExtensionRequest;
        };
        let found = Direction::ALL
            .into_iter()
            .find(|direction| direction.as_str() == text.value);
        found.unwrap_or_else(|| {
            let known: Vec<String> = Direction::ALL
                .iter()
                .map(|direction| direction.as_str().to_owned())
                .collect();
            self.unresolved("direction", text, &known);
            Direction::HostToExtensionRequest
        })
    }

    /// A request has a result, a notification has none.
    fn fits_direction<T>(
        &mut self,
        item: &Item<T>,
        notification: bool,
        key: &str,
        given: Option<&Spanned<String>>,
    ) {
        match given {
            Some(text) if notification => {
                self.diagnostics.report(
                    Code::Conflict,
                    text.at,
                    format!("`{}` is a notification and has `{key}`", item.name.value),
                    format!("remove `{key}`: a notification is not answered"),
                );
            }
            None if !notification => {
                self.diagnostics.report(
                    Code::MissingKey,
                    item.name.at,
                    format!("`{}` is a request and has no `{key}`", item.name.value),
                    format!("add `{key} = …`: a request is answered"),
                );
            }
            _ => {}
        }
    }
}
